package policy

import (
	"time"

	"github.com/retryd/retryd/internal/record"
)

// Reason says why a record was dead-lettered; the values are those of the header
// x-reason.
type Reason string

// The reasons that exist so far.
const (
	ReasonNone      Reason = ""
	ReasonRejected  Reason = "rejected"  // the endpoint called it invalid
	ReasonConflict  Reason = "conflict"  // the endpoint called it a conflict
	ReasonExhausted Reason = "exhausted" // it failed in every step
	ReasonLimited   Reason = "limited"   // too many failures of class unknown
	ReasonBudget    Reason = "budget"    // the next attempt would lie past the budget
	ReasonLifetime  Reason = "lifetime"  // it is older than its lifetime
	ReasonExpired   Reason = "expired"   // it expired before it could be delivered
	ReasonOversize  Reason = "oversize"  // it does not fit the next topic
	ReasonLoop      Reason = "loop"      // its failure marks fill the schedule, its x-attempt does not
	ReasonReplays   Reason = "replays"   // it failed, and was replayed max_replays times
)

// Reasons returns the closed set of reasons, without ReasonNone.
func Reasons() []Reason {
	return []Reason{
		ReasonRejected, ReasonConflict, ReasonExhausted, ReasonLimited, ReasonBudget,
		ReasonLifetime, ReasonExpired, ReasonOversize, ReasonLoop, ReasonReplays,
	}
}

// Action is what happens next to a record.
type Action int

// The actions.
const (
	ActionDone       Action = iota // delivered: complete it
	ActionForward                  // write it to tier Decision.Step
	ActionDeadLetter               // write it to the dead-letter topic, or to Decision.DLT
	ActionHold                     // nothing was judged: it waits where it is
	ActionMove                     // no attempt was spent: write it to Decision.Place, where it waits
	ActionRepark                   // no attempt was made: write it to the tail of Decision.Place
)

// Decision is what follows from an attempt, or from a look at a record that waits.
type Decision struct {
	Action    Action
	Reason    Reason        // of a dead letter
	DLT       string        // of a dead letter: the topic that it goes to in place of the relay's dead-letter topic; empty: that one
	Step      int           // attempts spent, of a failure with this one: a forward's tier, 1-based; 0 if done or held
	Repeat    bool          // of a forward: it goes to the last tier again, one more attempt is spent than Step
	Delay     time.Duration // until NotBefore, but for its rounding: jittered, perhaps shortened, or as long as the endpoint asked
	Uncharged time.Duration // the part of Delay that the budget is not charged with
	NotBefore time.Time     // now + Delay rounded up to a millisecond; of a dead letter: now; of a hold: zero is now
	Place     int           // of a move and a re-park: where it waits, see Schedule.Rests
	Cause     Cause         // of a re-park
}

// Spends reports whether an attempt is spent by the decision: else the record makes the
// same attempt again.
func (d Decision) Spends() bool {
	return d.Action != ActionHold && d.Action != ActionMove && d.Action != ActionRepark
}

// Decide judges one attempt. state is the record's before the attempt, with Late
// already including this attempt's lateness; uniform is in [0, 1) and places the
// jitter.
//
// Whatever state claims, a record that keeps failing is dead-lettered: its position
// grows with every attempt, and so do its failure marks if something on its way
// resets x-attempt. The one exception is Schedule.RepeatLast.
func Decide(s Schedule, state record.State, o Outcome, now time.Time, uniform float64) Decision {
	switch o.Treatment {
	case TreatDone:
		return Decision{Action: ActionDone}
	case TreatHold, TreatStop:
		return Decision{Action: ActionHold}
	case TreatThrottle:
		return throttle(s, state, o, now, uniform)
	}
	made := s.position(state.Attempt) + 1
	age := sinceFirstFailure(state, now)
	if r := verdict(s, state, o.Verdict, made, age); r != ReasonNone {
		return deadLetter(r, made, now).apart(s, o.Verdict)
	}
	step := min(made, len(s.Steps))
	delay, ok := s.delay(step, age-max(state.Late, 0), uniform)
	if !ok {
		return deadLetter(ReasonBudget, made, now)
	}
	d := Decision{Action: ActionForward, Step: step, Repeat: made > step, Delay: max(delay, o.Wait)}
	d.Uncharged, d.NotBefore = d.Delay-delay, ceilMilli(now.Add(d.Delay))
	return d
}

// Final reports whether a record ends because it failed once more, and not because of what
// its last failure says.
func (d Decision) Final() bool {
	switch d.Reason {
	case ReasonExhausted, ReasonLimited, ReasonBudget, ReasonLifetime, ReasonLoop, ReasonReplays:
		return true
	}
	return false
}

// Oversize returns the decision for a record that does not fit the topic that d
// sends it to: the attempt was made all the same.
func (d Decision) Oversize(now time.Time) Decision {
	return deadLetter(ReasonOversize, d.spent(), now)
}

// spent returns how many attempts are made once a forward is acknowledged.
func (d Decision) spent() int {
	if d.Repeat {
		return d.Step + 1
	}
	return d.Step
}

// verdict returns why a failed record ends here, whatever its next wait would be,
// or ReasonNone.
func verdict(s Schedule, state record.State, v Verdict, made int, age time.Duration) Reason {
	switch steps := len(s.Steps); {
	case v.Treatment == TreatDeadLetter:
		return ReasonRejected
	case v.Treatment == TreatReview:
		return ReasonConflict
	case state.Replays > 0 && state.Replays >= s.MaxReplays:
		return ReasonReplays
	case v.Treatment != TreatRetry && state.Limited >= s.LimitedAttempts-1:
		return ReasonLimited
	case s.RepeatLast: // no attempt is the last one, and no age is too high
		return ReasonNone
	case made > steps:
		return ReasonExhausted
	case state.Trace.Failures() >= steps:
		return ReasonLoop
	case age >= s.Lifetime:
		return ReasonLifetime
	}
	return ReasonNone
}

// apart names the topic of a dead letter that is kept apart from the others: one that a
// person has to look at, or whose rule names a topic.
func (d Decision) apart(s Schedule, v Verdict) Decision {
	switch d.Reason {
	case ReasonConflict:
		d.DLT = s.Review
	case ReasonRejected:
		d.DLT = v.DLT
	}
	return d
}

// sinceFirstFailure returns the age of the first failure, which may be the one that
// is being judged. It is never negative: a first failure that lies in the future
// (another clock, a forged header) counts as now.
func sinceFirstFailure(state record.State, now time.Time) time.Duration {
	if state.FirstFailure.IsZero() {
		return 0
	}
	return max(0, now.Sub(state.FirstFailure))
}

// delay returns the wait in a tier for a record that has spent elapsed of its
// budget, and whether the budget allows one. A wait that would end past the budget
// is shortened to its end when at least half of the nominal delay remains. No wait
// and no half is negative, so a budget that is overspent allows none.
func (s Schedule) delay(step int, elapsed time.Duration, uniform float64) (time.Duration, bool) {
	tier := s.Steps[step-1]
	if s.RepeatLast {
		return tier.wait(uniform), true
	}
	remaining := s.Budget - max(elapsed, 0)
	delay := tier.wait(uniform)
	if delay > remaining {
		return remaining, remaining >= tier.half()
	}
	return delay, true
}

func deadLetter(r Reason, made int, now time.Time) Decision {
	return Decision{Action: ActionDeadLetter, Reason: r, Step: made, NotBefore: milli(now)}
}

// milli returns t as a header holds it: whole milliseconds of wall time.
func milli(t time.Time) time.Time { return t.Truncate(time.Millisecond) }

// ceilMilli rounds up, so that a header's precision never makes a record early.
func ceilMilli(t time.Time) time.Time { return milli(t.Add(time.Millisecond - 1)) }
