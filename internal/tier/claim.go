package tier

import (
	"context"
	"sync"
	"time"

	"github.com/IBM/sarama"

	"github.com/retryd/retryd/internal/kafka"
	"github.com/retryd/retryd/internal/record"
	"github.com/retryd/retryd/internal/window"
)

const (
	// tickInterval bounds every timer, so that a step of the wall clock is noticed.
	tickInterval = time.Second
	// maxForwards bounds a claim's forwards without acknowledgement: when the next
	// topic cannot be written, its source stops delivering and other tiers go on.
	maxForwards = 128
	// maxDrain bounds how many records are taken in a row before due ones are
	// looked at again.
	maxDrain = 64
)

// claim is one assigned partition: its window, and what is known of its offsets.
//
// The goroutine of run owns the window; workers and producers report back under mu.
// Every job that leaves the window comes back exactly once: by complete, by giveBack
// or by drop.
type claim struct {
	session   *session
	partition int32

	// Owned by run.
	window  window.Heap[*job]
	newest  time.Time       // timestamp of the newest record that was read
	unread  int64           // offset of the next one
	headers []record.Header // scratch of decode
	paused  bool            // the client does not fetch this partition
	started int             // jobs that left the window

	wake chan struct{} // something under mu changed that run waits for

	mu       sync.Mutex
	offsets  *window.Offsets
	share    *window.Share
	returned []*job        // back from a worker or a producer, to be held again
	finished int           // jobs that came back, in whatever way
	forwards int           // of the jobs outside the window: with a producer
	waiting  bool          // run waits for room or for an acknowledgement
	closed   bool          // nothing is held any more: what comes back is dropped
	idle     chan struct{} // closed when closed and nothing is outside
	seen     snapshot      // written by run
}

func newClaim(s *session, partition int32, start int64) *claim {
	return &claim{
		session: s, partition: partition, unread: start,
		offsets: window.NewOffsets(start),
		share:   s.consumer.relay.Budget.Join(),
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
	for {
		forwards := c.collect()
		forwards += c.resend(time.Now(), forwards)
		now := time.Now()
		c.throttle(now)
		c.publish(now)
		next, offer := c.next(now, forwards)
		timer.Reset(c.untilWake(now))
		select {
		case <-ctx.Done():
			return
		case m, ok := <-messages:
			if !ok {
				return
			}
			c.takeSome(m, messages)
		case offer <- next:
			c.window.Pop()
			c.started++
		case <-c.wake:
		case <-timer.C:
		}
	}
}

// collect puts what came back into the window again and returns the forwards that
// are not acknowledged.
func (c *claim) collect() (forwards int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, j := range c.returned {
		c.window.Push(j.due, j.record.Offset, j)
		c.returned[i] = nil
	}
	c.returned = c.returned[:0]
	return c.forwards
}

// resend writes again what is decided and could not be written; that needs neither
// a worker nor the endpoint. It returns how many it sent.
func (c *claim) resend(now time.Time, forwards int) (sent int) {
	for forwards+sent < maxForwards {
		due, j, ok := c.window.Top()
		if !ok || due > now.UnixMilli() || j.move == nil {
			break
		}
		c.window.Pop()
		c.started++
		c.session.consumer.relay.send(j)
		sent++
	}
	return sent
}

// next returns the record to offer and where, or a nil channel if none may leave
// the window now.
func (c *claim) next(now time.Time, forwards int) (*job, chan<- *job) {
	due, top, ok := c.window.Top()
	if !ok {
		return nil, nil
	}
	if due > now.UnixMilli() {
		if at := time.UnixMilli(due); at.Sub(now) <= tickInterval && !c.session.leased(now.Add(at.Sub(now))) {
			c.session.requestRenewal() // in good time, so that it leaves on time
		}
		return nil, nil
	}
	if forwards >= maxForwards {
		c.await()
		return nil, nil
	}
	if !c.session.leased(now) {
		c.session.requestRenewal() // its acknowledgement nudges
		return nil, nil
	}
	return top, c.session.consumer.relay.jobs
}

// untilWake returns how long run may sleep: until the next record is due, at most
// tickInterval.
func (c *claim) untilWake(now time.Time) time.Duration {
	due, _, ok := c.window.Top()
	if !ok || due <= now.UnixMilli() {
		return tickInterval
	}
	return min(time.UnixMilli(due).Sub(now), tickInterval)
}

// takeSome takes a record and those that came with it.
func (c *claim) takeSome(m *sarama.ConsumerMessage, messages <-chan *sarama.ConsumerMessage) {
	c.take(m)
	for range min(len(messages), maxDrain) {
		m, ok := <-messages
		if !ok {
			return // run sees it closed too
		}
		c.take(m)
	}
}

// throttle pauses fetching when the window is full or reading is far enough ahead,
// and resumes it when there is room again. The client's channel is drained all the
// same.
func (c *claim) throttle(now time.Time) {
	limit := c.session.consumer.relay.Window.Records
	c.mu.Lock()
	n, full := c.offsets.Len(), c.share.Full()
	c.waiting = c.waiting || c.paused
	c.mu.Unlock()
	ahead := c.ahead(now)
	switch {
	case !c.paused && (n >= limit || full || ahead):
		c.session.consumer.group.Pause(c.self())
		c.paused = true
	case c.paused && n <= limit/2 && !full && !ahead:
		c.resume()
	}
}

// ahead reports whether nothing behind the newest record is normally due within
// the horizon. A record is due at its timestamp plus its tier's least delay or
// later; one whose headers say otherwise may be late, never early.
func (c *claim) ahead(now time.Time) bool {
	least := c.session.consumer.source.least
	return least > 0 && c.newest.Add(least).After(now.Add(c.session.consumer.relay.Window.Horizon))
}

func (c *claim) resume() {
	c.session.consumer.group.Resume(c.self())
	c.paused = false
}

func (c *claim) self() map[string][]int32 {
	return map[string][]int32{c.session.consumer.source.topic: {c.partition}}
}

// release drops what is merely held and waits for what is outside: an attempt that
// started may finish, and so may its forward.
func (c *claim) release() {
	c.window.Clear()
	c.mu.Lock()
	c.closed = true
	c.returned = nil
	if c.finished == c.started {
		close(c.idle)
	}
	outside := c.started - c.finished
	c.mu.Unlock()
	if outside > 0 {
		c.drain()
	}
	c.share.Leave()
}

func (c *claim) drain() {
	relay := c.session.consumer.relay
	patience := time.NewTimer(relay.config.Endpoint.Timeout + kafka.ForwardTimeout)
	defer patience.Stop()
	select {
	case <-c.idle:
	case <-patience.C:
		relay.warn("giving up on records in flight, they are delivered again", c.session.consumer.source.topic, errGaveUp)
	case <-c.session.consumer.abort.Done():
	}
}
