package tier

import "time"

// grace is how long a failure that ends a record is not final. The circuit breaker needs a
// few failures to tell an outage from a fault of the records: those that were in their last
// attempt when it began would be dead letters by then. They are judged already, so the
// attempt is not made again unless the breaker opens.
const grace = 2 * time.Second

// conclude acts on a decision that must be written to another topic.
func (r *Relay) conclude(j *job, m *move) {
	if m.decision.Final() && r.config.Endpoint.Breaker.Enabled {
		m.final = true
	}
	j.claim.judged(j, m)
	if !m.final || !j.claim.postpone(j, time.Now().Add(grace)) {
		r.send(j)
	}
}

// postpone holds a job that is judged, to be written at a time. It returns false if the
// claim holds nothing any more.
func (c *claim) postpone(j *job, due time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	j.due = due.UnixMilli()
	c.hold(j)
	c.cameBack(j)
	c.nudge()
	return true
}

// sendHeld writes a job that was held after it was judged. One that has failed for good is
// not judged after all if the breaker has opened since: it waits for its last attempt.
func (r *Relay) sendHeld(j *job) {
	m := j.move
	doubtful := m.final && m.outages != r.gate.Outages()
	if m.final && !doubtful && r.gate.Open() { // the endpoint's health is being asked for
		m.graces++
		if m.graces < mostGraces && j.claim.postpone(j, time.Now().Add(grace)) {
			return
		}
		doubtful = true // nobody has answered, or the claim lets go
	}
	if doubtful {
		j.claim.unjudged(j, j.stays)
		j.claim.forgive(j)
		j.claim.giveBack(j, time.Now())
		return
	}
	m.final = false
	r.send(j)
}

// mostGraces bounds how often the endpoint's health is waited for.
const mostGraces = 30
