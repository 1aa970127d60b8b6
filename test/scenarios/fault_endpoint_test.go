package scenarios

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/retryd/retryd/test/harness"
)

// misbehaviour is an endpoint that answers the records whose event id begins with
// "bad" in its own way, and what becomes of these.
type misbehaviour struct {
	name     string
	answer   harness.Answer
	requests int               // per record
	headers  map[string]string // of the dead letter; nil: the record is accepted
}

var misbehaviours = []misbehaviour{
	{
		name:     "slow but in time",
		answer:   harness.Answer{Delay: time.Second},
		requests: 1,
	},
	{
		name:     "hangs",
		answer:   harness.Answer{Hang: true},
		requests: 3,
		headers:  map[string]string{"x-reason": "exhausted", "x-class": "transient", "x-error-kind": "timeout", "x-attempt": "3"},
	},
	{
		name:     "answers what is not HTTP",
		answer:   harness.Answer{Garbage: []byte("220 mail.example.com ESMTP\r\n\r\n")},
		requests: 2,
		headers:  map[string]string{"x-reason": "limited", "x-class": "unknown", "x-error-kind": "protocol", "x-limited": "2"},
	},
	{
		name:     "closes the connection without an answer",
		answer:   harness.Answer{CloseConnection: true},
		requests: 3,
		headers:  map[string]string{"x-reason": "exhausted", "x-class": "transient", "x-error-kind": "reset"},
	},
	{
		name:     "breaks off in the header of a response",
		answer:   harness.Answer{Garbage: []byte("HTTP/1.1 200 OK\r\nContent-Le")},
		requests: 3,
		headers:  map[string]string{"x-reason": "exhausted", "x-class": "transient", "x-error-kind": "reset"},
	},
	{
		name:     "breaks off in the body of a response",
		answer:   harness.Answer{Status: 200, Garbage: []byte("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")},
		requests: 1,
	},
	{
		name:     "sends a header without end",
		answer:   harness.Answer{Garbage: []byte("HTTP/1.1 200 OK\r\nX-Long: " + strings.Repeat("x", 1<<20))},
		requests: 2,
		headers:  map[string]string{"x-reason": "limited", "x-class": "unknown", "x-error-kind": "protocol"},
	},
}

// One daemon has a relay for each kind of endpoint: none disturbs another.
func TestMisbehavingEndpointEndsInTheRightClass(t *testing.T) {
	t.Parallel()
	addrs := suite.Kafka(t).Addrs()
	const each = 5
	chains := make([]*chain, len(misbehaviours))
	relays := make([]string, len(misbehaviours))
	for i, m := range misbehaviours {
		chains[i] = newChain(t, addrs, 2, m.plan, 200*time.Millisecond, 400*time.Millisecond)
		relays[i] = chains[i].relay("start: earliest", "endpoint.timeout: 3s", "endpoint.limited_attempts: 2")
	}
	d := suite.Daemon(t, configuration(addrs, debugLog, relays...))
	for _, c := range chains {
		c.write(t, append(records("bad", each), records("good", each)...)...)
	}
	for _, c := range chains {
		c.ledger.Close(t, c.endpoint, bound)
	}
	d.Stop(t)
	for i, m := range misbehaviours {
		t.Run(m.name, func(t *testing.T) { m.check(t, chains[i], each) })
	}
}

func (m misbehaviour) plan(r harness.Request) harness.Answer {
	if strings.HasPrefix(r.EventID, "bad") {
		return m.answer
	}
	return harness.Answer{}
}

// check holds what became of the bad records against what should have, each good
// one having been accepted at once.
func (m misbehaviour) check(t *testing.T, c *chain, each int) {
	report := c.account(t)
	if want := each * (1 + m.requests); report.Requests != want {
		t.Errorf("%d requests, want %d: %d for each bad record, one for each good one", report.Requests, want, m.requests)
	}
	dead := harness.ReadTopic(t, c.addrs, c.dlt())
	want := each
	if m.headers == nil {
		want = 0
	}
	if len(dead) != want {
		t.Errorf("%d dead letters, want %d", len(dead), want)
	}
	for _, letter := range dead {
		expectHeaders(t, letter, m.headers)
	}
}

// A response whose body never ends is judged by its status, and holds a worker for
// no longer than the endpoint's timeout.
func TestResponseBodyWithoutEndIsNotRead(t *testing.T) {
	tests := []struct {
		name  string
		chunk int           // bytes
		pause time.Duration // after each chunk
	}{
		{"flood", 64 << 10, 0},
		{"trickle", 1, 50 * time.Millisecond},
	}
	t.Parallel()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			const written = 20
			c := newChain(t, suite.Kafka(t).Addrs(), 2, nil, 200*time.Millisecond)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				c.endpoint.ServeHTTP(w, r)
				chunk := make([]byte, tt.chunk)
				for err := error(nil); err == nil; time.Sleep(tt.pause) { // until the client leaves
					if _, err = w.Write(chunk); err == nil {
						err = http.NewResponseController(w).Flush()
					}
				}
			}))
			t.Cleanup(server.Close)
			relay := c.relay("start: earliest", "endpoint.timeout: 1s")
			relay = strings.Replace(relay, c.endpoint.URL("/records"), server.URL+"/records", 1)
			d := suite.Daemon(t, configuration(c.addrs, debugLog, relay))
			c.write(t, records("r", written)...)
			if report := c.settle(t, d); report.Requests != written || report.Accepted != written {
				t.Errorf("%s, want every record accepted at once", report)
			}
		})
	}
}

func TestEndpointThatRefusesConnectionsGetsItsRecordsFromTheTiers(t *testing.T) {
	eachBroker(t, func(t *testing.T, addrs []string) {
		const written = 3
		c := newChain(t, addrs, 2, nil, 300*time.Millisecond, 6*time.Second)
		d := c.run(t)
		if err := c.endpoint.Down(); err != nil {
			t.Fatal(err)
		}
		c.write(t, records("r", written)...)
		harness.WaitFor(t, bound, "all records to be in the last tier", func() bool {
			return len(harness.ReadTopic(t, addrs, c.tier(2))) == written
		})
		if err := c.endpoint.Up(); err != nil {
			t.Fatal(err)
		}
		c.ledger.Close(t, c.endpoint, bound)
		d.Stop(t)
		report := c.ledger.Close(t, c.endpoint, 0)
		report.Check(t)
		if report.Accepted != written || report.Requests != written {
			t.Errorf("%s, want every record accepted by the first request that arrived", report)
		}
		for _, call := range c.endpoint.Accepted() {
			if call.Attempt != 3 {
				t.Errorf("%s was accepted at attempt %d, want 3", call.EventID, call.Attempt)
			}
		}
	})
}

// A wrong token is nobody's record: delivery pauses for 1 s, 2 s, 4 s, with one
// probe after each, and no record pays for it.
func TestEndpointThatRejectsEverythingIsProbedAndCostsNoAttempt(t *testing.T) {
	eachBroker(t, func(t *testing.T, addrs []string) {
		const written, inFlight = 30, 4
		var healthy atomic.Bool
		c := newChain(t, addrs, 2, func(harness.Request) harness.Answer {
			if healthy.Load() {
				return harness.Answer{}
			}
			return harness.Answer{Status: http.StatusUnauthorized}
		}, 200*time.Millisecond)
		d := c.run(t, fmt.Sprintf("endpoint.max_in_flight: %d", inFlight), "endpoint.breaker: {enabled: true}")
		c.write(t, records("r", written)...)

		awaitMetric(t, d, c.series("retryd_endpoint_paused"), 1)
		harness.WaitFor(t, bound, "two probes", func() bool { return len(probes(c.endpoint.Requests())) >= 2 })
		healthy.Store(true)
		report := c.settle(t, d)
		calls := c.endpoint.Requests()
		tried := probes(calls)
		rejected := inFlight + len(tried)
		if report.DeadLettered != 0 || report.Requests > rejected+written {
			t.Errorf("%s, want at most %d requests: %d at first, %d probes, then one for each record", report, rejected+written, inFlight, len(tried))
		}
		since := calls[0].Answered // the pause begins after the endpoint answered
		for i, probe := range tried[:2] {
			least := time.Second << i
			if gap := probe.Arrived.Sub(since); gap < least {
				t.Errorf("probe %d arrived %v after the answer that it waits for, want at least %v", i+1, gap, least)
			}
			since = probe.Answered
		}
		for _, call := range calls {
			if call.Attempt != 1 {
				t.Errorf("a request for %s is attempt %d, want 1: none was spent", call.EventID, call.Attempt)
			}
		}
	})
}

// probes returns the requests that came alone, after a pause.
func probes(calls []harness.Call) (alone []harness.Call) {
	const pause = 900 * time.Millisecond // shorter than any, longer than a burst
	for i := 1; i < len(calls); i++ {
		if calls[i].Arrived.Sub(calls[i-1].Arrived) >= pause {
			alone = append(alone, calls[i])
		}
	}
	return alone
}
