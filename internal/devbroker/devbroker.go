// Package devbroker is an embedded Kafka broker for the demo and for tests. It is
// not for production: one process, no replication, and only the parts of the
// protocol that the library behind it (franz-go's kfake) speaks.
//
// It differs from Apache Kafka where a test may care: it accepts any topic
// configuration, any size of commit metadata and any record timestamp, and it
// applies retention only once an hour. Such behaviour is tested against a real
// Kafka.
package devbroker

import (
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
)

// minSessionTimeout is the shortest session timeout a consumer group may ask
// for. Kafka's own default of 6 s would be the floor of every test that lets a
// member die.
const minSessionTimeout = time.Second

// Options of an embedded broker. The zero value is one broker in memory.
type Options struct {
	Brokers int    // number of brokers; 0 is 1
	DataDir string // keeps topics, records and commits on disk over a restart; empty: in memory

	// Log receives what goes wrong inside the broker; nil discards it.
	Log io.Writer
}

// Broker is a running embedded cluster. Its methods are safe for concurrent use.
type Broker struct {
	cluster *kfake.Cluster
	addrs   []string
}

// Start runs the brokers on free ports of 127.0.0.1. They answer once it
// returns. A consumer group is balanced as soon as its members have joined:
// there is no initial delay.
func Start(o Options) (*Broker, error) {
	options := []kfake.Opt{
		kfake.NumBrokers(max(o.Brokers, 1)),
		kfake.GroupMinSessionTimeout(minSessionTimeout),
	}
	if o.DataDir != "" {
		options = append(options, kfake.DataDir(o.DataDir))
	}
	if o.Log != nil {
		options = append(options, kfake.WithLogger(kfake.BasicLogger(o.Log, kfake.LogLevelWarn)))
	}
	cluster, err := kfake.NewCluster(options...)
	if err != nil {
		return nil, fmt.Errorf("start the embedded broker: %w", err)
	}
	return &Broker{cluster: cluster, addrs: cluster.ListenAddrs()}, nil
}

// Addrs returns the brokers as host:port.
func (b *Broker) Addrs() []string { return slices.Clone(b.addrs) }

// Close ends all connections and stops the brokers. With a DataDir everything
// acknowledged is on disk when it returns. Closing twice does nothing.
func (b *Broker) Close() { b.cluster.Close() }
