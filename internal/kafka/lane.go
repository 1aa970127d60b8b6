package kafka

import (
	"sync"

	"github.com/IBM/sarama"
)

// maxUnacknowledged bounds the records sent to one topic and not yet acknowledged.
// It stays below the client's channel size of 256 per topic: beyond that, records
// for a missing topic would fill the channel that all topics share and delay
// everybody's acknowledgements. It is also why enqueue does not block for long.
const maxUnacknowledged = 128

// lane bounds the unacknowledged records of one topic. What is over the bound
// waits in order; its senders bound how much that can be, since each waits for
// its acknowledgements too.
type lane struct {
	producer sender
	bound    int

	mu       sync.Mutex
	inFlight int
	waiting  []*sarama.ProducerMessage
}

// sender is what a lane needs of a producer.
type sender interface {
	// enqueue takes a message whose parcel will be told the outcome, or returns
	// false if the producer is closed.
	enqueue(*sarama.ProducerMessage) bool
}

// parcel is what a message carries through the client.
type parcel struct {
	lane *lane
	done Done
}

// finish reports the outcome of a message and lets the next one go.
func finish(m *sarama.ProducerMessage, offset int64, err error) {
	p := m.Metadata.(*parcel)
	p.lane.next()
	p.done(offset, err)
}

func newLane(p sender, bound int) *lane { return &lane{producer: p, bound: bound} }

func (l *lane) send(m *sarama.ProducerMessage, done Done) {
	m.Metadata = &parcel{lane: l, done: done}
	if l.admit(m) && !l.producer.enqueue(m) {
		finish(m, 0, errClosed)
	}
}

// admit takes a place for a message, or lets it wait for one.
func (l *lane) admit(m *sarama.ProducerMessage) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.inFlight >= l.bound {
		l.waiting = append(l.waiting, m)
		return false
	}
	l.inFlight++
	return true
}

// next hands a freed place to the record that waited longest. If the producer is
// closed, everything that waits fails.
func (l *lane) next() {
	for {
		m := l.pop()
		if m == nil || l.producer.enqueue(m) {
			return
		}
		m.Metadata.(*parcel).done(0, errClosed)
	}
}

// pop returns the first message that waits, or gives the place back and returns
// nil.
func (l *lane) pop() *sarama.ProducerMessage {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.waiting) == 0 {
		l.inFlight--
		l.waiting = nil
		return nil
	}
	m := l.waiting[0]
	l.waiting[0] = nil
	l.waiting = l.waiting[1:]
	return m
}
