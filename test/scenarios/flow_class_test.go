package scenarios

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retryd/retryd/test/harness"
)

// verdicts maps what the endpoint answers to each record, by event id, to what
// becomes of it. Every record has two tiers before it.
var verdicts = []struct {
	id       string
	statuses []int // of its attempts, in turn; the last one for all others
	want     ending
}{
	{"bad-request", []int{400}, ending{1, "rejected", "invalid", "400"}},
	{"gone", []int{410}, ending{1, "rejected", "invalid", "410"}},
	{"too-large", []int{413}, ending{1, "rejected", "invalid", "413"}},
	{"unprocessable", []int{422}, ending{1, "rejected", "invalid", "422"}},
	{"conflict", []int{409}, ending{1, "conflict", "conflict", "409"}},
	{"precondition", []int{412}, ending{1, "conflict", "conflict", "412"}},
	{"error", []int{500}, ending{3, "limited", "unknown", "500"}},
	{"not-built", []int{501}, ending{3, "limited", "unknown", "501"}},
	{"unavailable", []int{503}, ending{5, "exhausted", "transient", "503"}},
	{"timeout", []int{504}, ending{5, "exhausted", "transient", "504"}},
	{"mixed", []int{500, 503, 500, 503, 500}, ending{5, "limited", "unknown", "500"}},
	{"late-verdict", []int{503, 422}, ending{2, "rejected", "invalid", "422"}},
	{"recovers", []int{503, 500, 204}, ending{3, "", "", ""}},
}

// ending is how a record ended: after how many attempts, and the headers of its
// dead letter, none if it was accepted.
type ending struct {
	Attempts              int
	Reason, Class, Status string
}

func TestAnswersDecideWhatBecomesOfARecord(t *testing.T) {
	eachBroker(t, func(t *testing.T, addrs []string) {
		c := newChain(t, addrs, 1, verdict, 0, 0, 0, 0)
		want := map[string]ending{}
		for _, v := range verdicts {
			want[v.id] = v.want
			c.write(t, harness.Record{ID: v.id, Value: []byte(v.id)})
		}
		d := c.run(t)
		c.settle(t, d)

		got := map[string]ending{}
		for _, call := range c.endpoint.Requests() {
			e := got[call.EventID]
			e.Attempts++
			got[call.EventID] = e
		}
		for _, letter := range harness.ReadTopic(t, addrs, c.dlt()) {
			id := header(t, letter, "x-event-id")
			got[id] = ending{got[id].Attempts, header(t, letter, "x-reason"), header(t, letter, "x-class"), header(t, letter, "x-status")}
			expectHeaders(t, letter, map[string]string{"x-attempt": fmt.Sprint(got[id].Attempts)})
			if limited := headerValues(letter, "x-limited"); want[id].Reason == "limited" && (len(limited) != 1 || limited[0] != "3") {
				t.Errorf("%s: x-limited is %q, want 3", id, limited)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("endings (-want +got):\n%s", diff)
		}
	})
}

func verdict(r harness.Request) harness.Answer {
	for _, v := range verdicts {
		if v.id == r.EventID {
			return harness.Answer{Status: v.statuses[min(r.Attempt, len(v.statuses))-1]}
		}
	}
	return harness.Answer{}
}

// pauseLeast is well over the time in which first attempts that are in flight
// together arrive, and no longer than the shortest pause of an endpoint.
const pauseLeast = 900 * time.Millisecond

// TestWrongEndpointHoldsEverything answers with what says that the endpoint or the
// configuration is wrong, until the endpoint is healthy.
func TestWrongEndpointHoldsEverything(t *testing.T) {
	statuses := []int{http.StatusNotFound, http.StatusUnauthorized, http.StatusFound}
	eachBroker(t, func(t *testing.T, addrs []string) {
		var healthy atomic.Bool
		var chains []*chain
		var relays []string
		for _, status := range statuses {
			c := newChain(t, addrs, 1, func(harness.Request) harness.Answer {
				if healthy.Load() {
					return harness.Answer{}
				}
				return harness.Answer{Status: status}
			}, 0)
			c.write(t, records("held", 20)...)
			chains, relays = append(chains, c), append(relays, c.relay("start: earliest"))
		}
		d := suite.Daemon(t, configuration(addrs, debugLog, relays...))
		for i, c := range chains {
			// More than one: after the pause a probe finds the endpoint unchanged.
			harness.WaitFor(t, bound, fmt.Sprintf("a probe of status %d", statuses[i]), func() bool {
				calls := c.endpoint.Requests()
				return len(calls) > 1 && calls[len(calls)-1].Arrived.Sub(calls[0].Arrived) > pauseLeast
			})
			if got := metric(t, d, c.series("retryd_endpoint_paused")); got != 1 {
				t.Errorf("status %d: retryd_endpoint_paused is %v, want 1", statuses[i], got)
			}
			held := c.series("retryd_deliveries_total", `class="endpoint"`, `outcome="held"`, `tier="main"`)
			if got := metric(t, d, held); got < 1 {
				t.Errorf("status %d: %s is %v", statuses[i], held, got)
			}
			for _, topic := range c.topics()[1:] {
				if n := len(harness.ReadTopic(t, addrs, topic)); n > 0 {
					t.Errorf("status %d: %d records in %s, want all of them held", statuses[i], n, topic)
				}
			}
		}
		healthy.Store(true)
		for i, c := range chains {
			report := c.ledger.Close(t, c.endpoint, bound)
			if report.Accepted != 20 || report.DeadLettered != 0 {
				t.Errorf("status %d: %s, want 20 accepted", statuses[i], report)
			}
			awaitMetric(t, d, c.series("retryd_endpoint_paused"), 0)
		}
		d.Stop(t)
		for _, c := range chains {
			c.account(t) // no attempt was spent
			for _, call := range c.endpoint.Requests() {
				if call.Attempt != 1 {
					t.Errorf("attempt %d of %s, want only first ones", call.Attempt, call.EventID)
				}
			}
		}
	})
}
