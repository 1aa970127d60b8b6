package tier

import (
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/retryd/retryd/internal/forward"
	"github.com/retryd/retryd/internal/logging"
	"github.com/retryd/retryd/internal/policy"
	"github.com/retryd/retryd/internal/record"
)

// gateChanged makes the gate's state known. It is called with the gate locked. A pause
// that follows another is the same trouble, and only its end moves.
func (r *Relay) gateChanged(s forward.State) {
	s.Error = r.hide.Text(record.HeaderError, s.Error)
	r.metrics.Gate(s.Phase, s.Cause)
	r.log.Debug("circuit breaker", zap.String("state", string(s.Phase)), zap.String("cause", string(s.Cause)), zap.String(logging.FieldError, s.Error))
	switch {
	case !s.Paused():
		r.over(kindPause, r.reach.endpoint)
	case s.Phase != policy.PhaseHalfOpen && !r.isHalted.Load(): // else it goes on, is over at once, or of no interest
		r.drop(kindEndpoint, r.reach.origin) // which says that attempts are used up
		r.tell(trouble{kind: kindPause, of: r.reach.endpoint, passing: true, why: whyPaused(s)})
		r.tellOtherFault(s)
	}
	r.pausedFor = s.Cause
}

// tellOtherFault logs that a pause goes on for another reason than it began for.
func (r *Relay) tellOtherFault(s forward.State) {
	const line = "delivery still pauses, for another reason"
	if r.pausedFor == policy.FaultNone || r.pausedFor == s.Cause {
		return
	}
	if n, ok := r.allow(line, r.reach.endpoint, false, time.Now()); ok {
		r.log.Warn(line, zap.String("endpoint", r.reach.endpoint), zap.String(logging.FieldError, whyPaused(s)), logging.Suppressed(n))
	}
}

func whyPaused(s forward.State) string {
	until := s.Until.UTC().Format(time.TimeOnly)
	return fmt.Sprintf("delivery pauses until %s UTC, no attempt is spent: %s: %s", until, s.Error, mend(s.Cause))
}

// mend says what a person can do about a pause.
func mend(c policy.Fault) string {
	switch c {
	case policy.FaultUnreachable:
		return "the endpoint cannot be reached; start it, or correct endpoint.url"
	case policy.FaultFailing:
		return "the endpoint fails whatever it gets; mend it"
	case policy.FaultRejecting:
		return "the endpoint rejects nearly every record, as after a wrong deployment; correct it, or endpoint.url; what it has rejected is in the dead-letter topic"
	case policy.FaultThrottled:
		return "the endpoint asks for fewer requests; endpoint.rate sets a limit"
	}
	return "the endpoint or its configuration is wrong, not the record; correct the endpoint, its credentials or endpoint.url"
}

// measureGate exports what the gate's limits are, and counts the time of a tick for what
// it has kept back in that.
func (r *Relay) measureGate(now time.Time) {
	r.gate.Look(now)
	limit, by := r.gate.Limiting(now)
	r.metrics.Limit(limit)
	if by != policy.LimitNone && r.turns.keptBack() {
		r.metrics.Limiting(by, tickInterval)
	}
	if r.gate.Open() {
		r.metrics.BreakerOpen(tickInterval)
	}
}
