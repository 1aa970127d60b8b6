package tier

import (
	"fmt"
	"net/url"
	"sync"
	"sync/atomic"

	"github.com/retryd/retryd/internal/forward"
	"github.com/retryd/retryd/internal/policy"
	"github.com/retryd/retryd/internal/record"
)

// manyUnanswered is how many attempts in a row must have had no answer before that
// is a trouble: fewer may be a restart.
const manyUnanswered = 5

// reach follows whether the endpoint answers at all.
type reach struct {
	endpoint, origin string // as people may see them: without query and credentials, and without path

	unanswered atomic.Int32 // attempts in a row; written under mu
	mu         sync.Mutex   // so that the counter and the trouble agree
}

// display returns how people may see the endpoint's URL, which forward.New has taken.
func display(raw string) (endpoint, origin string) {
	endpoint = forward.WithoutQuery(raw)
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" { // a socket has a path alone
		return endpoint, endpoint
	}
	return endpoint, u.Scheme + "://" + u.Host
}

// noteAnswer tells what an attempt says of the endpoint's reach. Any answer shows
// that it can be reached, whatever it says.
func (r *Relay) noteAnswer(o policy.Outcome) {
	if answered(o) {
		if r.reach.unanswered.Load() > 0 {
			r.endpointAnswers()
		}
		return
	}
	r.reach.mu.Lock()
	defer r.reach.mu.Unlock()
	if r.reach.unanswered.Add(1) < manyUnanswered {
		return
	}
	r.metrics.EndpointUnreachable(true)
	if r.gate.Open() {
		return // which tells why
	}
	r.tell(trouble{
		kind: kindEndpoint, of: r.reach.origin, passing: true,
		why: fmt.Sprintf("endpoint %s gives no answer: %s; start it, or correct endpoint.url: its records use up their attempts", r.reach.endpoint, r.hide.Text(record.HeaderError, o.Error)),
	})
}

func (r *Relay) endpointAnswers() {
	r.reach.mu.Lock()
	defer r.reach.mu.Unlock()
	r.reach.unanswered.Store(0)
	r.metrics.EndpointUnreachable(false)
	r.over(kindEndpoint, r.reach.origin)
}

// answered reports whether an attempt got a response, if only a garbled one.
func answered(o policy.Outcome) bool {
	switch o.Kind {
	case policy.KindRefused, policy.KindReset, policy.KindDNS, policy.KindTLS, policy.KindTimeout:
		return false
	default:
		return true
	}
}
