package policy

import (
	"time"

	"github.com/retryd/retryd/internal/record"
)

// Advance returns the state that travels on with a record after an attempt that d
// forwards, moves or dead-letters; target is the topic that it is written to. Late
// already includes the attempt's, and what the budget is not charged with is added. A
// record that is done or held goes nowhere, its state is returned as it is; but one
// that is throttled, and waits in its window, has this in its state too.
func Advance(state record.State, o Outcome, d Decision, target string, now time.Time) record.State {
	moved := o.Treatment == TreatThrottle && !d.NotBefore.IsZero()
	if d.Action != ActionForward && d.Action != ActionDeadLetter && !moved {
		return state
	}
	now = milli(now)
	state.Attempt = d.Step
	if o.Treatment == TreatLimited {
		state.Limited++
	}
	if state.FirstFailure.IsZero() {
		state.FirstFailure = now
	}
	state.NotBefore = d.NotBefore
	state.Late = plus(max(state.Late, 0), d.Uncharged)
	state.Last = record.Failure{
		Class:  string(o.Class),
		Status: o.Status,
		Kind:   string(o.Kind),
		Error:  o.Error,
		At:     now,
	}
	switch {
	case d.Action == ActionHold:
	case moved:
		state.Trace = state.Trace.Move(target, now)
	default:
		state.Trace = state.Trace.Fail(target, now)
	}
	return state
}

// Repark returns the state of a record that is moved into target without an attempt.
// What it was due at, and its position in the schedule, stay; a record that waits for
// nothing says so from then on, or target's delay would count.
func Repark(state record.State, target string, now time.Time) record.State {
	now = milli(now)
	if state.NotBefore.IsZero() {
		state.NotBefore = now
	}
	state.Trace = state.Trace.Move(target, now)
	return state
}

// Expire returns the state of an expired record that is dead-lettered into target:
// nothing was attempted, so no attempt and no failure is added.
func Expire(state record.State, target string, now time.Time) record.State {
	state = Repark(state, target, now)
	state.NotBefore = milli(now)
	return state
}
