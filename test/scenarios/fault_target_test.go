package scenarios

import (
	"net/http"
	"strings"
	"testing"

	"github.com/retryd/retryd/test/harness"
)

// The dead-letter topic is deleted, and nobody makes it again; records that fail go
// through both tiers all the same.
func TestMissingTargetTopicHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	const (
		partitions = 6
		dead       = 90 * partitions // more than a topic may have unacknowledged, and less than makes a partition stop
		retried    = 200
	)
	addrs := suite.Kafka(t).Addrs()
	c := newChain(t, addrs, partitions, func(r harness.Request) harness.Answer {
		switch {
		case strings.HasPrefix(r.EventID, "dead"):
			return harness.Answer{Status: http.StatusUnprocessableEntity}
		case r.Attempt < 3:
			return harness.Answer{Status: http.StatusServiceUnavailable}
		}
		return harness.Answer{}
	}, 0, 0)
	c.createAll(t, partitions)
	createControl(t, addrs)
	d := suite.Daemon(t, configuration(addrs, "topics: {create: false}", c.relay("start: earliest")))
	harness.DeleteTopic(t, addrs, c.dlt())
	c.write(t, records("dead", dead)...)
	c.awaitRequests(t, dead)
	c.write(t, records("retry", retried)...)
	c.awaitAccepted(t, retried)
	awaitMetric(t, d, c.series("retryd_lag_records", `tier="main"`), dead)
	if n := c.count(func(harness.Call) bool { return true }); n != dead+3*retried {
		t.Errorf("%d requests, want %d: one for each record that waits for its topic", n, dead+3*retried)
	}
}
