package scenarios

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retryd/retryd/test/harness"
)

// first answers the first so many requests for each record with a status.
func first(n, status int) harness.Plan {
	var mu sync.Mutex
	seen := map[string]int{}
	return func(r harness.Request) harness.Answer {
		mu.Lock()
		defer mu.Unlock()
		if seen[r.EventID]++; seen[r.EventID] <= n {
			return harness.Answer{Status: status}
		}
		return harness.Answer{}
	}
}

func TestThrottledRecordWaitsInATierAndSpendsNoAttempt(t *testing.T) {
	t.Parallel()
	const delay = 2 * time.Second
	c := newChain(t, embedded(t), 1, first(2, http.StatusTooManyRequests), delay)
	c.write(t, records("busy", 1)...)
	d := c.run(t)
	c.ledger.Close(t, c.endpoint, bound)
	if n := metric(t, d, c.series("retryd_throttled_records_total")); n != 2 {
		t.Errorf("retryd_throttled_records_total is %v, want 2", n)
	}
	d.Stop(t)
	c.ledger.Close(t, c.endpoint, 0).Check(t)

	calls := c.endpoint.Requests()
	if len(calls) != 3 {
		t.Fatalf("%d requests, want 3", len(calls))
	}
	hops := harness.ReadTopic(t, c.addrs, c.tier(1))
	if len(hops) != 2 || len(harness.ReadTopic(t, c.addrs, c.dlt())) != 0 {
		t.Fatalf("%d hops, want 2 and no dead letter", len(hops))
	}
	began := headerTime(t, hops[0], "x-first-failure-at")
	for i, hop := range hops {
		expectHeaders(t, hop, map[string]string{"x-attempt": "0", "x-class": "throttled", "x-status": "429"})
		due := headerTime(t, hop, "x-not-before")
		if wait := due.Sub(hop.Timestamp); wait < delay || wait > delay+time.Millisecond {
			t.Errorf("hop %d waits %v, want the tier's %v to the millisecond", i, wait, delay)
		}
		if at := headerTime(t, hop, "x-first-failure-at"); !at.Equal(began) {
			t.Errorf("hop %d: x-first-failure-at %v, want %v", i, at, began)
		}
		if trace := header(t, hop, "x-trace"); strings.Contains(trace, ">") || !strings.Contains(trace, "~"+c.tier(1)+"@") {
			t.Errorf("hop %d: x-trace %s, want moves alone", i, trace)
		}
		if next := calls[i+1]; next.Arrived.Before(due) || next.Attempt != 1 {
			t.Errorf("attempt %d at %v, want 1, not before %v", next.Attempt, next.Arrived, due)
		}
	}
}

// TestWaitThatTheEndpointAsksForIsHonoured to the millisecond: through a tier that is
// shorter, and into the park topic that is for such waits.
func TestWaitThatTheEndpointAsksForIsHonoured(t *testing.T) {
	t.Parallel()
	asks := map[string]struct {
		status int
		wait   time.Duration
		mark   string // of the hop
	}{
		"throttled":   {http.StatusTooManyRequests, 3 * time.Second, "~"},
		"unavailable": {http.StatusServiceUnavailable, 2 * time.Second, ">"},
		"parked":      {http.StatusTooManyRequests, 10 * time.Minute, "~"},
	}
	c := newChain(t, embedded(t), 1, func(r harness.Request) harness.Answer {
		name, _, _ := strings.Cut(r.EventID, "-")
		if ask := asks[name]; r.Header.Get("Retryd-First-Failure-At") == "" {
			return harness.Answer{Status: ask.status, Header: http.Header{"Retry-After": {fmt.Sprint(ask.wait.Seconds())}}}
		}
		return harness.Answer{}
	}, 500*time.Millisecond)
	c.ledger = harness.NewLedger(t, c.addrs, []harness.Tier{{Topic: c.tier(1)}, {Topic: c.parked("1m")}}, c.dlt())
	for name := range asks {
		c.write(t, records(name, 1)...)
	}
	d := c.run(t, "park: [1m]", "endpoint.breaker: {enabled: false}")
	harness.WaitFor(t, bound, "the short waits to be over", func() bool {
		_, accepted := c.endpoint.Counts()
		return accepted == 2 && len(harness.ReadTopic(t, c.addrs, c.parked("1m"))) == 1
	})
	d.Stop(t)
	report := c.ledger.Close(t, c.endpoint, 0)
	report.Lost = nil // the one that is parked
	report.Check(t)

	for _, topic := range []string{c.tier(1), c.parked("1m")} {
		for _, hop := range harness.ReadTopic(t, c.addrs, topic) {
			id := header(t, hop, "x-event-id")
			name, _, _ := strings.Cut(id, "-")
			ask, due := asks[name], headerTime(t, hop, "x-not-before")
			if wait := due.Sub(hop.Timestamp); wait < ask.wait || wait > ask.wait+time.Millisecond {
				t.Errorf("%s waits %v, want %v to the millisecond", name, wait, ask.wait)
			}
			if parked := topic != c.tier(1); parked != (name == "parked") || !strings.Contains(header(t, hop, "x-trace"), ask.mark+topic+"@") {
				t.Errorf("%s waits in %s, its x-trace is %s", name, topic, header(t, hop, "x-trace"))
			}
			for _, call := range c.endpoint.Requests() {
				if call.EventID == id && call.Header.Get("Retryd-First-Failure-At") != "" && call.Arrived.Before(due) {
					t.Errorf("%s arrived at %v, before %v", name, call.Arrived, due)
				}
			}
		}
	}
}

func TestFirstAttemptIsMadeInPlaceUpToItsBound(t *testing.T) {
	t.Parallel()
	const most, apart = 3, 200 * time.Millisecond
	c := newChain(t, embedded(t), 1, func(r harness.Request) harness.Answer {
		if strings.HasPrefix(r.EventID, "bad") {
			return harness.Answer{Status: http.StatusServiceUnavailable}
		}
		return harness.Answer{}
	}, 100*time.Millisecond)
	c.write(t, records("bad", 1)...)
	d := c.run(t, fmt.Sprintf("in_place: {attempts: %d, delay: %v}", most, apart), "endpoint.breaker: {enabled: false}")
	c.ledger.Close(t, c.endpoint, bound)
	if n := metric(t, d, c.series("retryd_in_place_retries_total", `tier="main"`)); n != most-1 {
		t.Errorf("retryd_in_place_retries_total is %v, want %d", n, most-1)
	}
	d.Stop(t)
	c.ledger.Close(t, c.endpoint, 0).Check(t)

	var attempts []int
	calls := c.endpoint.Requests()
	for i, call := range calls {
		attempts = append(attempts, call.Attempt)
		if i > 0 && call.Attempt == 1 && call.Arrived.Sub(calls[i-1].Answered) < apart {
			t.Errorf("request %d came %v after the answer, want %v at least", i, call.Arrived.Sub(calls[i-1].Answered), apart)
		}
	}
	if diff := cmp.Diff([]int{1, 1, 1, 2}, attempts); diff != "" {
		t.Errorf("attempts (-want +got):\n%s", diff)
	}
	expectHeaders(t, c.only(t, c.dlt()), map[string]string{"x-attempt": "2", "x-reason": "exhausted"})
}

// TestLastTierIsRepeatedWithinItsBound: what has repeated often gets through once the
// endpoint is well, and of more than may repeat the rest is dead-lettered. One more may
// be: a record whose write is under way can count twice where another one fails.
func TestLastTierIsRepeatedWithinItsBound(t *testing.T) {
	t.Parallel()
	const most, more = 5, 3
	c := newChain(t, embedded(t), 1, first(6, http.StatusServiceUnavailable), time.Second)
	c.write(t, records("repeat", most+more)...)
	d := c.run(t, "on_exhausted: repeat_last", fmt.Sprintf("max_unfinished: %d", most), "endpoint.breaker: {enabled: false}")
	c.ledger.Close(t, c.endpoint, bound)
	repeats := metric(t, d, c.series("retryd_repeats_total"))
	d.Stop(t)
	report := c.ledger.Close(t, c.endpoint, 0)
	report.Check(t)

	if report.Accepted+report.DeadLettered != most+more || report.Accepted < most-1 {
		t.Errorf("%s, want %d records, at least %d of them accepted", report, most+more, most-1)
	}
	if repeats < 5*(most-1) {
		t.Errorf("%v repeats, want 5 of each record that was accepted", repeats)
	}
	for _, hop := range harness.ReadTopic(t, c.addrs, c.tier(1)) {
		expectHeaders(t, hop, map[string]string{"x-attempt": "1"})
	}
	for _, letter := range harness.ReadTopic(t, c.addrs, c.dlt()) {
		expectHeaders(t, letter, map[string]string{"x-attempt": "2", "x-reason": "exhausted"})
	}
	for _, call := range c.endpoint.Requests() {
		if call.Attempt > 2 {
			t.Errorf("attempt %d, want the last one again", call.Attempt)
		}
	}
}
