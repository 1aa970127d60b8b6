package tier

import (
	"time"

	"github.com/retryd/retryd/internal/policy"
)

// What workers, producers and the commit writer tell a claim, from any goroutine.
// Each job that was let out comes back by one complete or one giveBack.

// note adds a job to those outside. The caller holds mu.
func (c *claim) note(j *job) {
	c.outside = append(c.outside, j)
	j.place = len(c.outside)
}

// complete ends a job for good: its record was accepted, or another topic has it.
// It counts even after the claim was closed, until the session's last commit.
func (c *claim) complete(j *job) {
	c.mu.Lock()
	c.offsets.Complete(j.record.Offset)
	c.share.Release(j.size)
	if j.excess {
		c.excess--
	}
	if j.move != nil {
		c.count(j.move, -1)
	}
	c.cameBack(j)
	room, turn := c.hasRoom() || c.parking.Len() > 0 && c.reparking < maxParking, c.blocked
	c.blocked = false
	c.mu.Unlock()
	if room { // to read, or to re-park
		c.nudge()
	}
	if turn {
		c.relay.turns.add(c)
	}
}

// giveBack returns a job, due at another time, but never before its x-not-before;
// nothing is decided by it. A closed claim drops it: the next owner reads it again.
func (c *claim) giveBack(j *job, due time.Time) (held bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		j.own()
		j.due = max(j.notBefore(), due.UnixMilli())
		c.hold(j)
	}
	c.cameBack(j)
	c.nudge()
	return !c.closed
}

// cameBack strikes a job from those outside. The caller holds mu.
func (c *claim) cameBack(j *job) {
	last := len(c.outside) - 1
	moved := c.outside[last]
	c.outside[j.place-1], moved.place = moved, j.place
	c.outside[last] = nil
	c.outside = c.outside[:last]
	j.place = 0
	if c.closed && last == 0 {
		close(c.idle)
	}
}

// judged notes that a job has a move, which is written until it is acknowledged.
func (c *claim) judged(j *job, m *move) {
	j.own()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.startMove(j, m)
}

// startMove gives a job its move. The job is outside and owns its record's bytes. The
// caller holds mu.
func (c *claim) startMove(j *job, m *move) {
	j.move = m
	c.count(m, 1)
}

// count counts a move that begins or ends. The caller holds mu.
func (c *claim) count(m *move, n int) {
	if m.decision.Action == policy.ActionRepark {
		c.reparking += n
		return
	}
	c.moving += n
}
