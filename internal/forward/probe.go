package forward

import (
	"time"

	"github.com/retryd/retryd/internal/policy"
)

// What a gate does from the opening of its breaker to the closing: it pauses, lets one
// probe through, and pauses for longer.

// enterProbe gives the pass of the probe. mu is held.
func (g *Gate) enterProbe(now time.Time, waits [lanes]bool) (p Pass, again time.Time, ok bool) {
	done, err := g.breaker.Allow()
	if err != nil {
		return Pass{}, now.Add(tick), false
	}
	p = Pass{generation: g.generation.Load(), Outages: g.outages.Load(), started: now, done: done, Probe: true}
	if p.Health = g.asksHealth(); !p.Health {
		p.Lane = g.probeLane(waits)
		g.shares.inFlight[p.Lane]++
	}
	g.probes++
	g.change(State{Phase: policy.PhaseHalfOpen, Cause: g.state.Cause, Error: g.state.Error})
	return p, time.Time{}, true
}

// probeLane prefers records without an attempt, which tell more, but tries a retry now
// and then: all of main may be poison.
func (g *Gate) probeLane(waits [lanes]bool) Lane {
	if waits[LaneMain] && (!waits[LaneRetry] || g.probes%3 != 2) {
		return LaneMain
	}
	return LaneRetry
}

// asksHealth reports whether the endpoint's health decides. It knows nothing of
// credentials and of what is rejected. mu is held.
func (g *Gate) asksHealth() bool {
	return g.asks && (g.state.Cause == policy.FaultFailing || g.state.Cause == policy.FaultUnreachable)
}

// probed acts on the answer to a probe: a success closes the breaker, or an answer that
// shows that the endpoint works again. mu is held.
func (g *Gate) probed(p Pass, c Call, o *policy.Outcome, now time.Time) {
	says := testimonyOf(o, c.First, false)
	g.evidence.note(o, c.Record, c.First, says)
	if says == saysHealthy || says == saysNothing && g.works(o) {
		p.done(nil)
		g.close(now)
		return
	}
	p.done(errFailed)
	cause := causeOf(o, says)
	if cause == policy.FaultNone {
		cause = g.state.Cause
	}
	g.reopen(cause, o, now)
}

// works reports whether an answer that tells of a record shows that the endpoint is back:
// where it could not be reached, any does that is no word of an outage; where it failed,
// one that it has thought about. Else a breaker would stay open where nothing but poison is
// left. mu is held.
func (g *Gate) works(o *policy.Outcome) bool {
	switch {
	case g.origin == policy.FaultUnreachable:
		return o.Status != 0 && (o.Treatment == policy.TreatLimited || o.Spoken || verdictOnRecord(o))
	case g.state.Cause == policy.FaultFailing:
		return o.Spoken || verdictOnRecord(o)
	}
	return false
}

// LeaveHealth hands back a pass for the endpoint's health; err is what came of asking. If
// it is well at the first look it was well all the time: that is trusted for a while, or
// poison would have it asked again and again.
func (g *Gate) LeaveHealth(p Pass, err error) {
	now := time.Now()
	g.mu.Lock()
	defer g.unlock()
	switch {
	case g.Stale(p):
	case err != nil:
		p.done(errFailed)
		if g.probes == 1 {
			g.outages.Add(1)
		}
		g.reopen(g.state.Cause, &policy.Outcome{Error: err.Error()}, now)
	default:
		p.done(nil)
		g.close(now)
		if g.probes == 1 {
			g.limits.ramp.from = g.ramped
			g.trusted = now.Add(g.probeWait)
		}
	}
}

// open opens the breaker, which is closed, and begins a pause. mu is held.
func (g *Gate) open(cause policy.Fault, o *policy.Outcome, now time.Time) {
	if done, err := g.breaker.Allow(); err == nil {
		done(errFailed)
	}
	g.generation.Add(1)
	g.interval, g.probes = g.probeWait, 0
	g.origin, g.ramped = cause, g.limits.ramp.from
	s := State{Phase: policy.PhaseOpen, Cause: cause, Until: g.nextProbe(o, now), Error: o.Error}
	g.state.Cause = cause
	if g.asksHealth() {
		s.Until = now // which tells whether it is one
	} else {
		g.outages.Add(1)
	}
	g.change(s)
}

// reopen begins another pause after a probe that failed. mu is held.
func (g *Gate) reopen(cause policy.Fault, o *policy.Outcome, now time.Time) {
	if g.probes > 1 || !g.asksHealth() {
		g.interval = min(2*g.interval, g.mostWait)
	}
	g.change(State{Phase: policy.PhaseOpen, Cause: cause, Until: g.nextProbe(o, now), Error: o.Error})
}

// nextProbe is when the next probe is due: after an interval, or later if the endpoint asks
// for that (Retry-After), but not later than after the longest one. mu is held.
func (g *Gate) nextProbe(o *policy.Outcome, now time.Time) time.Time {
	return now.Add(max(g.interval, min(o.Wait, g.mostWait)))
}

// close ends the pauses: delivery goes on, along a ramp. mu is held.
func (g *Gate) close(now time.Time) {
	g.generation.Add(1)
	g.evidence.clear()
	g.calls.clear()
	g.limits.ramp.from = now
	g.change(State{Phase: policy.PhaseClosed})
}
