package tier

import (
	"time"

	"github.com/retryd/retryd/internal/policy"
	"github.com/retryd/retryd/internal/record"
)

// judge decides about an attempt that is judged for what it says. The POSTs that a record
// gets again in its place are counted in its job alone: after a restart, or with another
// owner of its partition, it gets as many again.
func (r *Relay) judge(j *job, judged record.State, o policy.Outcome, now time.Time) policy.Decision {
	if d, again := r.schedule.Again(judged, o, int(j.again)+1, now); again {
		j.again++
		j.claim.consumer.metrics.InPlace()
		return d
	}
	d := policy.Decide(r.schedule, judged, o, now, r.uniform())
	if d.Repeat {
		d = r.bound(j, d, now)
	}
	return d
}
