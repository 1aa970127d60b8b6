package tier

import (
	"errors"
	"time"
)

// errGaveUp says that a forward was not acknowledged in time.
var errGaveUp = errors.New("no acknowledgement in time")

// What workers, producers and the commit writer tell a claim, from any goroutine.

// low returns the offset to commit.
func (c *claim) low() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.offsets.Low()
}

// complete ends a job for good: its record was accepted, or another topic has it.
// It counts even after the claim was closed, until the session's last commit.
func (c *claim) complete(j *job) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offsets.Complete(j.record.Offset)
	c.share.Release(j.size)
	if j.move != nil {
		c.moving--
	}
	c.back()
	if c.waiting {
		c.waiting = false
		c.nudge()
	}
}

// giveBack returns a job, due at a later time; nothing is decided by it. A closed
// claim drops it: the next owner reads it again.
func (c *claim) giveBack(j *job, due time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		j.due = max(j.due, due.UnixMilli())
		c.returned = append(c.returned, j)
	}
	c.back()
	c.nudge()
}

// back counts a job that came back. The caller holds mu.
func (c *claim) back() {
	c.finished++
	if c.closed && c.finished == c.started {
		close(c.idle)
	}
}

// judged notes that a job has a move, which is written until it is acknowledged.
func (c *claim) judged(j *job, m *move) {
	c.mu.Lock()
	defer c.mu.Unlock()
	j.move = m
	c.moving++
}

// await asks for a nudge at the next completion.
func (c *claim) await() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = true
}

// nudge makes run look again; it does not block.
func (c *claim) nudge() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}
