package scenarios

import (
	"testing"
	"time"

	"github.com/retryd/retryd/test/harness"
)

// The cluster of one node is this test's own. It is away twice: before the daemon
// starts, and in the middle of its work.
func TestBrokerThatGoesAwayIsWaitedFor(t *testing.T) {
	t.Parallel()
	const written = 1500
	kafka := harness.StartKafka(t, 1)
	c := newChain(t, kafka.Addrs(), 3, mixed(20*time.Millisecond), 200*time.Millisecond, 500*time.Millisecond)
	if err := kafka.Kill(0); err != nil {
		t.Fatal(err)
	}
	d := harness.StartDaemon(t, suite.Binary(t), configuration(c.addrs, "", c.relay("start: earliest", "jitter: 0.2", "endpoint.max_in_flight: 4")))
	waiting := sign{
		manual: "No broker answers when retryd starts.",
		began:  "waiting for Kafka", ended: "Kafka answers",
		why: "connection refused", says: "waiting for Kafka at ", unready: true,
		series: "retryd_kafka_reachable", broken: 0, sound: 1,
	}.fromStart(t, d)
	waiting.awaitTold(t)
	if err := kafka.Restart(0); err != nil {
		t.Fatal(err)
	}
	waiting.awaitOver(t)
	c.write(t, records("r", written)...)

	c.awaitAccepted(t, written/3)
	away, killed := goneBroker.expect(t, d), time.Now()
	if err := kafka.Kill(0); err != nil {
		t.Fatal(err)
	}
	away.awaitTold(t)
	if err := kafka.Restart(0); err != nil {
		t.Fatal(err)
	}
	away.awaitOver(t, consequencesOfSilence...)
	over := time.Now()
	c.ledger.Close(t, c.endpoint, 2*bound)
	d.Stop(t)
	c.checkRepeats(t, c.ledger.Close(t, c.endpoint, 0), func(call harness.Call) bool {
		return call.Arrived.After(killed.Add(-repeatSpan)) && call.Arrived.Before(over.Add(bound))
	})
}
