package harness

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/IBM/sarama"
	"github.com/google/go-cmp/cmp"
)

func values(messages []*sarama.ConsumerMessage) []string {
	var all []string
	for _, m := range messages {
		all = append(all, string(m.Value))
	}
	return all
}

func TestKafkaKeepsRecordsAsTheyWereWritten(t *testing.T) {
	addrs := suite.Kafka(t).Addrs()
	topic := TopicName(t)
	CreateTopic(t, addrs, topic, 1, map[string]string{"retention.ms": "-1"})
	ledger := NewLedger(t, addrs, nil)
	err := ledger.Write(topic,
		Record{ID: "loan-7", Key: []byte{0, 1}, Value: []byte{0xff}, Headers: []sarama.RecordHeader{
			{Key: []byte("a"), Value: []byte("1")}, {Key: []byte("a")}, {Key: []byte("b"), Value: []byte{}},
		}},
		Record{Key: nil, Value: nil}, Record{Key: []byte{}, Value: []byte{}})
	if err != nil {
		t.Fatal(err)
	}
	got := ReadTopic(t, addrs, topic)
	type kept struct {
		Key, Value []byte
		Headers    []*sarama.RecordHeader
	}
	var all []kept
	for _, m := range got {
		all = append(all, kept{m.Key, m.Value, append([]*sarama.RecordHeader(nil), m.Headers...)})
	}
	want := []kept{
		{[]byte{0, 1}, []byte{0xff}, []*sarama.RecordHeader{
			{Key: []byte("a"), Value: []byte("1")}, {Key: []byte("a")}, {Key: []byte("b"), Value: []byte{}},
			{Key: []byte("x-event-id"), Value: []byte("loan-7")},
		}},
		{nil, nil, nil}, {[]byte{}, []byte{}, nil},
	}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Errorf("records (-written +read):\n%s", diff)
	}
	DeleteTopic(t, addrs, topic)
}

// A commit's metadata may be 4,096 characters long, which the embedded broker
// does not check.
func TestKafkaLimitsCommitMetadata(t *testing.T) {
	addrs := suite.Kafka(t).Addrs()
	topic := TopicName(t)
	CreateTopic(t, addrs, topic, 1, nil)
	client := NewClient(t, addrs)
	tests := []struct {
		name   string
		length int
		want   sarama.KError
	}{
		{"first", 10, sarama.ErrNoError},
		{"the same offset, the longest metadata", 4096, sarama.ErrNoError},
		{"one character more", 4097, sarama.ErrOffsetMetadataTooLarge},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := commit(t, client, topic, strings.Repeat("m", tt.length)); got != tt.want {
				t.Errorf("commit answered %v, want %v", got, tt.want)
			}
		})
	}
}

// commit commits offset 0 for the group named as the topic.
func commit(t *testing.T, client sarama.Client, topic, metadata string) sarama.KError {
	t.Helper()
	request := &sarama.OffsetCommitRequest{
		Version: 7, ConsumerGroup: topic, ConsumerGroupGeneration: sarama.GroupGenerationUndefined,
	}
	request.AddBlock(topic, 0, 0, 0, metadata)
	var code sarama.KError
	WaitFor(t, testBound, "the coordinator", func() bool {
		if err := client.RefreshCoordinator(topic); err != nil {
			return false
		}
		coordinator, err := client.Coordinator(topic)
		if err != nil {
			return false
		}
		response, err := coordinator.CommitOffset(request)
		if err != nil {
			return false
		}
		code = response.Errors[topic][0]
		return !errors.Is(code, sarama.ErrNotCoordinatorForConsumer) && !errors.Is(code, sarama.ErrOffsetsLoadInProgress)
	})
	return code
}

func TestReadTopicSkipsAbortedRecordsAndEnds(t *testing.T) {
	tests := []struct {
		name  string
		addrs func(t *testing.T) []string
	}{
		{"real Kafka", func(t *testing.T) []string { return suite.Kafka(t).Addrs() }},
		{"embedded broker", startBroker},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			addrs := tt.addrs(t)
			topic := TopicName(t)
			CreateTopic(t, addrs, topic, 2, nil)
			if got := ReadTopic(t, addrs, topic); len(got) != 0 {
				t.Errorf("%d records in an empty topic", len(got))
			}
			config := ClientConfig()
			config.Producer.Transaction.ID = topic
			config.Producer.Partitioner = sarama.NewManualPartitioner
			producer, err := sarama.NewSyncProducer(addrs, config)
			if err != nil {
				t.Fatal(err)
			}
			defer producer.Close()
			transaction(t, producer, topic, true, "committed 1", "committed 2")
			transaction(t, producer, topic, false, "aborted 1", "aborted 2")
			transaction(t, producer, topic, true, "committed 3")
			transaction(t, producer, topic, false, "aborted 3") // the end is an abort marker

			want := []string{"committed 1", "committed 2", "committed 3"}
			if diff := cmp.Diff(want, values(ReadTopic(t, addrs, topic))); diff != "" {
				t.Errorf("records (-want +read):\n%s", diff)
			}
		})
	}
}

func transaction(t *testing.T, producer sarama.SyncProducer, topic string, commit bool, values ...string) {
	t.Helper()
	if err := producer.BeginTxn(); err != nil {
		t.Fatal(err)
	}
	for _, value := range values {
		if _, _, err := producer.SendMessage(&sarama.ProducerMessage{Topic: topic, Value: sarama.StringEncoder(value)}); err != nil {
			t.Fatal(err)
		}
	}
	end := producer.AbortTxn
	if commit {
		end = producer.CommitTxn
	}
	if err := end(); err != nil {
		t.Fatal(err)
	}
}

// A broker sends a batch whole, also to who asks for its middle.
func TestReaderTakesABatchFromItsPosition(t *testing.T) {
	batch := &sarama.RecordBatch{FirstOffset: 10, LastOffsetDelta: 3}
	for i, value := range []string{"ten", "eleven", "twelve"} { // thirteen was compacted away
		batch.Records = append(batch.Records, &sarama.Record{OffsetDelta: int64(i), Value: []byte(value)})
	}
	r := newReader(nil, "topic")
	r.next[0] = 11
	got := r.take(0, &sarama.FetchResponseBlock{RecordsSet: []*sarama.Records{{RecordBatch: batch}}})
	if diff := cmp.Diff([]string{"eleven", "twelve"}, values(got)); diff != "" {
		t.Errorf("records (-want +read):\n%s", diff)
	}
	if r.next[0] != 14 {
		t.Errorf("next offset %d, want 14", r.next[0])
	}
}

func TestReaderGoesOnWhereItStopped(t *testing.T) {
	addrs := suite.Kafka(t).Addrs()
	topic := TopicName(t)
	CreateTopic(t, addrs, topic, 3, nil)
	ledger := NewLedger(t, addrs, nil)
	r := newReader(NewClient(t, addrs), topic)
	var want, got []string
	for round := range 3 {
		for i := range 50 {
			value := fmt.Sprintf("%d-%02d", round, i)
			want = append(want, value)
			if err := ledger.Write(topic, Record{Key: []byte(value), Value: []byte(value)}); err != nil {
				t.Fatal(err)
			}
		}
		messages, err := readPresent(r)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, values(messages)...)
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("records (-want +read):\n%s", diff)
	}
}

func TestKafkaComesBackWithItsRecords(t *testing.T) {
	c := suite.Kafka(t)
	topic := TopicName(t)
	CreateTopic(t, c.Addrs(), topic, 1, nil)
	ledger := NewLedger(t, c.Addrs(), nil)
	if err := ledger.Write(topic, Record{Value: []byte("before")}); err != nil {
		t.Fatal(err)
	}
	if err := c.Kill(0); err != nil {
		t.Fatal(err)
	}
	if _, err := newReadClient(c.Addrs()); err == nil {
		t.Error("a killed node answers")
	}
	if err := c.Restart(0); err != nil {
		t.Fatal(err)
	}
	if err := ledger.Write(topic, Record{Value: []byte("after")}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"before", "after"}, values(ReadTopic(t, c.Addrs(), topic))); diff != "" {
		t.Errorf("records (-want +read):\n%s", diff)
	}
}

func TestNodeThatEndsShowsItsLog(t *testing.T) {
	c := suite.Kafka(t)
	n := *c.nodes[0]
	n.clusterID, n.dir = "another", t.TempDir() // without a configuration
	if err := n.start(); err != nil {
		t.Fatal(err)
	}
	err := n.waitReady()
	if err == nil || !strings.Contains(err.Error(), "Kafka node 1 ended") || !strings.Contains(err.Error(), "server.properties") {
		t.Errorf("error %v, want one with the end of the log", err)
	}
}

func TestTopicNamesAreLegalAndDiffer(t *testing.T) {
	t.Run("with spaces, and_under/scores", func(t *testing.T) {
		first, second := TopicName(t), TopicName(t)
		if first == second {
			t.Errorf("%s twice", first)
		}
		if strings.Trim(first, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-") != "" {
			t.Errorf("%s is no legal topic name", first)
		}
	})
}
