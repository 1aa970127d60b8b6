package scenarios

import (
	"slices"
	"testing"
	"time"

	"github.com/retryd/retryd/test/harness"
)

// One of three brokers dies under load: the one that coordinates the main group, and
// leads partitions as each of them does. Nobody starts it again: Kafka moves what it had.
func TestOneBrokerOfSeveralThatIsGoneIsToldAlikeEverywhere(t *testing.T) {
	t.Parallel()
	const written = 1500
	kafka := harness.StartKafka(t, 3)
	c := newChain(t, kafka.Addrs(), 3, mixed(20*time.Millisecond), 200*time.Millisecond, 500*time.Millisecond)
	d := suite.Daemon(t, configuration(c.addrs, "", c.relay("start: earliest", "endpoint.max_in_flight: 4")))
	lost := sign{
		manual: "One broker of several is down.",
		began:  notMember, ended: "member of the group again",
		// The reason depends on how far the cluster is when the group has been away for long.
		says: "is not a member of " + c.group(), relay: c.topic, unready: true,
		series: c.series("retryd_relay_ready"), broken: 0, sound: 1,
	}.expect(t, d)
	c.write(t, records("r", written)...)
	c.awaitAccepted(t, written/3)

	killed := time.Now()
	if err := kafka.Kill(c.coordinator(t)); err != nil {
		t.Fatal(err)
	}
	lost.awaitTold(t)
	if got := metric(t, d, "retryd_kafka_reachable"); got != 1 {
		t.Errorf("retryd_kafka_reachable is %v, want 1: two brokers answer", got)
	}
	lost.awaitOver(t, consequencesOfSilence...)
	over := time.Now()
	c.ledger.Close(t, c.endpoint, 2*bound)
	d.Stop(t)
	c.checkRepeats(t, c.ledger.Close(t, c.endpoint, 0), func(call harness.Call) bool {
		return call.Arrived.After(killed.Add(-repeatSpan)) && call.Arrived.Before(over.Add(bound))
	})
}

// coordinator returns which of the brokers coordinates the main group.
func (c *chain) coordinator(t *testing.T) int {
	t.Helper()
	broker, err := harness.NewClient(t, c.addrs).Coordinator(c.group())
	if err != nil {
		t.Fatal(err)
	}
	return slices.Index(c.addrs, broker.Addr())
}
