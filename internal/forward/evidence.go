package forward

import (
	"math/bits"
	"slices"

	"github.com/retryd/retryd/internal/policy"
)

const (
	// maxStreak is how many different records must fail in a row, however far apart.
	maxStreak = 5
	// recentFirsts is over how many first attempts rejections are counted, and maxRejected
	// of them make the endpoint one that rejects everything.
	recentFirsts = 20
	maxRejected  = 19
	// recentCalls is within how many calls one must have been accepted for the endpoint to
	// count as one that accepts others.
	recentCalls = 20
)

// testimony is what one outcome says of the endpoint.
type testimony int

const (
	saysNothing testimony = iota // it says something about its record alone
	saysHealthy
	saysFailing
	saysWrong // an answer of class endpoint
)

// testimonyOf reads an outcome. When only poison is left every attempt fails on a healthy
// endpoint, so the status or the timeout of a later attempt tells of its record; that of
// a first attempt, and a connection that cannot be had at all, tell of the endpoint. Where
// health can be asked, which settles that, every failure is worth asking.
func testimonyOf(o *policy.Outcome, first, canAsk bool) testimony {
	switch {
	case o.Treatment == policy.TreatHold || o.Treatment == policy.TreatStop:
		return saysWrong
	case o.Unreached: // whatever a rule makes of it
		return saysFailing
	case o.Delivered() || o.Status/100 == 2:
		return saysHealthy
	case o.Spoken, verdictOnRecord(o):
		return saysNothing
	case o.Treatment != policy.TreatThrottle && (first || canAsk):
		return saysFailing
	}
	return saysNothing
}

// verdictOnRecord reports whether an endpoint that works has answered, and found its record
// wanting.
func verdictOnRecord(o *policy.Outcome) bool {
	return o.Treatment == policy.TreatDeadLetter || o.Treatment == policy.TreatReview
}

// evidence is what the outcomes since the breaker closed say together. The zero value is
// none.
type evidence struct {
	streak   []string // the last records that failed in a row, each once
	rejected uint32   // of the last first attempts, the newest in the lowest bit
	silent   int      // calls since the last that was accepted
	accepted uint64   // calls that were, in all
}

// note takes one call into account.
func (e *evidence) note(o *policy.Outcome, record string, first bool, says testimony) {
	if first && !o.Spoken && o.Treatment != policy.TreatThrottle {
		e.rejected <<= 1
		if o.Treatment == policy.TreatDeadLetter {
			e.rejected |= 1
		}
	}
	e.silent++
	switch says {
	case saysHealthy:
		e.silent, e.streak = 0, e.streak[:0]
		e.accepted++
	case saysFailing:
		if len(e.streak) < maxStreak && !slices.Contains(e.streak, record) {
			e.streak = append(e.streak, record)
		}
	}
}

// clear forgets what led to an opening, once the endpoint is healthy again.
func (e *evidence) clear() {
	e.streak, e.rejected, e.silent = e.streak[:0], 0, 0
}

// inARow reports whether enough different records have failed in a row.
func (e *evidence) inARow() bool { return len(e.streak) >= maxStreak }

// rejecting reports whether nearly all of the last first attempts were rejected.
func (e *evidence) rejecting() bool {
	return bits.OnesCount32(e.rejected&(1<<recentFirsts-1)) >= maxRejected
}

// accepting reports whether the endpoint accepts others.
func (e *evidence) accepting() bool { return e.accepted > 0 && e.silent < recentCalls }
