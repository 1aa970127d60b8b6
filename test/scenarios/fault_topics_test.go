package scenarios

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/IBM/sarama"

	"github.com/retryd/retryd/test/harness"
)

// recheckBound is how long a mended topic may take to be noticed: topics are looked
// at again every 30 s.
const recheckBound = 30*time.Second + bound

func TestReadyMeansThatEveryGroupHasBeenJoined(t *testing.T) {
	eachBroker(t, func(t *testing.T, addrs []string) {
		c := newChain(t, addrs, 2, nil, time.Second, 2*time.Second)
		d := c.run(t)
		if got := joined(d); got != 3 {
			t.Errorf("/readyz answered 200 after %d of 3 groups had been joined", got)
		}
	})
}

// One daemon has three relays that cannot work and one that can.
func TestTopicThatBreaksAPromiseKeepsItsRelayUnreadyUntilItIsMended(t *testing.T) {
	t.Parallel()
	addrs := suite.Kafka(t).Addrs()
	const written, delay = 10, 300 * time.Millisecond

	missing := newChain(t, addrs, 2, failsOnce, delay)
	harness.CreateTopic(t, addrs, missing.dlt(), 2, kept())
	short := newChain(t, addrs, 2, failsOnce, delay)
	harness.CreateTopic(t, addrs, short.tier(1), 2, kept())
	harness.CreateTopic(t, addrs, short.dlt(), 2, map[string]string{"retention.ms": "3600000"})
	compacted := newChain(t, addrs, 2, failsOnce, delay)
	harness.CreateTopic(t, addrs, compacted.tier(1), 2, map[string]string{"retention.ms": "-1", "cleanup.policy": "compact,delete"})
	harness.CreateTopic(t, addrs, compacted.dlt(), 2, kept())
	sound := newChain(t, addrs, 2, failsOnce, delay)
	sound.createAll(t, 2)

	chains := []*chain{missing, short, compacted, sound}
	relays := make([]string, len(chains))
	for i, c := range chains {
		relays[i] = c.relay("start: earliest")
		c.write(t, records("r", written)...)
	}
	createControl(t, addrs)
	d := suite.Daemon(t, configuration(addrs, "topics: {create: false}\n"+debugLog, relays...))

	problems := []string{
		fmt.Sprintf("relay %s: topic %s does not exist: create it (partitions: 2), or set topics.create: true", missing.topic, missing.tier(1)),
		fmt.Sprintf("relay %s: topic %s: retention.ms is 3600000 (1h0m0s), which deletes dead letters before people see them: set retention.ms=-1", short.topic, short.dlt()),
		fmt.Sprintf("relay %s: topic %s: cleanup.policy is compact,delete, which deletes records of the same key: set cleanup.policy=delete", compacted.topic, compacted.tier(1)),
	}
	harness.WaitFor(t, bound, "/readyz to list what is wrong", func() bool {
		_, body := readyz(t, d)
		return strings.Count(body, "\n") == 1+len(problems) // ok, since one relay works
	})
	_, body := readyz(t, d)
	for _, problem := range problems {
		if !strings.Contains(body, problem) {
			t.Errorf("/readyz does not say %q:\n%s", problem, body)
		}
		_, text, _ := strings.Cut(problem, ": ")
		if lines(d, text) == 0 {
			t.Errorf("the log does not say %q", text)
		}
	}
	sound.ledger.Close(t, sound.endpoint, bound).Check(t)

	harness.CreateTopic(t, addrs, missing.tier(1), 2, kept())
	alterTopic(t, addrs, short.dlt(), "retention.ms", "-1")
	alterTopic(t, addrs, compacted.tier(1), "cleanup.policy", "delete")
	harness.WaitFor(t, recheckBound, "the relays to be ready", func() bool {
		status, body := readyz(t, d)
		return status == http.StatusOK && body == "ok\n"
	})
	for _, c := range chains {
		c.ledger.Close(t, c.endpoint, bound)
	}
	d.Stop(t)
	for _, c := range chains {
		c.account(t)
	}
}

// dead-lettered by their first answer are the records that begin with "dead"; those
// that begin with "retry" fail once.
func sortedByPrefix(r harness.Request) harness.Answer {
	switch {
	case strings.HasPrefix(r.EventID, "dead"):
		return harness.Answer{Status: http.StatusUnprocessableEntity}
	case strings.HasPrefix(r.EventID, "retry") && r.Attempt == 1:
		return harness.Answer{Status: http.StatusServiceUnavailable}
	}
	return harness.Answer{}
}

func TestDeletedDeadLetterTopicHoldsItsRecordsUntilItIsMadeAgain(t *testing.T) {
	eachBroker(t, func(t *testing.T, addrs []string) {
		const each = 10
		c := newChain(t, addrs, 2, sortedByPrefix, 300*time.Millisecond)
		d := c.run(t)
		c.write(t, records("before", each)...)
		c.awaitAccepted(t, each)
		harness.DeleteTopic(t, addrs, c.dlt())
		c.write(t, append(records("dead", each), append(records("retry", each), records("good", each)...)...)...)
		c.awaitAccepted(t, 3*each) // all but the dead ones

		client := harness.NewClient(t, addrs)
		at, end := committed(t, client, c.group(), c.topic), ends(t, client, c.topic)
		if at[0] == end[0] && at[1] == end[1] && !exists(t, client, c.dlt()) {
			t.Errorf("everything is committed up to %v, and there is no dead-letter topic", end)
		}
		c.ledger.Close(t, c.endpoint, recheckBound)
		report := c.settle(t, d)
		if report.DeadLettered != each || len(c.requestsOf("dead")) != each {
			t.Errorf("%s, %d requests for dead letters, want one for each of %d", report, len(c.requestsOf("dead")), each)
		}
	})
}

// Kafka refuses the one large record for as long as the dead-letter topic takes only
// small ones.
func TestRecordThatDoesNotFitTheDeadLetterTopicIsHeldUntilItFits(t *testing.T) {
	t.Parallel()
	addrs := suite.Kafka(t).Addrs()
	const each = 10
	c := newChain(t, addrs, 1, sortedByPrefix, 300*time.Millisecond)
	harness.CreateTopic(t, addrs, c.dlt(), 1, map[string]string{"retention.ms": "-1", "max.message.bytes": "4096"})
	d := c.run(t)
	noise := make([]byte, 10_000)
	rand.Read(noise) // does not get smaller by compression
	large := harness.Record{ID: "dead-large", Key: []byte("k"), Value: []byte(hex.EncodeToString(noise))}
	c.write(t, large)
	c.write(t, append(records("dead", each), append(records("retry", each), records("good", each)...)...)...)

	harness.WaitFor(t, bound, "the small dead letters", func() bool {
		return len(harness.ReadTopic(t, addrs, c.dlt())) == each
	})
	c.awaitAccepted(t, 2*each)
	series := c.series("retryd_produce_errors_total", `target="dlt"`)
	harness.WaitFor(t, bound, "a second try to write the large dead letter", func() bool {
		return metric(t, d, series) >= 2
	})
	if at := committed(t, harness.NewClient(t, addrs), c.group(), c.topic)[0]; at != 0 {
		t.Errorf("committed up to %d, and record 0 is nowhere", at)
	}

	alterTopic(t, addrs, c.dlt(), "max.message.bytes", "1048576")
	c.ledger.Close(t, c.endpoint, recheckBound)
	report := c.settle(t, d)
	if report.DeadLettered != each+1 || len(c.requestsOf("dead")) != each+1 {
		t.Errorf("%s, %d requests for dead letters, want one for each of %d", report, len(c.requestsOf("dead")), each+1)
	}
}

func exists(t *testing.T, client sarama.Client, topic string) bool {
	t.Helper()
	if err := client.RefreshMetadata(); err != nil {
		t.Fatal(err)
	}
	topics, err := client.Topics()
	if err != nil {
		t.Fatal(err)
	}
	return slices.Contains(topics, topic)
}
