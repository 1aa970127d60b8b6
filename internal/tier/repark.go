package tier

import (
	"errors"
	"math"
	"time"

	"github.com/retryd/retryd/internal/kafka"
	"github.com/retryd/retryd/internal/policy"
)

// reparkPause is how long a record stays at least where it is after a write that was to
// move it failed. It may have been written: each further try may make a copy.
const reparkPause = time.Minute

// repark returns the move of a held record to the tail of a topic, or nil if it stays
// where it is. pressing is as in policy.Rests.Repark. A main record is never moved.
//
// The caller lets the record out as for any move: note, startMove, send. It comes back by
// complete, or by giveBack without a move. This takes no lock: it may be called under the
// claim's mu.
func (r *Relay) repark(j *job, now time.Time, pressing policy.Cause) *move {
	d := r.decideRepark(j, now, pressing)
	if d.Action != policy.ActionRepark {
		return nil
	}
	to := r.routes.Load().target(d)
	return &move{decision: d, to: to, at: now, state: policy.Repark(j.state, to.topic, now)}
}

// decideRepark is the decision that repark acts on, which a sweep asks for of all that
// is held.
func (r *Relay) decideRepark(j *job, now time.Time, pressing policy.Cause) policy.Decision {
	if j.claim.consumer.source.main() || j.move != nil || j.stays > now.UnixMilli() || r.routes.Load() == nil {
		return policy.Decision{Action: policy.ActionHold}
	}
	return r.rests.Repark(r.waiting(j), pressing, r.deps.Window.Horizon, now)
}

// waiting is a held record as the policy sees it.
func (r *Relay) waiting(j *job) policy.Waiting {
	src := j.claim.consumer.source
	return policy.Waiting{
		Place: src.place, NotBefore: j.state.NotBefore, Written: j.record.Timestamp,
		Moved: j.state.Trace.Moved(), Retention: r.retention(src),
	}
}

// stays takes back a record whose re-park was not acknowledged: it is delivered from
// where it is, if it is not moved before. One that does not fit is not tried again; it
// is no reason for a dead letter, since no attempt needs that write.
func (r *Relay) stays(j *job, err error) {
	r.warn("record cannot be moved to the tail of a topic, it waits where it is", j.move.to.topic, err)
	now := time.Now()
	until := now.Add(reparkPause).UnixMilli()
	if errors.Is(err, kafka.ErrTooLarge) {
		until = math.MaxInt64
	}
	j.claim.unjudged(j, until)
	j.claim.giveBack(j, now)
}

// unjudged takes back a move that need not be made; the record is not re-parked before
// an epoch millisecond.
func (c *claim) unjudged(j *job, until int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.count(j.move, -1)
	j.move, j.stays = nil, until
}
