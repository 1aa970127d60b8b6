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
	t := &Target{topic: topic, limit: key.limit, small: newLane(small, maxUnacknowledged), large: p.single, producers: [2]*producer{small, p.large}}
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

// producer is one idempotent producer and the two goroutines that take its
// acknowledgements.
type producer struct {
	client sarama.Client
	async  sarama.AsyncProducer
	acks   sync.WaitGroup

	mu     sync.RWMutex // held for reading while the input is in use
	closed bool
}

func newProducer(brokers []string, config *sarama.Config) (*producer, error) {
	client, err := sarama.NewClient(brokers, config)
	if err != nil {
		return nil, err
	}
	async, err := sarama.NewAsyncProducerFromClient(leaderClient{client})
	if err != nil { // no producer id
		return nil, errors.Join(err, client.Close())
	}
	p := &producer{client: client, async: async}
	p.acks.Go(func() {
		for m := range async.Successes() {
			finish(m, m.Offset, nil)
		}
	})
	p.acks.Go(func() {
		for e := range async.Errors() {
			finish(e.Msg, 0, e.Err)
		}
	})
	return p, nil
}

// learn asks for a topic's metadata if fewer partitions of it are known.
func (p *producer) learn(topic string, partitions int) error {
	known, err := p.client.Partitions(topic) // asks nobody, unless the topic is new
	if err != nil || len(known) >= partitions {
		return err
	}
	if err := p.client.RefreshMetadata(topic); err != nil {
		return err
	}
	if known, err = p.client.Partitions(topic); err == nil && len(known) < partitions {
		err = fmt.Errorf("a broker knows %d of %d", len(known), partitions)
	}
	return err
}

// enqueue hands a message to the client, which takes it as soon as it has passed
// the one before on to its topic.
func (p *producer) enqueue(m *sarama.ProducerMessage) bool {
	p.mu.RLock()
	defer p.mu.RUnlock()
	if p.closed {
		return false
	}
	p.async.Input() <- m
	return true
}

// close fails what is not acknowledged and waits until all of it was reported.
func (p *producer) close() {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.async.AsyncClose()
	p.acks.Wait()
	_ = p.client.Close() // fails only if it is closed already
}
