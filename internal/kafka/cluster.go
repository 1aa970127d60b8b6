package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/IBM/sarama"
)

// Cluster is the connection for everything but consuming and producing: topics,
// offsets and commits. It is safe for concurrent use. No call outlives a request
// or two to each broker, of which each takes CommitTimeout at most.
type Cluster struct {
	client sarama.Client
	admin  sarama.ClusterAdmin
	hangUp context.CancelFunc

	known  atomic.Int64 // brokers at the last refresh that was answered
	silent atomic.Bool  // nobody answered the last one
}

// Connect reaches the cluster, unless ctx ends before. An error says that no broker
// answered; the caller tries again.
func Connect(ctx context.Context, c Config) (*Cluster, error) {
	open, hangUp := context.WithCancel(context.Background())
	connected := context.AfterFunc(ctx, hangUp)
	cluster, err := newCluster(c, c.adminConfig(open))
	if tooLate := !connected(); tooLate && err == nil {
		err = errors.Join(ctx.Err(), cluster.Close())
	}
	if err != nil {
		hangUp()
		return nil, err
	}
	cluster.hangUp = hangUp
	return cluster, nil
}

func newCluster(c Config, config *sarama.Config) (*Cluster, error) {
	client, err := sarama.NewClient(c.Brokers, config)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", strings.Join(c.Brokers, ", "), err)
	}
	admin, err := sarama.NewClusterAdminFromClient(client)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("find the controller: %w", err), client.Close())
	}
	cluster := &Cluster{client: client, admin: admin}
	cluster.known.Store(int64(len(client.Brokers())))
	return cluster, nil
}

// HangUp breaks all connections for good: calls in progress end with an error at
// once, and so do later ones. Close is still to be called.
func (c *Cluster) HangUp() { c.hangUp() }

// Close ends the connection.
func (c *Cluster) Close() error {
	defer c.hangUp()
	return c.admin.Close()
}

// Broker is one broker of the cluster.
type Broker struct {
	ID   int32
	Addr string // host:port, as it is advertised to clients
}

// Brokers returns the brokers that the cluster named last, by id. It asks nobody.
func (c *Cluster) Brokers() []Broker {
	known := c.client.Brokers()
	brokers := make([]Broker, 0, len(known))
	for _, b := range known {
		brokers = append(brokers, Broker{ID: b.ID(), Addr: b.Addr()})
	}
	slices.SortFunc(brokers, func(a, b Broker) int { return cmp.Compare(a.ID, b.ID) })
	return brokers
}
