// Package control keeps which relays are paused or stopped, in a compacted topic: so it
// holds on every instance and survives restarts. It reads the topic, tells what changes,
// and writes what people and rules say.
//
// The topic is the truth: each instance, also the one that wrote, does as the newest
// record of a relay's key says. It knows relays by name and group alone, and delivers
// nothing.
package control

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/retryd/retryd/internal/kafka"
	"github.com/retryd/retryd/internal/logging"
	"github.com/retryd/retryd/internal/status"
)

// Deps is what a Control is made of. The functions must return at once, and must not call
// back; they are called by one goroutine at a time.
type Deps struct {
	Kafka     kafka.Config
	Topics    kafka.TopicsConfig
	Producers *kafka.Producers
	Log       *zap.Logger
	Limiter   *logging.Limiter

	Relays map[string]string // the process's relays: name by group
	Like   []string          // their main topics, whose replication a new control topic gets

	Changed func(group string, h *status.Halt) // nil: the relay is to deliver
	Read    func()                             // the topic was read to its end, also after Unread
	Unread  func(error)                        // why it cannot be; what was told last still holds
	Looked  func(error)                        // what is wrong with the topic although it is read; nil: nothing any more
	Ignored func()                             // counts a record that makes no sense
	Away    func() bool                        // brokers do not answer, which is told already; safe for concurrent use
}

// Control is the states of a process's relays. Its methods are safe for concurrent use.
type Control struct {
	deps Deps

	// What is at the edge; tests set them before Follow.
	plan func(*kafka.Cluster) (kafka.Topic, error)
	open func(context.Context) (reader, error)
	put  func(ctx context.Context, key, value []byte) (offset int64, err error)

	topic    atomic.Pointer[kafka.Topic] // as it was looked at last; nil: not yet
	requests chan request                // to the goroutine that writes
	wake     chan struct{}               // there is something unwritten

	// Used by the goroutine that reads alone.
	id     [16]byte  // of the topic that was read last
	judged int64     // the offset behind the last record of it that was judged
	failed time.Time // since when it cannot be read for what passes by itself; zero: it can

	// Used by one look at a time.
	warned  []string // warnings of the last one
	planned bool     // one succeeded

	mu        sync.Mutex
	known     map[string]said        // by group, as the topic says
	unwritten map[string]status.Halt // by group, what the topic has not acknowledged yet
}

// said is what the topic says of a relay.
type said struct {
	halt   *status.Halt // nil: it is not halted
	offset int64        // of the record that says so, which may have been acknowledged and not read yet
}

// reader is what follow reads from; see kafka.Reader.
type reader interface {
	Read() (entries []kafka.Entry, end bool, err error)
	Close()
}

// New makes no connection.
func New(d Deps) *Control {
	c := &Control{
		deps:     d,
		requests: make(chan request), wake: make(chan struct{}, 1),
		known: map[string]said{}, unwritten: map[string]status.Halt{},
	}
	c.plan, c.open, c.put = c.planTopic, c.openTopic, c.putRecord
	return c
}

// Stop has a relay stopped, by a rule's word: at once in this process, and on the others
// as soon as the topic takes it, which is tried until it does or the process ends. A relay
// that is stopped already keeps its reason.
func (c *Control) Stop(group string, h status.Halt) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := c.state(group); now == nil || now.State != status.Stopped {
		c.keep(group, tidy(h))
	}
}

// keep has a halt written, and counts it as said. The caller holds mu.
func (c *Control) keep(group string, h status.Halt) {
	c.unwritten[group] = h
	c.deps.Changed(group, &h)
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// state returns a relay's, where what is not written yet counts. The caller holds mu.
func (c *Control) state(group string) *status.Halt {
	if h, ok := c.unwritten[group]; ok {
		return &h
	}
	return c.known[group].halt
}

// State returns whether a relay is halted: nil if not, or if nobody knows yet.
func (c *Control) State(group string) *status.Halt {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state(group)
}

// learn takes in what the topic says of a relay, and tells if that is news. What it said
// before the newest that is known counts no more.
func (c *Control) learn(group string, w said) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w.offset >= c.known[group].offset {
		c.set(group, w)
	}
}

// set is learn of the newest, for a caller that holds mu. What is unwritten and read back
// was written, though the acknowledgement did not come: to write it again could undo a
// resume.
func (c *Control) set(group string, w said) {
	before := c.state(group)
	c.known[group] = w
	if h, ok := c.unwritten[group]; ok && same(&h, w.halt) {
		delete(c.unwritten, group)
	}
	if now := c.state(group); !same(before, now) {
		c.deps.Changed(group, now)
	}
}

// renew takes in all that a topic says which was read from its beginning to before end. Of
// a relay that it does not mention any more it says that it is not halted. But on a topic
// that was made anew, what held before is written again.
func (c *Control) renew(all map[string]said, end int64, anew bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, group := range slices.Sorted(maps.Keys(c.deps.Relays)) {
		w, mentioned := all[group]
		before := c.state(group)
		switch {
		case anew && !mentioned && before != nil:
			c.known[group] = said{}
			c.keep(group, *before)
		case !anew && c.known[group].offset >= end: // acknowledged meanwhile, and read next
		default:
			c.set(group, w)
		}
	}
}

func same(a, b *status.Halt) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.State == b.State && a.Reason == b.Reason && a.By == b.By && a.Since.Equal(b.Since)
}

var errNotThere = errors.New("it was not looked at yet")

// sleep waits, or returns early when ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
