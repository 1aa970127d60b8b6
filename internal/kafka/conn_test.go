package kafka

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/IBM/sarama"
	metrics "github.com/rcrowley/go-metrics"
)

// silence accepts connections and never answers.
func silence(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

func TestConnectionBreaksWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	c, err := dialer{ctx, bound}.Dial("tcp", silence(t).Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	failed := make(chan error)
	go func() {
		_, err := c.Read(make([]byte, 1))
		failed <- err
	}()
	cancel()
	if err := receive(t, "the end of a read", failed); !errors.Is(err, net.ErrClosed) {
		t.Errorf("read: %v, want %v", err, net.ErrClosed)
	}
	if _, err := (dialer{ctx, bound}).Dial("tcp", silence(t).Addr().String()); !errors.Is(err, context.Canceled) {
		t.Errorf("dial after the end: %v, want %v", err, context.Canceled)
	}
}

// The goroutine that closes it may be late: what is asked for in between may not be done.
func TestNothingIsSentOnceTheContextHasEnded(t *testing.T) {
	near, far := net.Pipe()
	defer far.Close()
	defer near.Close()
	near.SetWriteDeadline(time.Now().Add(time.Second)) // nobody reads
	ctx, cancel := context.WithCancel(t.Context())
	c := &conn{Conn: near, open: ctx, forget: func() bool { return true }}
	cancel()
	if n, err := c.Write([]byte("x")); n > 0 || !errors.Is(err, net.ErrClosed) {
		t.Errorf("sent %d bytes (%v), want %v", n, err, net.ErrClosed)
	}
}

// The client library keeps a connection whose answer was overdue, and fails every
// later request on it.
func TestOverdueAnswerEndsTheConnection(t *testing.T) {
	config := DefaultConfig().adminConfig(t.Context())
	config.Net.ReadTimeout = 10 * time.Millisecond
	config.ApiVersionsRequest = false
	broker := sarama.NewBroker(silence(t).Addr().String())
	if err := broker.Open(config); err != nil {
		t.Fatal(err)
	}
	_, err := broker.GetMetadata(&sarama.MetadataRequest{})
	if !errors.Is(err, net.ErrClosed) {
		t.Errorf("request: %v, want %v", err, net.ErrClosed)
	}
	if connected, _ := broker.Connected(); connected {
		t.Error("the connection is kept")
	}
}

// Nothing may reach the registry behind: each kind that the client asks for is
// answered by one that does nothing.
func TestClientMeasuresNothing(t *testing.T) {
	_, config := startFake(t)
	sc := config.producerConfig(t.Context(), 1<<20)
	client, err := sarama.NewClient(config.Brokers, sc)
	if err != nil {
		t.Fatal(err)
	}
	admin, err := sarama.NewClusterAdminFromClient(client)
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	if err := admin.CreateTopic("measured", &sarama.TopicDetail{NumPartitions: 1, ReplicationFactor: -1}, false); err != nil {
		t.Fatal(err)
	}
	producer, err := sarama.NewSyncProducerFromClient(client)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := producer.SendMessage(&sarama.ProducerMessage{Topic: "measured", Value: sarama.StringEncoder("x")}); err != nil {
		t.Error(err)
	}
	if err := producer.Close(); err != nil {
		t.Error(err)
	}
	sc.MetricRegistry.Each(func(name string, metric any) { t.Errorf("%s is measured by a %T", name, metric) })
	if _, idle := metrics.GetOrRegisterMeter("m", sc.MetricRegistry).(metrics.NilMeter); !idle {
		t.Error("a meter measures")
	}
	if _, idle := metrics.GetOrRegisterCounter("c", sc.MetricRegistry).(metrics.NilCounter); !idle {
		t.Error("a counter counts")
	}
}
