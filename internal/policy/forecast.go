package policy

import (
	"math"
	"time"
)

// Foreseen is when one attempt of a record takes place that fails in every attempt,
// counted from its first failure.
//
// Nothing is late in it: instances run, workers are free, the endpoint's gate is
// open. A record is read when its timestamp says that it was written. The rounding
// of each hop's time to a millisecond is left out.
type Foreseen struct {
	Step              int           // attempts made before: 0 on main, i in tier i
	Shortest, Longest time.Duration // wait before it, as the jitter places it
	Earliest, Latest  time.Duration // begin of the attempt; 0 for the first forecast, and for one that is never made

	Shortened bool // the budget may shorten the wait, to half the delay at least
	Budget    bool // the budget may end the walk before it
	Lifetime  bool // the lifetime may end the walk before it
	Expiry    bool // the record may be too old for it, once it has waited
	Never     bool // no walk comes this far; the marks are those of the first such attempt
}

// Forecast returns every attempt from a step on, and when the record is dead-lettered
// at the latest. from is 0 for records of the main topic, which is attempted as they
// come. For records that somebody else writes into a tier it is that tier, and the
// first attempt has waited for exactly the tier's delay: nothing placed a jitter.
// Without that tier there is no attempt. timeout is the longest that an attempt takes;
// the shortest takes no time.
func (s Schedule) Forecast(from int, timeout time.Duration) (attempts []Foreseen, end time.Duration) {
	if from > len(s.Steps) {
		return nil, 0
	}
	begin := Foreseen{Step: from}
	if from > 0 {
		begin.Shortest, begin.Longest = s.Steps[from-1].Delay, s.Steps[from-1].Delay
	}
	age := begin.Longest // the age of a record when it is attempted first
	begin.Expiry = s.ExpireAfter > 0 && age >= s.ExpireAfter
	begin.Never = begin.Expiry
	attempts = append(attempts, begin)
	never := begin.Never
	var first, last time.Duration // when the attempt before fails, at the earliest and at the latest
	for step := from + 1; step <= len(s.Steps); step++ {
		f := s.foresee(step, first, last)
		if !never && !f.Never { // it waits in the tier
			end = max(end, f.Latest) // of what expires meanwhile
			f = s.expire(f, age, timeout)
		}
		switch {
		case never:
			f = Foreseen{Step: step, Shortest: f.Shortest, Longest: f.Longest, Never: true}
		case f.Never:
			f.Earliest, f.Latest, never = 0, 0, true
		default:
			first, last = f.Earliest, plus(f.Latest, timeout)
			end = max(end, last)
		}
		attempts = append(attempts, f)
	}
	return attempts, end
}

// foresee returns the attempt of a step whose wait is decided between first and
// last.
//
// An attempt begins at min(decision + wait, budget), which grows with both. So the
// bounds are those of the first and of the last decision that allows a wait.
func (s Schedule) foresee(step int, first, last time.Duration) Foreseen {
	tier := s.Steps[step-1]
	f := Foreseen{Step: step, Shortest: tier.wait(0), Longest: tier.wait(1)}
	f.Lifetime = last >= s.Lifetime
	last = min(last, s.Lifetime-1)
	f.Budget = s.Budget-last < tier.half()
	whole := min(last, s.Budget-tier.half()) // the last decision after which half of the delay remains
	f.Shortened = first <= whole && plus(whole, f.Longest) > s.Budget
	last = min(last, s.Budget-min(f.Shortest, tier.half()))
	f.Never = first > last
	f.Earliest = min(plus(first, f.Shortest), s.Budget)
	f.Latest = min(plus(last, f.Longest), s.Budget)
	return f
}

// expire returns an attempt as Expired leaves it to records that had this age when
// they were attempted first. That attempt took up to timeout, by which they are older
// than their first failure.
func (s Schedule) expire(f Foreseen, age, timeout time.Duration) Foreseen {
	if s.ExpireAfter == 0 {
		return f
	}
	young := s.ExpireAfter - age // since the first failure: from then on each is too old
	f.Expiry = plus(f.Latest, timeout) >= young
	f.Never = f.Earliest >= young
	f.Latest = min(f.Latest, young-1)
	return f
}

// plus adds durations that are not negative, and stops at the longest.
func plus(a, b time.Duration) time.Duration {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
