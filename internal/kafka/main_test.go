package kafka

import (
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kfake"
	"go.uber.org/goleak"

	"github.com/retryd/retryd/internal/devbroker"
)

// bound is how long a test waits for anything. It is reached only when something
// is broken.
const bound = time.Minute

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// Only reading starts it: see noMetrics.
		goleak.IgnoreTopFunction("github.com/rcrowley/go-metrics.(*meterArbiter).tick"),
		// After three errors in a row on a partition the client library pauses it by
		// a goroutine that sleeps 10 s, whatever is closed meanwhile.
		goleak.IgnoreAnyFunction("github.com/eapache/go-resiliency/breaker.(*Breaker).timer"))
}

// startBroker runs the embedded broker until the end of the test.
func startBroker(t *testing.T) Config {
	t.Helper()
	broker, err := devbroker.Start(devbroker.Options{Log: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(broker.Close)
	return configFor(broker.Addrs())
}

// startFake runs a cluster whose answers the test can change.
func startFake(t *testing.T, options ...kfake.Opt) (*kfake.Cluster, Config) {
	t.Helper()
	cluster, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(1)}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cluster.Close)
	return cluster, configFor(cluster.ListenAddrs())
}

func configFor(addrs []string) Config {
	c := DefaultConfig()
	c.Brokers, c.SessionTimeout = addrs, 6*time.Second
	return c
}

func connect(t *testing.T, c Config) *Cluster {
	t.Helper()
	cluster, err := Connect(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Close(); err != nil {
			t.Error(err)
		}
	})
	return cluster
}

func createTopic(t *testing.T, c *Cluster, name string, partitions int32, configs map[string]string) {
	t.Helper()
	detail := &sarama.TopicDetail{NumPartitions: partitions, ReplicationFactor: -1, ConfigEntries: map[string]*string{}}
	for key, value := range configs {
		detail.ConfigEntries[key] = &value
	}
	if err := c.admin.CreateTopic(name, detail, false); err != nil {
		t.Fatal(err)
	}
	if err := c.await(name, partitions); err != nil {
		t.Fatal(err)
	}
}

func newProducers(t *testing.T, c Config) *Producers {
	t.Helper()
	p := NewProducers(c)
	t.Cleanup(p.Close)
	return p
}

func target(t *testing.T, p *Producers, topic string, maxMessageBytes int) *Target {
	t.Helper()
	opened, err := p.Target(topic, maxMessageBytes)
	if err != nil {
		t.Fatal(err)
	}
	return opened
}

// receive returns what a channel gives within the bound.
func receive[T any](t *testing.T, what string, from <-chan T) T {
	t.Helper()
	select {
	case v := <-from:
		return v
	case <-time.After(bound):
		t.Fatalf("still waiting for %s", what)
		panic("unreachable")
	}
}

// read returns the first n records of partition 0.
func read(t *testing.T, c *Cluster, topic string, n int) []*sarama.ConsumerMessage {
	t.Helper()
	consumer, err := sarama.NewConsumerFromClient(c.client)
	if err != nil {
		t.Fatal(err)
	}
	defer consumer.Close()
	partition, err := consumer.ConsumePartition(topic, 0, sarama.OffsetOldest)
	if err != nil {
		t.Fatal(err)
	}
	defer partition.Close()
	messages := make([]*sarama.ConsumerMessage, n)
	for i := range messages {
		messages[i] = receive(t, "a record of "+topic, partition.Messages())
	}
	return messages
}

// mute is a way to listen whose connections can be made to swallow every answer,
// as those of a broker that hangs do.
type mute struct {
	muted    atomic.Bool
	released chan struct{}
}

// startMute runs a broker that the test can make hang.
func startMute(t *testing.T) (*mute, *kfake.Cluster, Config) {
	m := &mute{released: make(chan struct{})}
	cluster, config := startFake(t, kfake.ListenFn(m.listen))
	t.Cleanup(func() { close(m.released) })
	return m, cluster, config
}

func (m *mute) listen(network, addr string) (net.Listener, error) {
	l, err := net.Listen(network, addr)
	return muteListener{l, m}, err
}

type muteListener struct {
	net.Listener
	mute *mute
}

func (l muteListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return muteConn{c, l.mute}, err
}

type muteConn struct {
	net.Conn
	mute *mute
}

func (c muteConn) Write(b []byte) (int, error) {
	if c.mute.muted.Load() {
		<-c.mute.released
		return 0, net.ErrClosed
	}
	return c.Conn.Write(b)
}
