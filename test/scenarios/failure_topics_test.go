package scenarios

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

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
	createControl(t, addrs)
	d := suite.Daemon(t, configuration(addrs, fmt.Sprintf("topics: {create: %v}", create), relays...))
	for _, c := range chains {
		c.awaitCommitted(t, c.group(), c.topic)
	}
	anew := []string{ // the first only where the look at the topics finds it before a read does
		"topic was made anew: it is read from its earliest offset",
		"topic was made anew since the last commit: it is read from its earliest offset",
	}
	consequences := map[string][]string{main.topic: anew, tier.tier(1): anew}
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
	awaitProblems(t, d, len(outages))
	sound.ledger.Close(t, sound.endpoint, bound)
	for topic := range outages {
		harness.CreateTopic(t, addrs, topic, 2, kept())
	}
	main.write(t, records("after", each)...)
	for topic, o := range outages {
		o.awaitOver(t, consequences[topic]...)
	}
	if n := lines(d, "the topic or partition does not exist"); n > 0 {
		t.Errorf("%d lines tell of what follows from a missing topic", n)
	}
	for _, c := range chains {
		c.ledger.Close(t, c.endpoint, recheckBound)
	}
	d.Stop(t)
	for _, c := range chains {
		c.ledger.Close(t, c.endpoint, 0).Check(t)
	}
	if create {
		checkCreatedAnew(t, d, tier, tier.tier(1))
		checkCreatedAnew(t, d, dlt, dlt.dlt())
	}
}

// awaitProblems waits until a daemon has so many problems and no more: a look at the
// topics that was made just before they were deleted makes some anew only 10 s later.
func awaitProblems(t *testing.T, d *harness.Daemon, n int) {
	t.Helper()
	text := ""
	defer func() {
		if t.Failed() {
			t.Logf("retryd status says:\n%s", text)
		}
	}()
	harness.WaitFor(t, recheckBound, fmt.Sprintf("%d problems in retryd status", n), func() bool {
		var now state
		now, text = stateOf(t, d)
		return len(now.lines()) == n
	})
}

// checkCreatedAnew looks for the one line that tells of a topic that came back empty.
func checkCreatedAnew(t *testing.T, d *harness.Daemon, c *chain, topic string) {
	t.Helper()
	const created = "topic was missing and is created anew: what it held is gone"
	if row := manualRow(t, "The same"); !strings.Contains(row, "`"+created+"`") {
		t.Errorf("docs/operations.md says nothing of %q", created)
	}
	want := []line{{Level: "warn", Message: created, Relay: c.topic, Topic: topic}}
	var got []line
	for _, l := range logged(t, d) {
		if l.Message == created && l.Relay == c.topic {
			got = append(got, l)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("lines that tell of a topic created anew (-want +got):\n%s", diff)
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
	title := "A tier or the dead-letter topic is gone"
	if topic == c.topic {
		title = "The main topic is gone."
	}
	return sign{
		manual: title,
		began:  "relay is not ready", ended: "topics of the relay are in order again",
		why: "topic " + topic + " does not exist: create it", relay: c.topic,
		series: c.series("retryd_relay_ready"), broken: 0, sound: 1,
	}
}
