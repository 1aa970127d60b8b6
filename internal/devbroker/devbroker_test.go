package devbroker_test

import (
	"context"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/retryd/retryd/internal/devbroker"
)

const (
	topic = "library.loan.overdue"
	group = "libraryd"
	bound = time.Minute
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// sarama's metrics library runs one goroutine for the life of the process.
		goleak.IgnoreTopFunction("github.com/rcrowley/go-metrics.(*meterArbiter).tick"))
}

func TestRecordsReachAConsumerGroup(t *testing.T) {
	tests := []struct {
		name    string
		brokers int
	}{
		{name: "default is one broker", brokers: 0},
		{name: "three brokers", brokers: 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := start(t, devbroker.Options{Brokers: tt.brokers})
			if got, want := len(b.Addrs()), max(tt.brokers, 1); got != want {
				t.Fatalf("%d addresses, want %d", got, want)
			}
			client := newClient(t, b)
			createTopic(t, client)
			written := []string{"first", "second", "third"}
			produce(t, client, written)

			if diff := cmp.Diff(written, consume(t, b, len(written))); diff != "" {
				t.Errorf("consumed records (-written +consumed):\n%s", diff)
			}
		})
	}
}

func TestCommitMayRepeatItsOffsetWithNewMetadata(t *testing.T) {
	client := newClient(t, start(t, devbroker.Options{}))
	createTopic(t, client)

	for _, metadata := range []string{"completed: none", "completed: 8, 9"} {
		commit(t, client, 7, metadata)
		offset, stored := committed(t, client)
		if offset != 7 || stored != metadata {
			t.Errorf("committed %d %q, want 7 %q", offset, stored, metadata)
		}
	}
}

func TestDataDirKeepsRecordsAndCommits(t *testing.T) {
	options := devbroker.Options{DataDir: t.TempDir()}
	first, err := devbroker.Start(options)
	if err != nil {
		t.Fatal(err)
	}
	client, err := sarama.NewClient(first.Addrs(), config())
	if err != nil {
		t.Fatal(err)
	}
	createTopic(t, client)
	produce(t, client, []string{"kept"})
	commit(t, client, 1, "kept too")
	client.Close()
	first.Close()

	again := start(t, options)
	if diff := cmp.Diff([]string{"kept"}, consume(t, again, 1)); diff != "" {
		t.Errorf("records after a restart (-written +read):\n%s", diff)
	}
	if offset, metadata := committed(t, newClient(t, again)); offset != 1 || metadata != "kept too" {
		t.Errorf("committed %d %q after a restart, want 1 %q", offset, metadata, "kept too")
	}
}

func start(t *testing.T, o devbroker.Options) *devbroker.Broker {
	t.Helper()
	o.Log = t.Output()
	b, err := devbroker.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

func config() *sarama.Config {
	c := sarama.NewConfig()
	c.Version = sarama.MaxVersion
	c.Producer.Return.Successes = true
	c.Producer.RequiredAcks = sarama.WaitForAll
	c.Consumer.Offsets.Initial = sarama.OffsetOldest
	c.Consumer.Offsets.AutoCommit.Enable = false
	return c
}

func newClient(t *testing.T, b *devbroker.Broker) sarama.Client {
	t.Helper()
	client, err := sarama.NewClient(b.Addrs(), config())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

func createTopic(t *testing.T, client sarama.Client) {
	t.Helper()
	admin, err := sarama.NewClusterAdminFromClient(client)
	if err != nil {
		t.Fatal(err)
	}
	detail := &sarama.TopicDetail{NumPartitions: 1, ReplicationFactor: -1}
	if err := admin.CreateTopic(topic, detail, false); err != nil {
		t.Fatal(err)
	}
}

func produce(t *testing.T, client sarama.Client, values []string) {
	t.Helper()
	producer, err := sarama.NewSyncProducerFromClient(client)
	if err != nil {
		t.Fatal(err)
	}
	defer producer.Close()
	for _, value := range values {
		message := &sarama.ProducerMessage{Topic: topic, Value: sarama.StringEncoder(value)}
		if _, _, err := producer.SendMessage(message); err != nil {
			t.Fatal(err)
		}
	}
}

// consume joins a group of its own and returns the first n values of the topic.
func consume(t *testing.T, b *devbroker.Broker, n int) []string {
	t.Helper()
	consumer, err := sarama.NewConsumerGroup(b.Addrs(), group+"-reader", config())
	if err != nil {
		t.Fatal(err)
	}
	defer consumer.Close()
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	defer cancel()
	c := &collector{want: n}
	for len(c.values) < n && ctx.Err() == nil {
		if err := consumer.Consume(ctx, []string{topic}, c); err != nil {
			t.Fatal(err)
		}
	}
	return c.values
}

// collector is written by the one claim of the one partition, and read after
// Consume has returned.
type collector struct {
	want   int
	values []string
}

func (*collector) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (*collector) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (c *collector) ConsumeClaim(s sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for len(c.values) < c.want {
		select {
		case m, open := <-claim.Messages():
			if !open {
				return nil
			}
			c.values = append(c.values, string(m.Value))
		case <-s.Context().Done():
			return nil
		}
	}
	return nil
}

func commit(t *testing.T, client sarama.Client, offset int64, metadata string) {
	t.Helper()
	coordinator, err := client.Coordinator(group)
	if err != nil {
		t.Fatal(err)
	}
	request := &sarama.OffsetCommitRequest{
		Version: 7, ConsumerGroup: group, ConsumerGroupGeneration: sarama.GroupGenerationUndefined,
	}
	request.AddBlock(topic, 0, offset, 0, metadata)
	response, err := coordinator.CommitOffset(request)
	if err != nil {
		t.Fatal(err)
	}
	if code := response.Errors[topic][0]; code != sarama.ErrNoError {
		t.Fatal(code)
	}
}

func committed(t *testing.T, client sarama.Client) (int64, string) {
	t.Helper()
	coordinator, err := client.Coordinator(group)
	if err != nil {
		t.Fatal(err)
	}
	request := sarama.NewOffsetFetchRequest(client.Config().Version, group, map[string][]int32{topic: {0}})
	response, err := coordinator.FetchOffset(request)
	if err != nil {
		t.Fatal(err)
	}
	block := response.GetBlock(topic, 0)
	if block == nil || block.Err != sarama.ErrNoError {
		t.Fatalf("no committed offset: %+v", block)
	}
	return block.Offset, block.Metadata
}
