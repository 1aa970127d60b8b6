package policy

import "time"

// leastRest is how long a record rests at least where it was moved to. Without it, one
// that waits for months would go from topic to topic without end.
const leastRest = time.Minute

// Cause says why a record is moved to the tail of a topic without an attempt.
type Cause string

// The causes.
const (
	CauseNone      Cause = ""
	CauseWait      Cause = "wait"      // it waits for longer than its topic is for
	CauseRetention Cause = "retention" // half of the time is over for which its topic keeps it
	CauseWindow    Cause = "window"    // the window is nearly full
	CauseOffsets   Cause = "offsets"   // the set of completed offsets is nearly full
)

// Waiting is a record that waits in a topic other than main, whose records are never
// moved.
type Waiting struct {
	Place     int           // of its topic; 0: of a tier that is no longer configured
	NotBefore time.Time     // when it is due; zero: at once
	Written   time.Time     // its timestamp in its topic; one in the future counts as now
	Moved     bool          // it came there without an attempt
	Retention time.Duration // for how long its topic keeps it; 0: for ever
}

// Repark decides whether a record is moved to the tail of a topic, where it waits on:
// ActionRepark, or ActionHold where it stays. pressing is CauseWindow or CauseOffsets if
// that is to get rid of records, else CauseNone. horizon is how long before records are
// due a partition is read.
//
// No record is moved twice within leastRest.
func (rs Rests) Repark(w Waiting, pressing Cause, horizon time.Duration, now time.Time) Decision {
	for _, cause := range []Cause{CauseWait, CauseRetention, pressing} {
		if place := rs.target(w, cause, horizon, now); place > 0 {
			return Decision{Action: ActionRepark, Place: place, Cause: cause, NotBefore: w.NotBefore}
		}
	}
	return Decision{Action: ActionHold}
}

// target returns where a cause moves a record, or 0.
func (rs Rests) target(w Waiting, cause Cause, horizon time.Duration, now time.Time) int {
	here, remaining, age := rs.at(w.Place), w.NotBefore.Sub(now), max(0, now.Sub(w.Written))
	rested := age >= leastRest || !w.Moved
	switch {
	case cause == CauseWait && age >= here.rest() && remaining > here.Most:
		return rs.largest(remaining, 0)
	case cause == CauseRetention && w.Retention > 0 && age >= w.endangered():
		return rs.refuge(w.Place, remaining, horizon)
	case cause == CauseWindow && rested: // nothing is won where it would be read again soon
		return rs.largest(remaining, horizon+leastRest)
	case cause == CauseOffsets && rested:
		return rs.largest(remaining, 0)
	}
	return 0
}

// endangered is the age from which a record is moved to be kept.
func (w Waiting) endangered() time.Duration { return max(w.Retention/2, leastRest) }

// rest is how long a record stays there before it is moved on for its wait alone.
func (r Rest) rest() time.Duration { return max(r.Delay, leastRest) }

// at returns a place. Of a tier that is no longer configured only that is known, that
// its records wait for long if they wait for longer than in any that is.
func (rs Rests) at(place int) Rest {
	if place > 0 {
		return rs[place-1]
	}
	var retired Rest
	for _, r := range rs {
		retired.Most = max(retired.Most, r.Most)
	}
	return retired
}

// largest returns the place with the longest delay, other than 0, that is not longer
// than a wait, among those whose unread records wait for at least least; 0 if there is
// none.
func (rs Rests) largest(wait, least time.Duration) (place int) {
	best := time.Duration(0)
	for i, r := range rs {
		if r.Delay > best && r.Delay <= wait && r.Least >= least {
			place, best = i+1, r.Delay
		}
	}
	return place
}

// refuge returns where a record goes that its topic may lose: to the tail of the same
// tier, if a tail there is read in time; else, and from a park topic, to where its wait
// fits, or to where a tail is read soonest.
func (rs Rests) refuge(place int, remaining, horizon time.Duration) int {
	if place > 0 && !rs[place-1].Park && rs[place-1].Least <= max(remaining, horizon) {
		return place
	}
	if fits := rs.largest(remaining, 0); fits > 0 {
		return fits
	}
	for i, r := range rs {
		if r.Delay > 0 && (place == 0 || r.Least < rs[place-1].Least) {
			place = i + 1
		}
	}
	return place
}
