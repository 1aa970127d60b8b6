package kafka

import (
	"bytes"
	"crypto/rand"
	"errors"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kfake"
)

type ack struct {
	offset int64
	err    error
}

// send writes a record; its acknowledgement comes by the channel.
func send(to *Target, m *sarama.ProducerMessage) <-chan ack {
	answer := make(chan ack, 1)
	to.Send(m, func(offset int64, err error) { answer <- ack{offset, err} })
	return answer
}

// write waits until a record is acknowledged, and returns its offset.
func write(t *testing.T, to *Target, m *sarama.ProducerMessage) int64 {
	t.Helper()
	a := receive(t, "an acknowledgement", send(to, m))
	if a.err != nil {
		t.Fatal(a.err)
	}
	return a.offset
}

func text(s string) *sarama.ProducerMessage {
	return &sarama.ProducerMessage{Value: sarama.StringEncoder(s)}
}

func random(size int) sarama.ByteEncoder {
	b := make([]byte, size)
	rand.Read(b)
	return b
}

func TestRecordIsWrittenAsGiven(t *testing.T) {
	config := startBroker(t)
	c := connect(t, config)
	createTopic(t, c, "a", 1, nil)
	to := target(t, newProducers(t, config), "a", 1<<20)
	at := time.UnixMilli(1_800_000_000_123)
	many := make([]sarama.RecordHeader, 60)
	for i := range many {
		many[i] = sarama.RecordHeader{Key: []byte("repeated"), Value: []byte{byte(i), 0, 255}}
	}
	tests := []struct {
		name    string
		key     sarama.Encoder
		value   sarama.Encoder
		headers []sarama.RecordHeader
		want    sarama.ConsumerMessage
	}{
		{"bytes", sarama.ByteEncoder{0, 1, 255}, sarama.ByteEncoder{254, 0}, nil,
			sarama.ConsumerMessage{Key: []byte{0, 1, 255}, Value: []byte{254, 0}}},
		{"null key and value", nil, nil, nil, sarama.ConsumerMessage{}},
		{"empty key and value", sarama.ByteEncoder{}, sarama.ByteEncoder{}, nil,
			sarama.ConsumerMessage{Key: []byte{}, Value: []byte{}}},
		{"headers with null, empty and repeated ones", nil, nil, append([]sarama.RecordHeader{
			{Key: []byte("null")}, {Key: []byte("empty"), Value: []byte{}}, {Key: []byte(""), Value: []byte("no name")},
		}, many...), sarama.ConsumerMessage{}},
	}
	for i, tt := range tests {
		offset := write(t, to, &sarama.ProducerMessage{Key: tt.key, Value: tt.value, Headers: tt.headers, Timestamp: at})
		if offset != int64(i) {
			t.Errorf("%s: written at %d, want %d", tt.name, offset, i)
		}
	}
	for i, got := range read(t, c, "a", len(tests)) {
		t.Run(tests[i].name, func(t *testing.T) {
			want := tests[i].want
			if diff := cmp.Diff([][]byte{want.Key, want.Value}, [][]byte{got.Key, got.Value}); diff != "" {
				t.Errorf("key and value (-want +got):\n%s", diff)
			}
			var headers []sarama.RecordHeader
			for _, h := range got.Headers {
				headers = append(headers, *h)
			}
			if diff := cmp.Diff(tests[i].headers, headers); diff != "" {
				t.Errorf("headers (-want +got):\n%s", diff)
			}
			if !got.Timestamp.Equal(at) {
				t.Errorf("timestamp %v, want %v", got.Timestamp, at)
			}
		})
	}
}

func TestRecordKeepsItsPartition(t *testing.T) {
	config := startBroker(t)
	c := connect(t, config)
	createTopic(t, c, "a", 4, nil)
	to := target(t, newProducers(t, config), "a", 1<<20)
	for _, partition := range []int32{2, 2, 0} {
		m := text("x")
		m.Key, m.Partition = sarama.StringEncoder("the same"), partition
		write(t, to, m)
	}
	ends, err := c.Ends(map[string][]int32{"a": {0, 1, 2, 3}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[int32]int64{0: 1, 1: 0, 2: 2, 3: 0}, ends["a"]); diff != "" {
		t.Errorf("ends (-want +got):\n%s", diff)
	}
}

func TestRecordIsWrittenToAPartitionThatWasAdded(t *testing.T) {
	config := startBroker(t)
	c := connect(t, config)
	createTopic(t, c, "a", 3, nil)
	to := target(t, newProducers(t, config), "a", 5000)
	many := func(partition int32) *sarama.ProducerMessage {
		return &sarama.ProducerMessage{Value: sarama.ByteEncoder(bytes.Repeat([]byte("x"), 20_000)), Partition: partition}
	}
	few := func(partition int32) *sarama.ProducerMessage {
		return &sarama.ProducerMessage{Partition: partition}
	}
	write(t, to, few(2)) // the partitions are known from now on
	write(t, to, many(2))
	if _, err := c.addPartitions(Topic{Partitions: 6}, Topic{Name: "a", Partitions: 3}); err != nil {
		t.Fatal(err)
	}
	if err := to.Learn(6); err != nil {
		t.Fatal(err)
	}
	write(t, to, few(5))
	write(t, to, many(5))
	if err := to.Learn(7); err == nil || err.Error() != "ask for the partitions of topic a: a broker knows 6 of 7" {
		t.Errorf("error %v for more partitions than there are", err)
	}
}

func TestTargetIsKeptPerTopicAndLimit(t *testing.T) {
	p := newProducers(t, startBroker(t))
	first := target(t, p, "a", 1000)
	other := target(t, p, "a", 2000)
	if first == other {
		t.Error("a target keeps its old limit")
	}
	if again := target(t, p, "a", 1000); again != first {
		t.Error("a limit that comes back gets a second lane into the same producer")
	}
	if b := target(t, p, "b", 1000); b.small == first.small || b.small.producer != first.small.producer {
		t.Error("two topics of one limit must share the producer, not the lane")
	}
	if len(p.bySize) != 2 {
		t.Errorf("%d producers for 2 limits", len(p.bySize))
	}
}

func TestRecordsOverTheLimit(t *testing.T) {
	config := startBroker(t)
	c := connect(t, config)
	createTopic(t, c, "narrow", 1, map[string]string{"max.message.bytes": "20000"})
	createTopic(t, c, "wide", 1, map[string]string{"max.message.bytes": "200000"})
	p := newProducers(t, config)
	narrow, wide := target(t, p, "narrow", 20000), target(t, p, "wide", 200000)
	tests := []struct {
		name  string
		to    *Target
		value sarama.ByteEncoder
		want  error
	}{
		{"fits", narrow, random(19000), nil},
		{"compressible", narrow, bytes.Repeat([]byte("x"), 100000), nil},
		{"incompressible", narrow, random(100000), ErrTooLarge},
		{"the same, where there is room", wide, random(100000), nil},
		{"more than the client can send", wide, make([]byte, largest+1), ErrTooLarge},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			small := send(tt.to, text("a neighbour in flight"))
			a := receive(t, "an answer", send(tt.to, &sarama.ProducerMessage{Value: tt.value}))
			if !errors.Is(a.err, tt.want) || (a.err == nil) != (tt.want == nil) {
				t.Errorf("answer %v, want %v", a.err, tt.want)
			}
			if a := receive(t, "the neighbour's answer", small); a.err != nil {
				t.Errorf("its neighbour: %v", a.err)
			}
		})
	}
}

// A topic's limit can shrink behind the daemon's back: then whole batches fail for
// one record, and each goes again alone.
func TestOneLargeRecordDoesNotFailItsBatch(t *testing.T) {
	config := startBroker(t)
	c := connect(t, config)
	createTopic(t, c, "a", 1, map[string]string{"max.message.bytes": "20000"})
	to := target(t, newProducers(t, config), "a", 1<<20) // what it was
	var answers []<-chan ack
	for i := range 20 {
		m := text(strconv.Itoa(i))
		if i == 10 {
			m.Value = random(100000)
		}
		answers = append(answers, send(to, m))
	}
	for i, answer := range answers {
		a := receive(t, "an answer", answer)
		if large := i == 10; large != errors.Is(a.err, ErrTooLarge) || (!large && a.err != nil) {
			t.Errorf("record %d: %v", i, a.err)
		}
	}
}

func TestMissingTopicDoesNotDelayAnother(t *testing.T) {
	config := startBroker(t)
	createTopic(t, connect(t, config), "healthy", 1, nil)
	p := NewProducers(config)
	defer p.Close()
	missing, healthy := target(t, p, "missing", 1<<20), target(t, p, "healthy", 1<<20)
	const records = 600
	var failed atomic.Int32
	var answered sync.WaitGroup
	answered.Add(records)
	for i := range records {
		missing.Send(text(strconv.Itoa(i)), func(_ int64, err error) {
			if err == nil {
				t.Error("a record was written into a topic that does not exist")
			}
			failed.Add(1)
			answered.Done()
		})
	}
	write(t, healthy, text("x"))
	// Without a bound the healthy topic's record comes after more than 300 of them.
	if n := failed.Load(); n > maxUnacknowledged {
		t.Errorf("the record was acknowledged after %d of the missing topic's had failed", n)
	}
	p.Close()
	answered.Wait()
}

// refusals takes over an address and counts who tries to connect.
func refusals(t *testing.T, addr string, enough int) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	tried := make(chan struct{})
	go func() {
		for n := 0; ; n++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Close()
			if n == enough {
				close(tried)
			}
		}
	}()
	t.Cleanup(func() { l.Close() })
	receive(t, "attempts to connect", tried)
	return l
}

func TestOutageIsWaitedFor(t *testing.T) {
	dir := t.TempDir()
	first, config := startFake(t, kfake.DataDir(dir), kfake.SeedTopics(2, "a"))
	to := target(t, newProducers(t, config), "a", 1<<20)
	write(t, to, text("before"))
	first.Close()

	var answers []<-chan ack
	for i := range 300 {
		m := text(strconv.Itoa(i))
		m.Partition = int32(i % 2)
		answers = append(answers, send(to, m))
	}
	_, port, err := net.SplitHostPort(config.Brokers[0])
	if err != nil {
		t.Fatal(err)
	}
	refusals(t, config.Brokers[0], 3).Close() // the client has seen that nobody is there
	n, err := strconv.Atoi(port)
	if err != nil {
		t.Fatal(err)
	}
	startFake(t, kfake.DataDir(dir), kfake.Ports(n))
	for i, answer := range answers {
		if a := receive(t, "an acknowledgement after the outage", answer); a.err != nil {
			t.Errorf("record %d: %v", i, a.err)
		}
	}
	ends, err := connect(t, config).Ends(map[string][]int32{"a": {0, 1}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[int32]int64{0: 151, 1: 150}, ends["a"]); diff != "" {
		t.Errorf("ends (-want +got):\n%s", diff)
	}
}
