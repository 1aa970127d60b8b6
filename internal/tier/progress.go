package tier

import "time"

// What workers, producers and the commit writer tell a claim, from any goroutine.
// Each job that was let out comes back by one complete or one giveBack.

// letOut counts a job that leaves for a worker or a producer.
func (c *claim) letOut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.outside++
}

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
	c.cameBack()
	if c.waiting {
		c.waiting = false
		c.nudge()
	}
}

// giveBack returns a job, due at another time, but never before its x-not-before;
// nothing is decided by it. A closed claim drops it: the next owner reads it again.
func (c *claim) giveBack(j *job, due time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		j.due = max(j.notBefore(), due.UnixMilli())
		c.returned = append(c.returned, j)
	}
	c.cameBack()
	c.nudge()
}

// cameBack counts a job that came back. The caller holds mu.
func (c *claim) cameBack() {
	c.outside--
	if c.closed && c.outside == 0 {
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

// nudge makes run look again; it does not block.
func (c *claim) nudge() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}
