package harness

import (
	"errors"
	"fmt"
	"maps"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/IBM/sarama"
)

// writeChunk bounds the records that are handed to the producer at a time.
const writeChunk = 10_000

// Record is one record to write.
type Record struct {
	// ID is the record's event id. If it is set, the ledger adds it as the header
	// IDHeader and expects it as Idempotency-Key. Without it the record is found
	// again by where it was first written.
	ID       string
	IDHeader string // default x-event-id

	Key, Value []byte // nil is Kafka's null
	Headers    []sarama.RecordHeader
	Timestamp  time.Time // zero is now
}

// Tier is a tier topic. Delay is how long a record waits there that names no
// x-not-before of its own.
type Tier struct {
	Topic string
	Delay time.Duration
}

// Ledger writes records and finds every one of them again: accepted by the
// endpoint or in a dead-letter topic. It is safe for concurrent use.
type Ledger struct {
	addrs []string
	tiers []Tier
	dead  []string

	producer sarama.SyncProducer

	mu      sync.Mutex
	entries []*entry
	index   index
}

// entry is one record that was written.
type entry struct {
	Record
	name     string // event id if it has one, else where it was written
	topic    string
	sequence int // in the order of the calls of Write
}

// NewLedger returns a ledger whose records walk the tiers, in this order, and end
// in one of the dead topics. It reads these topics to judge what happened to
// them, so they belong to one ledger alone. Any other topic is a main topic.
func NewLedger(t testing.TB, addrs []string, tiers []Tier, dead ...string) *Ledger {
	t.Helper()
	producer, err := sarama.NewSyncProducer(addrs, ClientConfig())
	if err != nil {
		t.Fatalf("open the ledger: %v", err)
	}
	t.Cleanup(func() { producer.Close() })
	return &Ledger{addrs: addrs, tiers: tiers, dead: dead, producer: producer, index: newIndex()}
}

// Write writes the records to a main or tier topic, in this order per key, and
// remembers them once all replicas have acknowledged them. On an error some of
// them may be in the topic and not in the ledger.
func (l *Ledger) Write(topic string, records ...Record) error {
	for len(records) > 0 {
		chunk := records[:min(writeChunk, len(records))]
		records = records[len(chunk):]
		messages := make([]*sarama.ProducerMessage, len(chunk))
		for i, record := range chunk {
			messages[i] = record.message(topic)
		}
		if err := l.producer.SendMessages(messages); err != nil {
			return fmt.Errorf("write %d records to %s: %w", len(chunk), topic, explain(err))
		}
		for i, record := range chunk {
			if err := l.remember(record, messages[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// explain adds the cause to a producer's summary, which only counts.
func explain(err error) error {
	var all sarama.ProducerErrors
	if errors.As(err, &all) && len(all) > 0 {
		return fmt.Errorf("%w the first: %w", err, all[0].Err)
	}
	return err
}

func (r Record) idHeader() string {
	if r.IDHeader == "" {
		return headerEventID
	}
	return r.IDHeader
}

// headers returns the record's headers as they are written.
func (r Record) headers() []sarama.RecordHeader {
	if r.ID == "" {
		return r.Headers
	}
	id := sarama.RecordHeader{Key: []byte(r.idHeader()), Value: []byte(r.ID)}
	return append(append([]sarama.RecordHeader{}, r.Headers...), id)
}

func (r Record) message(topic string) *sarama.ProducerMessage {
	m := &sarama.ProducerMessage{Topic: topic, Headers: r.headers(), Timestamp: r.Timestamp}
	if r.Key != nil {
		m.Key = sarama.ByteEncoder(r.Key)
	}
	if r.Value != nil {
		m.Value = sarama.ByteEncoder(r.Value)
	}
	return m
}

func (l *Ledger) remember(r Record, m *sarama.ProducerMessage) error {
	at := position{m.Topic, m.Partition, m.Offset}
	e := &entry{Record: r, name: r.ID, topic: m.Topic}
	if e.name == "" {
		e.name = at.String()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	e.sequence = len(l.entries)
	l.entries = append(l.entries, e)
	return l.index.add(e, at)
}

// position is where a record was first written.
type position struct {
	topic     string
	partition int32
	offset    int64
}

func (p position) String() string {
	return p.topic + "/" + strconv.Itoa(int(p.partition)) + "/" + strconv.FormatInt(p.offset, 10)
}

// index finds the entry that a request or a record belongs to.
type index struct {
	byID       map[string]*entry
	byPosition map[position]*entry
}

func newIndex() index {
	return index{byID: map[string]*entry{}, byPosition: map[position]*entry{}}
}

func (x index) clone() index {
	return index{byID: maps.Clone(x.byID), byPosition: maps.Clone(x.byPosition)}
}

// add indexes an entry. Two records can be acknowledged at one position when the
// topic was made anew, or when the producer repeated a write: the broker then
// acknowledges it without an offset, and sarama leaves 0 (v1.61.1,
// async_producer.go:1418). Such records are found by their ids alone.
func (x index) add(e *entry, at position) error {
	if e.ID != "" && x.byID[e.ID] != nil {
		return fmt.Errorf("the ledger was given event id %q twice", e.ID)
	}
	other, taken := x.byPosition[at]
	if taken && (e.ID == "" || other != nil && other.ID == "") {
		return fmt.Errorf("two records were acknowledged at %s, one of them without an event id: "+
			"the topic was made anew or a write was repeated; give them ids", at)
	}
	if e.ID != "" {
		x.byID[e.ID] = e
	}
	x.byPosition[at] = e
	if taken {
		x.byPosition[at] = nil
	}
	return nil
}

// find returns nil for what the ledger did not write.
func (x index) find(id string, at position) *entry {
	if e := x.byID[id]; e != nil {
		return e
	}
	return x.byPosition[at]
}
