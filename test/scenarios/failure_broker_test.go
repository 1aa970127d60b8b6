package scenarios

import (
	"testing"
	"time"

	"github.com/retryd/retryd/test/harness"
)

// goneBroker is how the only broker of a cluster shows that does not answer.
var goneBroker = sign{
	manual: "All brokers are down",
	began:  "Kafka does not answer: records wait, nothing is lost", ended: "Kafka answers again",
	why: "no broker answers", unready: true,
	series: "retryd_kafka_reachable", broken: 0, sound: 1,
}

// consequencesOfSilence are the warnings that may come with a broker that does not
// answer: of what waits for it, and of what is repeated since it was in flight.
var consequencesOfSilence = []string{
	notReady, notMember, cannotRead, cannotWrite, cannotCommit, gaveUp, noLastCommit, lateCommit, "cannot look at the topics",
}

// A broker whose disk is full is soon a broker that is gone: Kafka ends itself.
func TestBrokerThatIsGoneIsToldAlikeEverywhere(t *testing.T) {
	t.Parallel()
	kafka := harness.StartKafka(t, 1)
	c := newChain(t, kafka.Addrs(), 3, failing("fail"), 200*time.Millisecond, 500*time.Millisecond)
	d := suite.Daemon(t, configuration(c.addrs, "", c.relay("start: earliest")))
	c.write(t, append(records("before", 50), records("fail-before", 50)...)...)

	killed := goneBroker.expect(t, d)
	if err := kafka.Kill(0); err != nil {
		t.Fatal(err)
	}
	killed.awaitTold(t)
	if err := kafka.Restart(0); err != nil {
		t.Fatal(err)
	}
	killed.awaitOver(t, consequencesOfSilence...)
	c.write(t, append(records("between", 50), records("fail-between", 50)...)...)
	c.awaitAccepted(t, 100)

	full := goneBroker.expect(t, d)
	kafka.FillDisk(t, 0)
	kafka.AwaitEnd(t, 0)
	full.awaitTold(t)
	if err := kafka.Restart(0); err != nil {
		t.Fatal(err)
	}
	full.awaitOver(t, consequencesOfSilence...)
	c.ledger.Close(t, c.endpoint, bound)
	d.Stop(t)
	c.ledger.Close(t, c.endpoint, 0).Check(t)
}
