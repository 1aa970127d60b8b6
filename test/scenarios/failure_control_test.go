package scenarios

import (
	"testing"
	"time"

	"github.com/retryd/retryd/test/harness"
)

// The control topic is missing at the start, goes later, and is read in the end although
// its configuration is wrong.
func TestControlTopicThatIsNotAsItShouldBeIsToldAlikeEverywhere(t *testing.T) {
	t.Parallel()
	const gone = "topic retryd.control does not exist: create it (partitions: 1, cleanup.policy=compact), or set topics.create: true"
	c := newChain(t, embedded(t), 1, nil, 200*time.Millisecond)
	for _, topic := range c.topics()[1:] {
		harness.CreateTopic(t, c.addrs, topic, 1, map[string]string{"max.message.bytes": "1114124", "retention.ms": "-1"})
	}
	c.write(t, records("held", 1)...)
	d := harness.StartDaemon(t, suite.Binary(t), configuration(c.addrs, "topics: {create: false}", c.relay("start: earliest")))
	unread := sign{
		manual: "The control topic cannot be read",
		began:  "control topic cannot be read: nothing is delivered before it was", ended: "control topic was read",
		why: gone, says: "delivers nothing before topic retryd.control was read, which says what is paused: " + gone,
		series: c.series("retryd_relay_ready"), broken: 0, sound: 1, unready: true,
	}.fromStart(t, d)
	unread.awaitTold(t)
	if n, _ := c.endpoint.Counts(); n > 0 {
		t.Errorf("%d requests before it is known what is paused", n)
	}
	createControl(t, c.addrs)
	unread.awaitOver(t)

	later := sign{
		manual: "The control topic cannot be read any more.",
		began:  "control topic cannot be read: a pause or a resume elsewhere is not noticed", ended: "control topic is read again",
		why: "does not exist", says: "does not notice a pause or a resume elsewhere, which topic retryd.control would tell: ",
		series: c.series("retryd_relay_ready"), broken: 1, sound: 1,
	}.expect(t, d)
	harness.DeleteTopic(t, c.addrs, controlTopic)
	later.awaitTold(t)
	createControl(t, c.addrs)
	later.awaitOver(t)

	odd := sign{
		manual: "The control topic is read, and something is wrong with it.",
		began:  "control topic is not in order: what it says is read all the same", ended: "control topic is in order again",
		why:    "topic retryd.control: cleanup.policy is delete, which deletes the newest record of a key in time: set cleanup.policy=compact",
		series: c.series("retryd_relay_ready"), broken: 1, sound: 1,
	}.expect(t, d)
	alterTopic(t, c.addrs, controlTopic, "cleanup.policy", "delete")
	odd.awaitTold(t)
	alterTopic(t, c.addrs, controlTopic, "cleanup.policy", "compact")
	odd.awaitOver(t)
	c.ledger.Close(t, c.endpoint, bound).Check(t)
	d.Stop(t)
}
