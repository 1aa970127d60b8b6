package scenarios

import (
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/IBM/sarama"

	"github.com/retryd/retryd/test/harness"
)

func TestTakenInstanceIDIsToldAlikeEverywhere(t *testing.T) {
	t.Parallel()
	c := newChain(t, suite.Kafka(t).Addrs(), 2, nil, 0)
	first := c.member(t, "first", "instance_id: same")
	first.WaitReady(t)
	o := sign{
		manual: "Two instances have the same `kafka.instance_id`.", began: notMember, ended: "member of the group again",
		why:   "another instance has taken its place with the same kafka.instance_id: give each instance its own, or stop one of them",
		relay: "first", unready: true, series: `retryd_relay_ready{relay="first"}`, broken: 0, sound: 1,
	}.expect(t, first)
	second := c.member(t, "second", "instance_id: same")
	o.awaitTold(t)
	c.write(t, records("r", 50)...)
	c.settle(t, second)
}

// A record that cannot be delivered is told of when half of its topic's retention is over.
func TestMainTopicThatIsAboutToDeleteRecordsIsTold(t *testing.T) {
	t.Parallel()
	const keeps, row = 4 * time.Second, "Records of the main topic grow too old."
	var away atomic.Bool
	away.Store(true)
	c := newChain(t, embedded(t), 1, func(harness.Request) harness.Answer {
		if away.Load() {
			return harness.Answer{Hang: true}
		}
		return harness.Answer{}
	}, 0)
	retention := "4000"
	if err := newAdmin(t, c.addrs).IncrementalAlterConfig(sarama.TopicResource, c.topic,
		map[string]sarama.IncrementalAlterConfigsEntry{"retention.ms": {Operation: sarama.IncrementalAlterConfigsOperationSet, Value: &retention}}, false); err != nil {
		t.Fatal(err)
	}
	d := suite.Daemon(t, configuration(c.addrs, "stop_timeout: 2m", c.relay("start: earliest", "endpoint.timeout: 1m")))
	c.write(t, records("old", 1)...)
	const began, ended = "main topic is about to delete records that are not delivered", "main topic keeps its records for long enough again"
	why := "keeps its records for " + keeps.String() + " (retention.ms), and half of that is over for the oldest that is not done: mend what holds up delivery, or raise retention.ms"
	for _, text := range []string{began, ended, strings.Replace(why, keeps.String(), "168h0m0s", 1)} {
		if !strings.Contains(manualRow(t, row), text) {
			t.Errorf("docs/operations.md says nothing of %q in the row %q", text, row)
		}
	}
	told := func(message string) func() bool {
		return func() bool {
			for _, l := range logged(t, d) {
				if l.Message == message {
					return true
				}
			}
			return false
		}
	}
	harness.WaitFor(t, bound, "the log to tell", told(began))
	if code, body := readyz(t, d); code != http.StatusOK || !strings.Contains(body, why) {
		t.Errorf("/readyz answers %d, want 200 and %q:\n%s", code, why, body)
	}
	away.Store(false)
	if err := c.endpoint.Down(); err != nil { // what hangs is broken off, and goes to the tier
		t.Fatal(err)
	}
	if err := c.endpoint.Up(); err != nil {
		t.Fatal(err)
	}
	c.awaitAccepted(t, 1)
	harness.WaitFor(t, bound, "the log to tell of the end", told(ended))
}
