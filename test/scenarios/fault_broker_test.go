package scenarios

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/retryd/retryd/test/harness"
)

// The cluster of one node is this test's own. It is away twice: before the daemon
// starts, and in the middle of its work.
func TestBrokerThatGoesAwayIsWaitedFor(t *testing.T) {
	t.Parallel()
	const written, away = 1500, 8 * time.Second
	kafka := harness.StartKafka(t, 1)
	c := newChain(t, kafka.Addrs(), 3, mixed(20*time.Millisecond), 200*time.Millisecond, 500*time.Millisecond)
	if err := kafka.Kill(0); err != nil {
		t.Fatal(err)
	}
	config := configuration(c.addrs, "log: {level: info}", c.relay("start: earliest", "jitter: 0.2", "endpoint.max_in_flight: 4"))
	d := harness.StartDaemon(t, suite.Binary(t), config)
	harness.WaitFor(t, bound, "/readyz to say what is waited for", func() bool {
		status, body := readyz(t, d)
		return status == http.StatusServiceUnavailable && strings.Contains(body, "waiting for Kafka at "+c.addrs[0])
	})
	if err := kafka.Restart(0); err != nil {
		t.Fatal(err)
	}
	d.WaitReady(t)
	c.write(t, records("r", written)...)

	c.awaitAccepted(t, written/3)
	killed, quiet := time.Now(), lines(d, `"level":"warn"`, `"level":"error"`)
	if err := kafka.Kill(0); err != nil {
		t.Fatal(err)
	}
	until(t, killed.Add(away))
	if err := kafka.Restart(0); err != nil {
		t.Fatal(err)
	}
	c.ledger.Close(t, c.endpoint, 2*bound)
	// Four topics, a few messages each, one line in half a minute.
	if noise := lines(d, `"level":"warn"`, `"level":"error"`) - quiet; noise == 0 || noise > 40 {
		t.Errorf("%d warnings about a broker that was away for %v, want a few", noise, away)
	}
	d.Stop(t)
	c.checkRepeats(t, c.ledger.Close(t, c.endpoint, 0), func(call harness.Call) bool {
		return call.Arrived.After(killed.Add(-repeatSpan)) && call.Arrived.Before(killed.Add(away+bound))
	})
}
