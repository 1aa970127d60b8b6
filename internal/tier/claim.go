package tier

import (
	"context"
	"sync"
	"time"

	"github.com/IBM/sarama"

	"github.com/retryd/retryd/internal/forward"
	"github.com/retryd/retryd/internal/metrics"
	"github.com/retryd/retryd/internal/policy"
	"github.com/retryd/retryd/internal/record"
	"github.com/retryd/retryd/internal/window"
)

const (
	// tickInterval bounds every timer, so that a step of the wall clock is noticed.
	tickInterval = time.Second
	// maxMoving bounds how many of a claim's records are judged but not yet acknowledged
	// by their next topic, beside those in flight: when a topic cannot be written, what
	// goes elsewhere is delivered meanwhile, but not without end, since these attempts
	// are repeated after a crash.
	maxMoving = 1024
	// maxDrain bounds how many records are taken in a row before due ones are
	// looked at again.
	maxDrain = 64
)

// claim is one assigned partition: what it holds, and what is known of its offsets.
//
// The goroutine of run reads and keeps the time; workers take what is due, and they and
// the producers report back, all under mu. Every job that is let out comes back exactly
// once: by complete or by giveBack.
type claim struct {
	relay     *Relay
	consumer  *consumer
	session   *session
	partition int32
	name      string // topic/partition, as troubles have it

	// Owned by run.
	begun    bool            // a record was read
	newest   time.Time       // timestamp of the newest record that was read, at most now
	unread   int64           // offset of the next one
	headers  []record.Header // scratch of decode
	held     int64           // offset of the last main record that was held
	stuck    bool            // too much moves: nothing is let out
	fetching time.Time       // since when the client fetches this partition
	clock    int64           // epoch ms when run last looked
	swept    time.Time       // when run last looked for what to re-park
	vain     policy.Cause    // what pressed then, if there was nothing to re-park

	timer   *time.Timer   // wakes run; set under mu, also by who takes what was due first
	wake    chan struct{} // something under mu changed that run waits for
	turning pulse         // of run's loop

	// Owned by the relay's turns.
	hasTurn bool
	behind  *claim // whose turn comes next

	mu        sync.Mutex
	window    window.Heap[*job] // to be attempted
	unwritten window.Heap[*job] // judged, but the next topic did not take it: to be written again
	parking   window.Heap[*job] // chosen to be re-parked
	offsets   *window.Offsets
	share     *window.Share
	outside   []*job        // let out, and not yet back
	reparking int           // to be re-parked, and not yet acknowledged
	moving    int           // judged, and not yet acknowledged by the next topic
	blocked   bool          // by what moves: something is due, and a completion gives it a turn
	paused    metrics.Pause // why the client does not fetch this partition, if so; set by run
	setUsed   float64       // how full the room for the completed set is; 1 or more: it was cut
	closed    bool          // nothing is held any more: what comes back is dropped
	idle      chan struct{} // closed when closed and nothing is outside
	asked     bool          // run is to look at what it holds
	seen      snapshot      // when it last did
	measured  measured      // by the measurement before
	excess    int           // records that may not repeat, and are not acknowledged as dead letters yet
	end       int64         // behind the last record that was moved to the tail of this partition
}

func newClaim(s *session, partition int32, start int64) *claim {
	return &claim{
		relay: s.consumer.relay, consumer: s.consumer, session: s, unread: start, held: start - 1,
		partition: partition, name: partitionName(s.consumer.source.topic, partition),
		offsets: window.NewOffsets(start),
		share:   s.consumer.relay.budget.Join(),
		asked:   true,
		seen:    snapshot{next: start},
		timer:   time.NewTimer(tickInterval),
		wake:    make(chan struct{}, 1),
		idle:    make(chan struct{}),
	}
}

// run holds the partition's records, and gives the claim its turn when one is due, until
// ctx ends or messages closes. Then it waits, bounded, for what is outside the window.
func (c *claim) run(ctx context.Context, messages <-chan *sarama.ConsumerMessage) {
	defer c.release()
	c.resume() // a pause outlives the session that made it
	defer c.timer.Stop()
	defer c.turning.rest()
	for {
		now := time.Now()
		c.turning.beat(now.Sub(c.relay.born))
		c.noticeClockStep(now)
		c.resend(now)
		c.sweep(now)
		c.park()
		c.throttle(now)
		c.lookIfAsked(now)
		c.offer()
		select {
		case <-ctx.Done():
			return
		case m, ok := <-messages:
			if !ok {
				return
			}
			c.takeSome(m, messages)
		case <-c.wake:
		case <-c.timer.C:
		}
	}
}

// takeSome takes a record and those that came with it, all at one time.
func (c *claim) takeSome(m *sarama.ConsumerMessage, messages <-chan *sarama.ConsumerMessage) {
	c.relay.over(kindRead, c.name)
	now := time.Now()
	c.take(m, now)
	for range min(len(messages), maxDrain) {
		m, ok := <-messages
		if !ok {
			return // run sees it closed too
		}
		c.take(m, now)
	}
}

// offer gives the claim its turn if a record may leave, and has run sleep until the next
// one is due. It looks at the clock itself: what run does before takes its time.
func (c *claim) offer() {
	c.mu.Lock()
	now := time.Now()
	may := c.ready(now) != nil
	c.sleep(now)
	c.mu.Unlock()
	if may {
		c.relay.turns.add(c)
	}
}

// lane is what the claim's attempts take their share of the capacity from.
func (c *claim) lane() forward.Lane {
	if c.consumer.source.main() {
		return forward.LaneMain
	}
	return forward.LaneRetry
}

// nudge makes run look again; it does not block.
func (c *claim) nudge() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}
