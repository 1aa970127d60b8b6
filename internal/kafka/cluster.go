package kafka

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/IBM/sarama"
)

// Cluster is the connection for everything but consuming and producing: topics,
// offsets and commits. It is safe for concurrent use. No call outlives a request
// or two to each broker, of which each takes CommitTimeout at most.
type Cluster struct {
	client sarama.Client
	admin  sarama.ClusterAdmin
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
	return &Cluster{client: client, admin: admin}, nil
}

// Close ends the connection.
func (c *Cluster) Close() error { return c.admin.Close() }

// Topic is what the cluster says of one topic.
type Topic struct {
	Name            string
	ID              [16]byte // a topic that is made anew gets another one (KIP-516)
	Partitions      int32
	Replication     int16
	MaxMessageBytes int
	config          map[string]string
}

// ErrNoTopic says that a topic does not exist.
var ErrNoTopic = errors.New("topic does not exist")

// Topics describes the named topics, without their configuration. A topic that
// does not exist is left out. A *PlanError says that somebody has to grant access.
func (c *Cluster) Topics(names ...string) (map[string]Topic, error) {
	if len(names) == 0 {
		return nil, nil // the protocol would return all there are
	}
	metadata, err := c.admin.DescribeTopics(names)
	if err != nil {
		_, _ = c.client.RefreshController() // the next try finds another one
		return nil, fmt.Errorf("describe topics: %w", err)
	}
	topics := make(map[string]Topic, len(metadata))
	for _, m := range metadata {
		switch {
		case errors.Is(m.Err, sarama.ErrUnknownTopicOrPartition):
		case refused(m.Err):
			return nil, hidden(m.Name, m.Err)
		case !errors.Is(m.Err, sarama.ErrNoError) && !errors.Is(m.Err, sarama.ErrLeaderNotAvailable):
			return nil, fmt.Errorf("describe topic %s: %w", m.Name, m.Err)
		case len(m.Partitions) == 0: // just created: not yet known everywhere
		default:
			topics[m.Name] = Topic{
				Name: m.Name, ID: m.Uuid, Partitions: int32(len(m.Partitions)),
				Replication: int16(len(m.Partitions[0].Replicas)),
			}
		}
	}
	return topics, nil
}

// Ends returns, per partition, the offset behind the last record that a
// read_committed consumer gets: an open transaction lies beyond it.
func (c *Cluster) Ends(topics map[string][]int32) (map[string]map[int32]int64, error) {
	return c.list(topics, sarama.OffsetNewest)
}

// Begins returns the earliest offset that still exists, per partition.
func (c *Cluster) Begins(topics map[string][]int32) (map[string]map[int32]int64, error) {
	return c.list(topics, sarama.OffsetOldest)
}

// Since returns the offset of the first record written at or after the epoch
// milliseconds, per partition; -1 where there is none.
func (c *Cluster) Since(topics map[string][]int32, millis int64) (map[string]map[int32]int64, error) {
	return c.list(topics, millis)
}

func (c *Cluster) list(topics map[string][]int32, at int64) (map[string]map[int32]int64, error) {
	query := make(map[string]map[int32]int64, len(topics))
	for topic, partitions := range topics {
		query[topic] = make(map[int32]int64, len(partitions))
		for _, p := range partitions {
			query[topic][p] = at
		}
	}
	results, err := c.admin.ListOffsets(query, &sarama.ListOffsetsOptions{IsolationLevel: sarama.ReadCommitted})
	if err != nil {
		_ = c.client.RefreshMetadata() // a leader that went away is replaced
		return nil, fmt.Errorf("list offsets: %w", err)
	}
	offsets := make(map[string]map[int32]int64, len(results))
	for topic, partitions := range results {
		offsets[topic] = make(map[int32]int64, len(partitions))
		for p, r := range partitions {
			if r.Err != nil && !errors.Is(r.Err, sarama.ErrNoError) {
				_ = c.client.RefreshMetadata(topic) // a moved leader is found at the next try
				return nil, fmt.Errorf("list offsets of %s/%d: %w", topic, p, r.Err)
			}
			offsets[topic][p] = r.Offset
		}
	}
	return offsets, nil
}
