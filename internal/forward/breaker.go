package forward

import (
	"errors"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/retryd/retryd/internal/policy"
)

// What a call is to the breaker: nil is a success.
var (
	errFailed     = errors.New("failed")
	errNoEvidence = errors.New("says nothing about the endpoint")
)

// newBreaker returns the library's breaker, which keeps the states and lets one probe
// through. What opens it and when it is probed, the gate says: it hears of no failure but
// the one that opens it.
func newBreaker() *gobreaker.TwoStepCircuitBreaker[struct{}] {
	return gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		MaxRequests:  1,
		Timeout:      1, // the gate knows when the next probe is due
		IsSuccessful: func(err error) bool { return err == nil },
		IsExcluded:   func(err error) bool { return errors.Is(err, errNoEvidence) },
		ReadyToTrip:  func(gobreaker.Counts) bool { return true },
	})
}

// manyFail reports whether the share of failures is too high. mu is held.
func (g *Gate) manyFail() bool {
	all, failed := g.calls.sum()
	return all >= g.minCalls && float64(failed) >= g.share*float64(all)
}

// Call is whose attempt it was.
type Call struct {
	Record   string    // its event id
	First    bool      // none of its attempts was judged before
	Refusals *Refusals // of the record, kept with it while it waits
}

// Refusals are answers about the endpoint that a record got, each with a success of
// another record since the one before. The zero value is none.
type Refusals struct {
	count    int
	accepted uint64 // successes in all, as of the last
}

// Ruling says what an outcome may be taken for.
type Ruling int

// The rulings.
const (
	Judge Ruling = iota // for what it says
	Hold                // for nothing: the record waits where it is, no attempt is spent
	Blame               // for a fault of the record, since the endpoint accepts others
)

// doubtPause is how long a record waits that got an answer about the endpoint while that
// accepts others, until it is tried once more.
const doubtPause = time.Second

// Leave hands a pass back with what came of the attempt, which is only read, and was over
// at now. again is for how long a record that is held waits at least.
func (g *Gate) Leave(p Pass, c Call, o *policy.Outcome, now time.Time) (r Ruling, again time.Duration) {
	g.mu.Lock()
	defer g.unlock()
	g.release(p, o.Unreached)
	switch {
	case g.Stale(p): // it tells of a time before the last change
		r = Hold
	case p.Probe:
		g.probed(p, c, o, now)
		r = Hold
	default:
		g.note429(p, o, now)
		r, again = g.hear(c, o, now)
	}
	if o.Delivered() {
		return Judge, 0
	}
	return r, again
}

// hear takes what an attempt through the closed breaker says. mu is held.
func (g *Gate) hear(c Call, o *policy.Outcome, now time.Time) (Ruling, time.Duration) {
	says := testimonyOf(o, c.First, g.asks)
	if says == saysFailing && !o.Unreached && now.Before(g.trusted) {
		says = saysNothing
	}
	g.evidence.note(o, c.Record, c.First, says)
	cause, opens := causeOf(o, says), false
	switch {
	case o.Treatment == policy.TreatStop: // the relay is halted for it
		return Hold, doubtPause
	case says == saysWrong:
		if blamed := g.refuse(c, o); blamed {
			return Blame, 0
		}
		if o.Doubtful && g.evidence.accepting() {
			return Hold, doubtPause
		}
		opens = true
	case g.judges && g.evidence.rejecting():
		opens, cause = true, policy.FaultRejecting
	}
	if says == saysHealthy || says == saysFailing {
		g.calls.add(now, says == saysFailing)
	}
	if says == saysFailing && g.judges && (g.evidence.inARow() || g.manyFail()) {
		opens = true
	}
	if !opens {
		return Judge, 0
	}
	g.open(cause, o, now)
	return Hold, 0
}

// refuse counts an answer about the endpoint against its record, where that had one
// before and the endpoint has accepted another record since. It reports whether the
// record is to be blamed. mu is held.
func (g *Gate) refuse(c Call, o *policy.Outcome) bool {
	n := c.Refusals
	if n.count == 0 || g.evidence.accepted > n.accepted {
		n.count++
		n.accepted = g.evidence.accepted
	}
	enough := max(2, g.limited)
	if o.Doubtful {
		enough = 2
	}
	return n.count >= enough
}

// causeOf returns what an outcome makes of a breaker that it opens or keeps open.
func causeOf(o *policy.Outcome, says testimony) policy.Fault {
	switch {
	case says == saysWrong:
		return policy.FaultEndpoint
	case says != saysFailing:
		return policy.FaultNone
	case o.Unreached:
		return policy.FaultUnreachable
	}
	return policy.FaultFailing
}
