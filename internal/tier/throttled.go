package tier

import (
	"github.com/retryd/retryd/internal/policy"
	"github.com/retryd/retryd/internal/record"
)

// A record for which the endpoint asks for time is moved to where it waits. Without such a
// place it waits in its window.

// unjudged decides about an attempt that is not judged: its record waits where it is. But
// one that is throttled waits as always, since that spends nothing; only it has no end by
// that.
func (r *Relay) unjudged(state record.State, a *attempted) (record.State, policy.Decision) {
	if a.outcome.Treatment == policy.TreatThrottle {
		asked := state
		asked.Late += a.late
		if d := policy.Decide(r.schedule, asked, a.outcome, a.at, r.uniform()); d.Action != policy.ActionDeadLetter {
			return asked, d
		}
	}
	return state, policy.Decision{Action: policy.ActionHold}
}

// hold gives a record back to its window, for as long as the gate says at least, and until
// the decision's time if it has one. One that is throttled keeps what it was judged by.
func (r *Relay) hold(j *job, judged record.State, a *attempted, d policy.Decision) {
	due := a.at.Add(a.again)
	if d.NotBefore.After(due) {
		due = d.NotBefore
	}
	if a.outcome.Treatment == policy.TreatThrottle && !d.NotBefore.IsZero() {
		j.claim.know(j, policy.Advance(judged, a.outcome, d, "", a.at))
	}
	j.claim.giveBack(j, due)
}

// know replaces the state of a job that is outside.
func (c *claim) know(j *job, state record.State) {
	c.mu.Lock()
	defer c.mu.Unlock()
	j.state = state
}

// waitsHere takes back a record that is too large for the topic in which it was to wait:
// the endpoint has asked for time, which is no reason for a dead letter.
func (r *Relay) waitsHere(j *job, err error) {
	m := j.move
	r.warn("record cannot be moved to where it waits, it waits where it is", m.to.topic, err)
	state := m.state
	state.Trace = j.state.Trace
	j.claim.unjudged(j, j.stays)
	j.claim.know(j, state)
	j.claim.giveBack(j, state.NotBefore)
}

// attemptOf is the number of the attempt that a move follows from. One that spent none
// is made again.
func attemptOf(m *move) int {
	if m.decision.Action == policy.ActionMove {
		return m.state.Attempt + 1
	}
	return m.state.Attempt
}
