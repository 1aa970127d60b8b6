package scenarios

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/retryd/retryd/test/harness"
)

// One record gets what tells of a wrong endpoint, while that accepts all others: it is the
// record's own fault then, and no reason to leave the endpoint alone for good.
func TestRecordIsToBlameForWhatItAloneGets(t *testing.T) {
	for _, tt := range []struct {
		status        int
		least, most   int // requests for the record: it may be probed with before another one is accepted
		reason, class string
	}{
		{http.StatusNotFound, 2, 4, "rejected", "invalid"},
		{http.StatusUnauthorized, 3, 12, "limited", "endpoint"},
	} {
		t.Run(fmt.Sprint(tt.status), func(t *testing.T) {
			t.Parallel()
			c := newChain(t, embedded(t), 2, func(r harness.Request) harness.Answer {
				if r.EventID == "blamed" {
					return harness.Answer{Status: tt.status}
				}
				return harness.Answer{}
			}, time.Second)
			d := c.run(t, "endpoint.breaker: {ramp: 0s}")
			c.write(t, records("before", 10)...)
			c.awaitAccepted(t, 10)
			c.write(t, harness.Record{ID: "blamed", Value: []byte("v")})
			accepted := 10
			harness.WaitFor(t, bound, "the record to be a dead letter", func() bool {
				c.write(t, records(fmt.Sprint("beside-", accepted), 1)...)
				accepted++
				time.Sleep(100 * time.Millisecond) // at a pace, not for a result
				return len(harness.ReadTopic(t, c.addrs, c.dlt())) == 1
			})
			report := c.settle(t, d)
			if n := report.Requests - accepted; report.DeadLettered != 1 || n < tt.least || n > tt.most {
				t.Errorf("%s, of which %d requests are for the record that is to blame, want %d to %d", report, n, tt.least, tt.most)
			}
			expectHeaders(t, harness.ReadTopic(t, c.addrs, c.dlt())[0], map[string]string{
				"x-reason": tt.reason, "x-class": tt.class, "x-status": fmt.Sprint(tt.status), "x-attempt": "1",
			})
		})
	}
}
