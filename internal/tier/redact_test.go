package tier

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retryd/retryd/internal/forward"
	"github.com/retryd/retryd/internal/policy"
	"github.com/retryd/retryd/internal/redact"
)

// TestHiddenErrorIsInNoText: x-error can be hidden like any header, wherever the same
// text is shown.
func TestHiddenErrorIsInNoText(t *testing.T) {
	refused := policy.Outcome{Verdict: policy.VerdictOf(policy.ClassTransient), Kind: policy.KindRefused, Error: "concealed"}
	synctest.Test(t, func(t *testing.T) {
		r, logs := observed(t)
		r.relay.hide = redact.Config{Headers: []string{"X-Error"}}.Rules(nil)
		r.relay.config.Endpoint.Breaker.Enabled = false // else that alone tells of the endpoint
		for range manyUnanswered {
			r.relay.noteAnswer(refused)
		}
		unreachable := fmt.Sprint(r.relay.Status().Problems) // which a pause ends
		r.relay.gateChanged(forward.State{Phase: policy.PhaseOpen, Cause: policy.FaultEndpoint, Until: time.Now().Add(time.Second), Error: "concealed"})
		j := &job{claim: r.claim}
		r.consumer.account(j, &attempted{outcome: refused, at: time.Now()}, new(policy.Decision))
		s := r.relay.Status()
		said := fmt.Sprint(unreachable, s.Problems, s.LastError.Text, lines(logs))
		if strings.Contains(said, "concealed") || strings.Count(said, redact.Mask) != 6 {
			t.Errorf("want six places, each redacted: %s", said)
		}
	})
}
