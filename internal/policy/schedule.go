package policy

import "time"

// MaxSteps bounds a schedule: the failure marks of x-trace must fit its 16 hops.
const MaxSteps = 14

// Step is one tier's wait.
type Step struct {
	Delay  time.Duration
	Jitter float64 // symmetric share of Delay, 0 to 1
}

// Schedule is the bounded walk of a relay's records. Build it with
// Config.Schedule.
type Schedule struct {
	Steps           []Step
	Park            []time.Duration // delays of the park topics, ascending
	Budget          time.Duration   // from the first failure, lateness not charged
	Lifetime        time.Duration   // from the first failure, absolute
	ExpireAfter     time.Duration   // from the origin's timestamp; 0 is never
	LimitedAttempts int             // failures of class unknown that a record may have
	Review          string          // topic of the records that a person has to look at; empty: they are dead letters like others
	InPlace         InPlace
	MaxReplays      int  // a record that was replayed so often, once at least, has no further step
	RepeatLast      bool // the last step, of at least one, is repeated: neither attempts nor budget nor lifetime end a walk
	MaxUnfinished   int  // with RepeatLast: of a partition of the last tier; see Decision.Bound
}

// LeastDelay returns a lower bound of every wait that Decide gives a record for a
// tier (1-based): no record of the tier is due earlier than the time of its
// decision plus LeastDelay, but for those that are moved to save them from the topic's
// retention. It is 0 for main (0) and for a tier that the schedule
// does not have, of whose records nothing is known.
func (s Schedule) LeastDelay(step int) time.Duration {
	if step < 1 || step > len(s.Steps) {
		return 0
	}
	t := s.Steps[step-1]
	// A record is younger than its lifetime when it is forwarded. A budget that then
	// still holds the longest wait shortens none. What repeats has no budget.
	if s.RepeatLast || s.Budget-s.Lifetime >= t.wait(1) {
		return t.wait(0)
	}
	return min(t.wait(0), t.half())
}

// Expired reports whether a record is too old to be delivered at all. It is judged
// when delivery is allowed, so that an outage of the endpoint alone expires
// nothing that it has not kept past its use. origin is the timestamp of the main
// record; without one (the zero time) a record does not expire.
func Expired(s Schedule, origin, now time.Time) bool {
	return s.ExpireAfter > 0 && !origin.IsZero() && now.Sub(origin) >= s.ExpireAfter
}

// wait places the jitter: uniform 0 gives the shortest wait, 1 would give the
// longest. The product is truncated towards zero, so that rounding never leaves
// the range.
func (t Step) wait(uniform float64) time.Duration {
	return t.Delay + time.Duration(float64(t.Delay)*t.Jitter*(2*uniform-1))
}

// half is the least of the delay that is worth waiting for when the budget ends
// before the delay does.
func (t Step) half() time.Duration { return t.Delay / 2 }

// position returns the place in the schedule that a claimed number of attempts
// stands for. Headers are foreign input: a number outside the schedule is one of
// its ends.
func (s Schedule) position(attempts int) int {
	return min(max(attempts, 0), len(s.Steps))
}
