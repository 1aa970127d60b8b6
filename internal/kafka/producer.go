package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/IBM/sarama"
)

const (
	// batchOverhead is what a record batch of one adds to a record's own size;
	// the broker counts it, the client does not.
	batchOverhead = 128

	// largest is the client's own limit on a request, less what surrounds a record.
	largest = 100<<20 - headroom
)

// ErrTooLarge says that a record does not fit its topic, even alone and
// compressed.
var ErrTooLarge = errors.New("record is larger than the topic's max.message.bytes")

// errClosed is reported for records that are sent after Close.
var errClosed = errors.New("the producers are closed")

// Producers holds the process's producers: one per distinct size limit, since the
// client's limit is not per topic, and one that sends what only fits compressed,
// one record at a time. It is safe for concurrent use.
type Producers struct {
	config Config
	ctx    context.Context // of every connection
	abort  context.CancelFunc

	mu      sync.Mutex // also while a producer connects
	closed  bool
	bySize  map[int]*producer
	targets map[targetKey]*Target
	large   *producer // nil until the first target
	single  *lane     // into large
}

// targetKey keeps a topic's lane when its limit changes to and fro: two lanes
// into one producer would exceed what may be unacknowledged.
type targetKey struct {
	topic string
	limit int
}

// NewProducers makes no connection yet.
func NewProducers(c Config) *Producers {
	ctx, abort := context.WithCancel(context.Background())
	return &Producers{
		config: c, ctx: ctx, abort: abort,
		bySize: map[int]*producer{}, targets: map[targetKey]*Target{},
	}
}

// Target is one topic that records are forwarded to.
type Target struct {
	topic string
	limit int // largest record that the topic takes without compression
	small *lane
	large *lane // shared by all targets: one record at a time
}

// Target returns the way into a topic that takes records of up to maxMessageBytes
// as a batch of one. The first call for a size connects, for a minute or so at
// most if brokers hang; an error says that no broker answered, or that the
// producers are closed.
func (p *Producers) Target(topic string, maxMessageBytes int) (*Target, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, errClosed
	}
	key := targetKey{topic, min(max(maxMessageBytes-batchOverhead, 1), largest)}
	if t := p.targets[key]; t != nil {
		return t, nil
	}
	if p.large == nil {
		large, err := p.connect(largest)
		if err != nil {
			return nil, err
		}
		p.large, p.single = large, newLane(large, 1)
	}
	small, err := p.producer(key.limit)
	if err != nil {
		return nil, err
	}
	t := &Target{topic: topic, limit: key.limit, small: newLane(small, maxUnacknowledged), large: p.single}
	p.targets[key] = t
	return t, nil
}

// producer returns the one producer for a size limit. The caller holds p.mu.
func (p *Producers) producer(limit int) (*producer, error) {
	if existing := p.bySize[limit]; existing != nil {
		return existing, nil
	}
	made, err := p.connect(limit)
	if err == nil {
		p.bySize[limit] = made
	}
	return made, err
}

func (p *Producers) connect(limit int) (*producer, error) {
	made, err := newProducer(p.config.Brokers, p.config.producerConfig(p.ctx, limit))
	if err != nil {
		return nil, cmp.Or(producerDenied(err), fmt.Errorf("connect a producer to %s: %w", strings.Join(p.config.Brokers, ", "), err))
	}
	return made, nil
}

// Close ends all producers at once, whatever their brokers do: it breaks their
// connections. What is not acknowledged by then is reported as failed, and so is
// what is sent later. All of it was reported when Close returns. Closing twice
// does nothing.
func (p *Producers) Close() {
	p.abort() // first: who holds the lock may wait for a broker
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	p.closed = true
	var closing sync.WaitGroup
	for _, each := range p.bySize {
		closing.Go(each.close)
	}
	closing.Wait()
	if p.large != nil { // last: the others hand their large records to it
		p.large.close()
	}
}

// Done is told, once, what came of a Send, from another goroutine unless the
// producers are closed. It must not block. err is nil when every in-sync replica
// has the record, ErrTooLarge when it can never fit, a *PlanError when the topic may
// not be written, anything else when it may or may not have been written. offset is
// where it was written; it is 0 if the broker only said that it has it already
// (DUPLICATE_SEQUENCE_NUMBER), so nothing may depend on it.
type Done func(offset int64, err error)

// Send writes one record. It does not block.
func (t *Target) Send(m *sarama.ProducerMessage, done Done) {
	m.Topic = t.topic
	if m.ByteSize(2) > t.limit {
		t.sendAlone(m, done)
		return
	}
	t.small.send(m, func(offset int64, err error) {
		if err != nil && refusedForSize(err) {
			// One record over the limit fails its whole batch: each goes again alone.
			t.sendAlone(fresh(m), done)
			return
		}
		done(offset, t.explained(err))
	})
}

func (t *Target) sendAlone(m *sarama.ProducerMessage, done Done) {
	t.large.send(m, func(offset int64, err error) { done(offset, t.explained(err)) })
}

// explained gives the refusal of a record that was alone in its batch its name.
func (t *Target) explained(err error) error {
	switch {
	case err == nil:
		return nil
	case refusedForSize(err):
		return fmt.Errorf("%w: %w", ErrTooLarge, err)
	}
	return cmp.Or(writeDenied(t.topic, err), err)
}

// refusedForSize reports whether a batch is too large for its topic
// (max.message.bytes), for the topic's segments (segment.bytes), or for the client,
// which says so by a configuration error (sarama v1.61.1, async_producer.go:657).
func refusedForSize(err error) bool {
	var byClient sarama.ConfigurationError
	return errors.Is(err, sarama.ErrMessageSizeTooLarge) || errors.Is(err, sarama.ErrMessageSetSizeTooLarge) ||
		errors.As(err, &byClient)
}

// fresh copies what the caller set: a message that was sent carries state of the
// client library.
func fresh(m *sarama.ProducerMessage) *sarama.ProducerMessage {
	return &sarama.ProducerMessage{
		Topic: m.Topic, Key: m.Key, Value: m.Value, Headers: m.Headers,
		Partition: m.Partition, Timestamp: m.Timestamp,
	}
}
