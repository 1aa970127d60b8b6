package tier

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/IBM/sarama"

	"github.com/retryd/retryd/internal/record"
	"github.com/retryd/retryd/internal/window"
)

const (
	// tickInterval bounds every timer, so that a step of the wall clock is noticed.
	tickInterval = time.Second
	// maxMoving bounds how many of a claim's records are judged but not yet
	// acknowledged by their next topic, beside those in flight: when that topic cannot
	// be written its source stops delivering, and other tiers go on.
	maxMoving = 128
	// maxDrain bounds how many records are taken in a row before due ones are
	// looked at again.
	maxDrain = 64
)

// claim is one assigned partition: what it holds, and what is known of its offsets.
//
// The goroutine of run owns what is held; workers and producers report back under
// mu. Every job that is let out comes back exactly once: by complete or by giveBack.
type claim struct {
	relay     *Relay
	consumer  *consumer
	session   *session
	partition int32
	name      string // topic/partition, as troubles have it

	// Owned by run.
	window    window.Heap[*job] // to be attempted
	unwritten window.Heap[*job] // judged, but the next topic did not take it: to be written again
	newest    time.Time         // timestamp of the newest record that was read, at most now
	unread    int64             // offset of the next one
	headers   []record.Header   // scratch of decode
	paused    bool              // the client does not fetch this partition
	fetching  time.Time         // since when it does
	clock     int64             // epoch ms when run last looked

	wake    chan struct{} // something under mu changed that run waits for
	turning pulse         // of run's loop

	mu       sync.Mutex
	offsets  *window.Offsets
	share    *window.Share
	returned []*job        // back from a worker or a producer, to be held again
	outside  []*job        // let out, and not yet back
	moving   int           // judged, and not yet acknowledged by the next topic
	waiting  bool          // run waits for a completion, for room or for an acknowledgement
	closed   bool          // nothing is held any more: what comes back is dropped
	idle     chan struct{} // closed when closed and nothing is outside
	asked    bool          // run is to look at what it holds
	seen     snapshot      // when it last did
	measured measured      // by the measurement before
}

func newClaim(s *session, partition int32, start int64) *claim {
	return &claim{
		relay: s.consumer.relay, consumer: s.consumer, session: s, unread: start,
		partition: partition, name: partitionName(s.consumer.source.topic, partition),
		offsets: window.NewOffsets(start),
		share:   s.consumer.relay.deps.Budget.Join(),
		asked:   true,
		seen:    snapshot{next: start},
		wake:    make(chan struct{}, 1),
		idle:    make(chan struct{}),
	}
}

// run holds and offers the partition's records until ctx ends or messages closes,
// then waits, bounded, for what is outside the window.
func (c *claim) run(ctx context.Context, messages <-chan *sarama.ConsumerMessage) {
	defer c.release()
	c.resume() // a pause outlives the session that made it
	timer := time.NewTimer(tickInterval)
	defer timer.Stop()
	defer c.turning.rest()
	for {
		now := time.Now()
		c.turning.beat(now.Sub(c.relay.born))
		moving, asked := c.collect()
		c.noticeClockStep(now)
		c.resend(now)
		c.throttle(now)
		if asked {
			c.look(now)
		}
		next, to := c.next(now, moving)
		timer.Reset(c.untilWake(now))
		select {
		case <-ctx.Done():
			return
		case m, ok := <-messages:
			if !ok {
				return
			}
			c.takeSome(m, messages)
		case to <- next:
			c.window.Pop()
			c.letOut(next)
		case <-c.wake:
		case <-timer.C:
		}
	}
}

// collect takes back what came back, and returns how many records are judged but
// not yet acknowledged by their next topic, and whether somebody asked for a look at
// what is held.
func (c *claim) collect() (moving int, asked bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, j := range c.returned {
		c.hold(j)
		c.returned[i] = nil
	}
	c.returned = c.returned[:0]
	c.waiting = c.paused || c.moving >= maxMoving
	asked, c.asked = c.asked, false
	return c.moving, asked
}

func (c *claim) hold(j *job) {
	if j.move != nil {
		c.unwritten.Push(j.due, j.record.Offset, j)
		return
	}
	c.window.Push(j.due, j.record.Offset, j)
}

// noticeClockStep dates anew what was dated by a wall clock that has been set back
// since: what is due in the order of its arrival, and not by a header, must not wait
// until the clock is where it was.
func (c *claim) noticeClockStep(now time.Time) {
	before := c.clock
	c.clock = now.UnixMilli()
	if c.clock >= before {
		return
	}
	if c.newest.After(now) {
		c.newest = now.Round(0)
	}
	var held []*job
	for _, heap := range []*window.Heap[*job]{&c.window, &c.unwritten} {
		for j, ok := heap.Pop(); ok; j, ok = heap.Pop() {
			held = append(held, j)
		}
	}
	for _, j := range held {
		j.due = max(j.notBefore(), min(j.due, c.clock))
		c.hold(j)
	}
}

// resend writes again what is judged and could not be written; that needs neither
// a worker nor the endpoint.
func (c *claim) resend(now time.Time) {
	for {
		due, j, ok := c.unwritten.Top()
		if !ok || due > now.UnixMilli() {
			return
		}
		c.unwritten.Pop()
		c.letOut(j)
		c.relay.send(j)
	}
}

// next returns the record to offer and where, or a nil channel if none may be let
// out now.
func (c *claim) next(now time.Time, moving int) (*job, chan<- *job) {
	due, top, ok := c.window.Top()
	if !ok {
		return nil, nil
	}
	if due > now.UnixMilli() {
		c.renewAhead(now, due)
		return nil, nil
	}
	if moving >= maxMoving {
		return nil, nil // the next acknowledgement nudges
	}
	if !c.session.leased(now) {
		c.session.requestRenewal() // its acknowledgement nudges, too
		return nil, nil
	}
	return top, c.relay.jobs
}

// renewAhead asks for a lease in good time, so that the next record leaves when it
// is due.
func (c *claim) renewAhead(now time.Time, due int64) {
	wait := time.UnixMilli(due).Sub(now)
	lead := min(tickInterval, c.relay.deps.Kafka.SessionTimeout/4) // less than a lease lasts
	if wait <= lead && !c.session.leased(now.Add(wait)) {
		c.session.requestRenewal()
	}
}

// untilWake returns how long run may sleep: until the next record is due, at most a
// tick. Ticks vary: with equal ones the same claims would win the free workers again
// and again, since one that waits loses its turn at each.
func (c *claim) untilWake(now time.Time) time.Duration {
	wait := tickInterval/2 + rand.N(tickInterval/2)
	for _, heap := range []*window.Heap[*job]{&c.window, &c.unwritten} {
		if due, _, ok := heap.Top(); ok && due > now.UnixMilli() {
			wait = min(wait, time.UnixMilli(due).Sub(now))
		}
	}
	return wait
}

// takeSome takes a record and those that came with it.
func (c *claim) takeSome(m *sarama.ConsumerMessage, messages <-chan *sarama.ConsumerMessage) {
	c.relay.over(kindRead, c.name)
	c.take(m)
	for range min(len(messages), maxDrain) {
		m, ok := <-messages
		if !ok {
			return // run sees it closed too
		}
		c.take(m)
	}
}
