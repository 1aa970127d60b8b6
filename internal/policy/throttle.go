package policy

import (
	"time"

	"github.com/retryd/retryd/internal/record"
)

// throttle decides about a record for which the endpoint asks for time. No attempt is
// spent: the record waits for as long as it would before its next step, or for as long
// as the endpoint asks if that is longer, in a topic that is for such waits. Without
// one it waits in its window. Nothing but its lifetime ends it, and the budget is charged
// with none of the wait.
func throttle(s Schedule, state record.State, o Outcome, now time.Time, uniform float64) Decision {
	made := s.position(state.Attempt)
	if !s.RepeatLast && sinceFirstFailure(state, now) >= s.Lifetime {
		return deadLetter(ReasonLifetime, made, now)
	}
	wait, next := o.Wait, min(made+1, len(s.Steps))
	if next > 0 {
		wait = max(wait, s.Steps[next-1].wait(uniform))
	}
	d := Decision{Action: ActionMove, Step: made, Delay: wait, Uncharged: wait, NotBefore: ceilMilli(now.Add(wait))}
	if d.Place = s.throttled(wait, next); d.Place == 0 {
		d.Action = ActionHold
	}
	return d
}

// throttled returns the place where a throttled record waits: with the longest delay that
// is not longer than the wait, else tier 1. next is the tier of its next step, 0 without
// tiers; it is the place where tier 1 would be read too late, as where the delays
// descend. It returns 0 if no place fits.
func (s Schedule) throttled(wait time.Duration, next int) int {
	switch fits := s.Rests().largest(wait, 0); {
	case fits > 0:
		return fits
	case next > 0 && s.LeastDelay(1) <= wait:
		return 1
	}
	return next
}
