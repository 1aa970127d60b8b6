package policy

import (
	"fmt"
	"time"

	"github.com/retryd/retryd/internal/record"
)

const (
	maxInPlace      = 10
	maxInPlaceDelay = 10 * time.Second // for as long a record holds up the commits of its partition
)

// InPlace is how a first attempt gets over short hiccups: it may take several POSTs.
type InPlace struct {
	Attempts int           `mapstructure:"attempts"` // POSTs before the first hop, the first one included: 1 to 10; 1 is off
	Delay    time.Duration `mapstructure:"delay"`    // between them, without jitter
}

func (p InPlace) validate() []error {
	switch {
	case p.Attempts < 1 || p.Attempts > maxInPlace:
		return []error{fmt.Errorf("in_place.attempts: %d is outside 1 to %d; it counts the first POST, 1 is none more", p.Attempts, maxInPlace)}
	case p.Attempts == 1:
		return nil
	case p.Delay <= 0:
		return []error{fmt.Errorf("in_place.delay: %v is not positive; give the wait between the POSTs", p.Delay)}
	case p.Delay > maxInPlaceDelay:
		return []error{fmt.Errorf("in_place.delay: %v is too long; it is at most %v, longer waits are what tiers are for", p.Delay, maxInPlaceDelay)}
	}
	return nil
}

// Again decides whether a record that failed in its first attempt gets another POST
// where it is, as part of the same attempt: a hold until then. posts is how many it
// had there, this one included. One whose endpoint asks for a longer wait gets none.
func (s Schedule) Again(state record.State, o Outcome, posts int, now time.Time) (Decision, bool) {
	switch o.Treatment {
	case TreatDone, TreatHold, TreatStop, TreatThrottle, TreatDeadLetter, TreatReview:
		return Decision{}, false
	}
	if s.position(state.Attempt) > 0 || posts >= s.InPlace.Attempts || o.Wait > s.InPlace.Delay {
		return Decision{}, false
	}
	return Decision{Action: ActionHold, Delay: s.InPlace.Delay, NotBefore: ceilMilli(now.Add(s.InPlace.Delay))}, true
}
