package control

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"go.uber.org/zap"

	"github.com/retryd/retryd/internal/kafka"
	"github.com/retryd/retryd/internal/logging"
	"github.com/retryd/retryd/internal/status"
)

const (
	// writeBound is how long one write waits for its acknowledgement.
	writeBound = 10 * time.Second
	// resendPause is how long after a write that failed what is unwritten is written again.
	resendPause = 2 * time.Second
	// lastBound is how long what is unwritten at the end is tried to be written.
	lastBound = 5 * time.Second
)

// request is a write that somebody waits for.
type request struct {
	group string
	halt  *status.Halt // nil: the key is deleted
	done  chan<- error // has room for the answer
}

var errBusy = errors.New("no write to it was begun in time")

// Pause has a relay paused, on all instances. It returns the relay's state, once the topic
// has acknowledged it. A relay that is halted keeps what is said of it: a pause its
// beginning, and a stop everything. ctx bounds it; an error says why it was not
// acknowledged, and then it may take effect yet.
func (c *Control) Pause(ctx context.Context, group, reason, by string) (*status.Halt, error) {
	h := tidy(status.Halt{State: status.Paused, Reason: reason, By: by, Since: time.Now()})
	switch now := c.State(group); {
	case now == nil:
	case now.State == status.Stopped:
		return now, nil
	default:
		h.Since = now.Since
	}
	return &h, c.say(ctx, group, &h)
}

// Resume has a relay deliver again, on all instances; otherwise as Pause.
func (c *Control) Resume(ctx context.Context, group string) error { return c.say(ctx, group, nil) }

// say hands a word to the goroutine that writes, and waits for the acknowledgement.
func (c *Control) say(ctx context.Context, group string, h *status.Halt) error {
	done := make(chan error, 1)
	select {
	case c.requests <- request{group, h, done}:
	case <-ctx.Done():
		return c.unacknowledged(errBusy)
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return c.unacknowledged(ctx.Err())
	}
}

func (c *Control) unacknowledged(err error) error {
	return fmt.Errorf("topic %s did not acknowledge it: %w", c.deps.Topics.Control, err)
}

// Write does all the writing, one record after the other, until ctx ends: that is when no
// attempt is under way any more that could stop a relay, which may be long after Follow's
// end. Then what is unwritten is written a last time, within 5 s or until abort ends. What
// the topic does not have by then is told.
func (c *Control) Write(ctx, abort context.Context) {
	c.writeUntil(ctx)
	last, cancel := context.WithTimeout(abort, lastBound)
	defer cancel()
	if err := c.resend(last); err != nil {
		c.tellLost(err)
	}
}

func (c *Control) writeUntil(ctx context.Context) {
	again := time.NewTimer(0)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case q := <-c.requests:
			q.done <- c.writeOne(ctx, q.group, q.halt)
		case <-c.wake:
			again.Reset(0)
		case <-again.C:
			if err := c.resend(ctx); err != nil && ctx.Err() == nil {
				c.warn(err)
				again.Reset(resendPause)
			}
		}
	}
}

// resend writes what is unwritten; an error says why some of it still is.
func (c *Control) resend(ctx context.Context) (failed error) {
	for group := range c.allPending() {
		h, ok := c.pending(group) // by now
		if !ok {
			continue
		}
		if err := c.writeOne(ctx, group, &h); err != nil {
			failed = err
		}
	}
	return failed
}

func (c *Control) allPending() map[string]status.Halt {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.unwritten)
}

// writeOne writes a word, and takes it for said once it is acknowledged: what was
// unwritten of that relay before is overtaken by it. A word that was read meanwhile and
// stands behind it overtakes it in turn. Where it stands before one that was read before it
// was written, it is on a topic that was made anew.
func (c *Control) writeOne(ctx context.Context, group string, h *status.Halt) error {
	ctx, cancel := context.WithTimeout(ctx, writeBound)
	defer cancel()
	value, err := valueOf(c.deps.Relays[group], h)
	if err != nil {
		return err
	}
	before, pending := c.pending(group)
	asked := c.newest(group)
	offset, err := c.put(ctx, keyOf(group), value)
	if err != nil {
		return c.unacknowledged(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	shown := c.state(group)
	if now, still := c.unwritten[group]; pending && still && same(&now, &before) {
		delete(c.unwritten, group)
	}
	if newest := c.known[group].offset; offset >= newest || offset <= asked { // 0: not told
		c.known[group] = said{h, max(offset, newest)}
	}
	if now := c.state(group); !same(shown, now) {
		c.deps.Changed(group, now)
	}
	return nil
}

// warn tells that a halt is known here alone.
func (c *Control) warn(err error) {
	if n, ok := c.deps.Limiter.Allow("unwritten", c.deps.Topics.Control, time.Now()); ok {
		c.deps.Log.Warn("halt of a relay is not on the control topic yet, so other instances do not know of it; it is written again",
			zap.String(logging.FieldTopic, c.deps.Topics.Control), zap.String(logging.FieldError, kafka.Explain(err)), logging.Suppressed(n))
	}
}

// tellLost tells which halts end with the process.
func (c *Control) tellLost(err error) {
	for group, h := range c.allPending() {
		c.deps.Log.Error("halt of a relay is not on the control topic as the process ends: other instances do not know of it, and after a restart it is forgotten",
			zap.String(logging.FieldTopic, c.deps.Topics.Control), zap.String(logging.FieldRelay, c.deps.Relays[group]),
			zap.String("state", string(h.State)), zap.String(logging.FieldReason, h.Reason), zap.String(logging.FieldError, kafka.Explain(err)))
	}
}

func (c *Control) pending(group string) (h status.Halt, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	h, ok = c.unwritten[group]
	return h, ok
}

// newest returns the offset of the newest record of a relay that is known.
func (c *Control) newest(group string) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known[group].offset
}

// putRecord writes one record to the topic.
func (c *Control) putRecord(ctx context.Context, key, value []byte) (offset int64, err error) {
	topic := c.topic.Load()
	if topic == nil {
		return 0, errNotThere
	}
	target, err := c.deps.Producers.Target(topic.Name, topic.MaxMessageBytes)
	if err != nil {
		return 0, err
	}
	return target.Put(ctx, key, value)
}
