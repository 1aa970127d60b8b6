package tier

import (
	"time"

	"github.com/retryd/retryd/internal/policy"
)

// With on_exhausted: repeat_last, the unfinished records of each partition of the last tier
// are bounded where they fail. They are counted by what its owner knows without asking:
// what it has read and not completed, and what is not read up to the end as it was measured
// last, at most some seconds ago, or as its own writes have moved it since. Markers and
// aborted records that are not read yet count too. A record that fails elsewhere, as one
// that was throttled into a park topic, is not counted before it is back.

// bound decides whether a record may repeat its last step. One that may not is finished
// from then on: of many that fail together no more end than must.
func (r *Relay) bound(j *job, d policy.Decision, now time.Time) policy.Decision {
	c := j.claim
	if c.consumer.source.place != d.Step {
		return d
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if d = d.Bound(r.schedule, c.unfinished(), now); d.Action == policy.ActionDeadLetter {
		j.excess = true
		c.excess++
	}
	return d
}

// unfinished returns how many records of the partition are not done, those in flight
// included. The caller holds mu.
func (c *claim) unfinished() int64 {
	return c.offsets.Unfinished(max(c.measured.end, c.end)) - int64(c.excess)
}

// wrote notes that a move was acknowledged with an offset: where it went to the tail of
// its own partition, that ends behind it.
func (c *claim) wrote(m *move, offset int64) {
	if m.to.topic != c.consumer.source.topic {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.end = max(c.end, offset+1)
}

// repeating returns which share of max_unfinished the partition has; 0 if that bounds
// nothing there.
func (c *claim) repeating() float64 {
	s := c.relay.schedule
	if !s.RepeatLast || c.consumer.source.place != len(s.Steps) {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return float64(c.unfinished()) / float64(s.MaxUnfinished)
}

// forgive takes back that a record may not repeat, since it was not judged after all.
func (c *claim) forgive(j *job) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if j.excess {
		j.excess = false
		c.excess--
	}
}
