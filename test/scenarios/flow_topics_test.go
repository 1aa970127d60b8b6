package scenarios

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/IBM/sarama"

	"github.com/retryd/retryd/test/harness"
)

// TestRetiredTier takes the last tier from a schedule while records wait in its
// topic.
func TestRetiredTier(t *testing.T) {
	eachBroker(t, func(t *testing.T, addrs []string) {
		c := newChain(t, addrs, 1, failing("bad"), 0, 0, 12*time.Second) // far longer than a restart takes
		c.write(t, records("bad", 2)...)
		d := c.run(t)
		harness.WaitFor(t, bound, "2 records in "+c.tier(3), func() bool {
			return len(harness.ReadTopic(t, addrs, c.tier(3))) == 2
		})
		d.Stop(t)
		if n := len(harness.ReadTopic(t, addrs, c.dlt())); n > 0 {
			t.Fatalf("%d records did not wait in the last tier", n)
		}

		// A tier that is not configured has no delay: what names no time is due.
		now := sarama.RecordHeader{Key: []byte("x-not-before"), Value: []byte(strconv.FormatInt(time.Now().UnixMilli(), 10))}
		back := sarama.RecordHeader{Key: []byte("x-attempt"), Value: []byte("1")}
		c.writeTo(t, c.tier(3),
			harness.Record{ID: "good", Value: []byte("good"), Headers: []sarama.RecordHeader{now}},
			harness.Record{ID: "bad-back", Value: []byte("bad"), Headers: []sarama.RecordHeader{now, back}})
		all := c.delays
		c.delays = c.delays[:2]
		d = c.run(t)
		c.delays = all
		c.ledger.Close(t, c.endpoint, bound)
		c.awaitCommitted(t, c.tierGroup(3), c.tier(3))
		d.Stop(t)

		// The numbers of the attempts are not compared: three were made, and the
		// schedule now ends with the third.
		report := c.ledger.Close(t, c.endpoint, 0)
		report.Check(t)
		if report.Accepted != 1 || report.DeadLettered != 3 || len(report.Repeated) > 0 {
			t.Errorf("%s, want 1 accepted and 3 dead, none repeated", report)
		}
		checkRetired(t, c)
	})
}

// checkRetired follows the records out of the retired tier.
func checkRetired(t *testing.T, c *chain) {
	t.Helper()
	due := map[string]time.Time{}
	for _, hop := range harness.ReadTopic(t, c.addrs, c.tier(3)) {
		due[header(t, hop, "x-event-id")] = headerTime(t, hop, "x-not-before")
	}
	last := map[string]harness.Call{}
	for _, call := range c.endpoint.Requests() {
		last[call.EventID] = call
	}
	for id, notBefore := range due {
		if arrived := last[id].Arrived; arrived.Before(notBefore) {
			t.Errorf("%s left the retired tier %v before its time", id, notBefore.Sub(arrived))
		}
	}
	for _, letter := range harness.ReadTopic(t, c.addrs, c.dlt()) {
		id, from := header(t, letter, "x-event-id"), c.tier(3)
		if id == "bad-back" {
			from = c.tier(2) // it failed into the live schedule, and out of its last tier
		}
		expectHeaders(t, letter, map[string]string{"x-reason": "exhausted"})
		trace := header(t, letter, "x-trace")
		hops := strings.Split(trace, ">")
		if len(hops) < 2 || !strings.HasPrefix(hops[len(hops)-2], from+"@") {
			t.Errorf("%s: x-trace is %s, want %s as the hop before the last", id, trace, from)
		}
	}
}

// TestRetiredTierIsLeftWhenItsTopicIsDeleted needs one broker alone: retryd looks
// at its topics every 30 s.
func TestRetiredTierIsLeftWhenItsTopicIsDeleted(t *testing.T) {
	t.Parallel()
	c := newChain(t, embedded(t), 1, nil, 0)
	harness.CreateTopic(t, c.addrs, c.tier(2), 1, map[string]string{"retention.ms": "-1"})
	d := c.run(t)
	harness.WaitFor(t, bound, "a member of the retired tier's group", func() bool {
		return metric(t, d, c.series("retryd_rebalances_total", `tier="2"`)) > 0
	})
	harness.DeleteTopic(t, c.addrs, c.tier(2))
	harness.WaitFor(t, bound, "the end of the retired tier", func() bool {
		return strings.Contains(d.Log(), "retired tier topic was deleted")
	})
	c.write(t, records("after", 3)...)
	c.ledger.Close(t, c.endpoint, bound)
	if status, body, err := d.Get("/readyz"); err != nil || status != http.StatusOK || strings.Contains(body, c.topic) {
		t.Errorf("/readyz after a retired tier's topic was deleted: %d, %v\n%s", status, err, body)
	}
	if report := c.settle(t, d); report.Accepted != 3 {
		t.Errorf("%s, want 3 accepted", report)
	}
}

// TestFaultyRelayLeavesTheOthersAlone runs a sound relay beside one whose main
// topic is missing and one whose tier must not be created.
func TestFaultyRelayLeavesTheOthersAlone(t *testing.T) {
	eachBroker(t, func(t *testing.T, addrs []string) {
		sound, untiered := newChain(t, addrs, 2, failing("bad"), 0), newChain(t, addrs, 2, nil, 0)
		homeless := &chain{addrs: addrs, topic: harness.TopicName(t), delays: untiered.delays, endpoint: untiered.endpoint}
		for _, topic := range sound.topics()[1:] {
			harness.CreateTopic(t, addrs, topic, 2, map[string]string{"retention.ms": "-1"})
		}
		createControl(t, addrs)
		d := suite.Daemon(t, configuration(addrs, debugLog+"\ntopics: {create: false}",
			homeless.relay("start: earliest"), sound.relay("start: earliest"), untiered.relay("start: earliest")))
		sound.write(t, append(records("good", 10), records("bad", 2)...)...)
		produce(t, addrs, untiered.topic, nil, records("unread", 3)...)
		sound.ledger.Close(t, sound.endpoint, bound)

		status, body, err := d.Get("/readyz")
		if err != nil || status != http.StatusOK {
			t.Errorf("/readyz: %d, %v, want 200", status, err)
		}
		for _, line := range []string{
			fmt.Sprintf("relay %s: main topic %s does not exist", homeless.topic, homeless.topic),
			fmt.Sprintf("relay %s: topic %s does not exist: create it (partitions: 2)", untiered.topic, untiered.tier(1)),
		} {
			if !strings.Contains(body, line) {
				t.Errorf("/readyz does not say %q:\n%s", line, body)
			}
		}
		if strings.Contains(body, sound.topic) {
			t.Errorf("/readyz names the sound relay:\n%s", body)
		}
		if report := sound.settle(t, d); report.Accepted != 10 || report.DeadLettered != 2 {
			t.Errorf("%s, want 10 accepted and 2 dead", report)
		}
		if requests, _ := untiered.endpoint.Counts(); requests > 0 {
			t.Errorf("%d requests of a relay without its topics", requests)
		}
	})
}
