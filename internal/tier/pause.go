package tier

import (
	"fmt"
	"time"

	"github.com/retryd/retryd/internal/policy"
)

// noteRefusal keeps what the endpoint said when it refuses everything, since the gate
// knows only the class of it.
func (r *Relay) noteRefusal(o policy.Outcome) {
	if o.Class == policy.ClassEndpoint || o.Class == policy.ClassThrottled {
		said := o.Error // alone: o would be moved to the heap for every attempt
		r.refusal.Store(&said)
	}
}

// paused makes the gate's state known: for how long the endpoint is left alone and
// why, 0 when delivery goes on. It is called with the gate locked. A pause that
// follows another is the same trouble, and only its end moves.
func (r *Relay) paused(d time.Duration, cause policy.Class) {
	r.metrics.EndpointPaused(d > 0)
	if d == 0 {
		r.over(kindPause, r.reach.endpoint)
		return
	}
	until := time.Now().Add(d).UTC().Format(time.TimeOnly)
	r.tell(trouble{
		kind: kindPause, of: r.reach.endpoint, passing: true,
		why: fmt.Sprintf("delivery pauses until %s UTC, no attempt is spent: %s", until, r.whyPaused(cause)),
	})
}

func (r *Relay) whyPaused(cause policy.Class) string {
	why := "the endpoint or its configuration is wrong, not the record; correct the endpoint, its credentials or endpoint.url"
	if cause == policy.ClassThrottled {
		why = "the endpoint asks for fewer requests"
	}
	if said := r.refusal.Load(); said != nil {
		return *said + ": " + why
	}
	return why
}
