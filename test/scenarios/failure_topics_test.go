package scenarios

import (
	"fmt"
	"testing"
	"time"

	"github.com/retryd/retryd/test/harness"
)

// One daemon has a relay for each topic that can go, and one that loses none. What
// must be mended in one relay leaves the others, and so the process, ready.
func TestTopicThatIsDeletedIsToldAlikeEverywhere(t *testing.T) {
	t.Parallel()
	for _, create := range []bool{false, true} {
		t.Run(fmt.Sprintf("topics.create %v", create), func(t *testing.T) {
			t.Parallel()
			testDeletedTopics(t, suite.Kafka(t).Addrs(), create)
		})
	}
}

func testDeletedTopics(t *testing.T, addrs []string, create bool) {
	const each = 25
	tier, dlt, main, sound := whole(t, addrs), whole(t, addrs), whole(t, addrs), whole(t, addrs)
	chains := []*chain{tier, dlt, main, sound}
	relays := make([]string, len(chains))
	for i, c := range chains {
		relays[i] = c.relay("start: earliest")
		c.write(t, records("before", each)...)
	}
	d := suite.Daemon(t, configuration(addrs, fmt.Sprintf("topics: {create: %v}", create), relays...))
	for _, c := range chains {
		c.awaitCommitted(t, c.group(), c.topic)
	}
	outages := map[string]*outage{main.topic: missing(main, main.topic).expect(t, d)}
	if !create { // else these are made anew
		outages[tier.tier(1)] = missing(tier, tier.tier(1)).expect(t, d)
		outages[dlt.dlt()] = missing(dlt, dlt.dlt()).expect(t, d)
	}

	for _, topic := range []string{tier.tier(1), dlt.dlt(), main.topic} {
		harness.DeleteTopic(t, addrs, topic)
	}
	for _, c := range []*chain{tier, dlt, sound} {
		c.write(t, append(records("retry", each), records("dead", each)...)...)
	}
	for _, o := range outages {
		o.awaitTold(t)
	}
	sound.ledger.Close(t, sound.endpoint, bound)
	for topic := range outages {
		harness.CreateTopic(t, addrs, topic, 2, kept())
	}
	main.write(t, records("after", each)...)
	for _, o := range outages {
		o.awaitOver(t, 8)
	}
	for _, c := range chains {
		c.ledger.Close(t, c.endpoint, recheckBound)
	}
	d.Stop(t)
	for _, c := range chains {
		c.ledger.Close(t, c.endpoint, 0).Check(t)
	}
	if got := lines(d, "topic was missing and is created anew: what it held is gone"); create && got != 2 {
		t.Errorf("%d lines tell of a topic that was created anew, want one for the tier and one for the dead letters", got)
	}
}

// whole is a chain all of whose topics exist.
func whole(t *testing.T, addrs []string) *chain {
	t.Helper()
	c := newChain(t, addrs, 2, sortedByPrefix, 200*time.Millisecond)
	c.createAll(t, 2)
	return c
}

// missing is how a relay shows that lacks a topic. It takes a person to make it, so
// that the process stays ready.
func missing(c *chain, topic string) sign {
	return sign{
		began: "relay is not ready", ended: "topics of the relay are in order again",
		why: "topic " + topic + " does not exist: create it", relay: c.topic,
		series: c.series("retryd_relay_ready"), broken: 0, sound: 1,
	}
}
