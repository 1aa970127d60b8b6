package scenarios

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/IBM/sarama"

	"github.com/retryd/retryd/test/harness"
)

// instance starts one of several daemons that share the chain's groups. Its name
// is how the endpoint tells it from the others, see madeBy.
func (c *chain) instance(t *testing.T, name string, keys ...string) *harness.Daemon {
	t.Helper()
	keys = append(keys, "name: "+name, "group: "+c.group(), "start: earliest")
	return suite.Daemon(t, configuration(c.addrs, debugLog, c.relay(keys...)))
}

// madeBy reports whether a request came from the instance of that name.
func madeBy(instance string, call harness.Call) bool {
	return strings.HasSuffix(call.Header.Get("User-Agent"), "("+instance+")")
}

// mixed answers 503 to three in ten records once and to one in twenty always, and
// accepts the others. Every answer takes delay.
func mixed(delay time.Duration) harness.Plan {
	return func(r harness.Request) harness.Answer {
		n := sequence(r.EventID)
		once := n%10 >= 1 && n%10 <= 3
		if n%20 == 0 || once && r.Attempt == 1 {
			return harness.Answer{Status: http.StatusServiceUnavailable, Delay: delay}
		}
		return harness.Answer{Delay: delay}
	}
}

// sequence returns the number at the end of an event id of records.
func sequence(id string) int {
	n, err := strconv.Atoi(id[strings.LastIndexByte(id, '-')+1:])
	if err != nil {
		return -1
	}
	return n
}

// repeatSpan is how long before the end of an owner a record can have been
// complete without an acknowledged commit that says so: commits are made every
// second, and the machine is slow.
const repeatSpan = 3 * time.Second

// checkRepeats fails the test unless the report breaks no promise and every record
// that was repeated, as a whole or by an attempt, has a request that explains it.
func (c *chain) checkRepeats(t *testing.T, report harness.Report, explains func(harness.Call) bool) {
	t.Helper()
	report.Check(t)
	explained := map[string]bool{}
	for _, call := range c.endpoint.Requests() {
		if explains(call) {
			explained[call.EventID] = true
		}
	}
	t.Logf("%s; at most %d repeats are explained", report, len(explained))
	for _, f := range slices.Concat(report.Repeated, report.WrongAttempts) {
		if !explained[f.ID] {
			t.Errorf("repeated without a reason: %s: %s\n%s", f.ID, f.Detail, c.story(f.ID))
		}
	}
}

// count returns how many requests are such.
func (c *chain) count(such func(harness.Call) bool) int {
	n := 0
	for _, call := range c.endpoint.Requests() {
		if such(call) {
			n++
		}
	}
	return n
}

// story tells a record's requests, one a line.
func (c *chain) story(id string) string {
	var b strings.Builder
	for _, call := range c.endpoint.Requests() {
		if call.EventID == id {
			fmt.Fprintf(&b, "\t%s attempt %d by %s, answered %d at %s\n", call.Arrived.Format(clock), call.Attempt,
				call.Header.Get("User-Agent"), call.Answer.Status, call.Answered.Format(clock))
		}
	}
	return b.String()
}

// clock is how a moment is printed to be compared with a daemon's log.
const clock = "15:04:05.000"

// awaitHeld waits until the daemons have read n records before they were due. They
// log at debug.
func awaitHeld(t *testing.T, n int, daemons ...*harness.Daemon) {
	t.Helper()
	harness.WaitFor(t, bound, fmt.Sprintf("%d records to be held", n), func() bool {
		held := 0
		for _, d := range daemons {
			held += lines(d, `"msg":"hold"`)
		}
		return held >= n
	})
}

// awaitJoined waits until the daemon has been given partitions n times: once for
// each group that it joined.
func awaitJoined(t *testing.T, d *harness.Daemon, n int) {
	t.Helper()
	harness.WaitFor(t, bound, fmt.Sprintf("%d assignments", n), func() bool { return joined(d) >= n })
}

func joined(d *harness.Daemon) int { return lines(d, `"msg":"partitions assigned"`) }

// lines counts the lines of a daemon's log that contain one of the texts.
func lines(d *harness.Daemon, texts ...string) int {
	n := 0
	for line := range strings.Lines(d.Log()) {
		if slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(line, text) }) {
			n++
		}
	}
	return n
}

// until waits for a moment.
func until(t *testing.T, moment time.Time) {
	t.Helper()
	harness.WaitFor(t, bound, "the clock", func() bool { return time.Now().After(moment) })
}

// requestsOf returns the requests for records whose event id begins with prefix.
func (c *chain) requestsOf(prefix string) []harness.Call {
	return slices.DeleteFunc(c.endpoint.Requests(), func(call harness.Call) bool {
		return !strings.HasPrefix(call.EventID, prefix)
	})
}

// awaitAccepted waits until n requests were accepted.
func (c *chain) awaitAccepted(t *testing.T, n int) {
	t.Helper()
	harness.WaitFor(t, bound, fmt.Sprintf("%d accepted requests", n), func() bool {
		_, accepted := c.endpoint.Counts()
		return accepted >= n
	})
}

// createAll makes the topics that belong to the chain beside its main topic, as
// retryd would.
func (c *chain) createAll(t *testing.T, partitions int32) {
	t.Helper()
	for _, topic := range c.topics()[1:] {
		harness.CreateTopic(t, c.addrs, topic, partitions, kept())
	}
}

// controlTopic is where the daemons of a cluster keep what is paused, unless they are told
// otherwise.
const controlTopic = "retryd.control"

// createControl makes the control topic, unless it is there.
func createControl(t *testing.T, addrs []string) {
	t.Helper()
	err := harness.MakeTopic(addrs, controlTopic, 1, map[string]string{"cleanup.policy": "compact"})
	if err != nil && !errors.Is(err, sarama.ErrTopicAlreadyExists) {
		t.Fatal(err)
	}
}

// kept is the configuration of a topic that keeps its records for ever.
func kept() map[string]string { return map[string]string{"retention.ms": "-1"} }

// alterTopic sets one key of a topic's configuration.
func alterTopic(t *testing.T, addrs []string, topic, key, value string) {
	t.Helper()
	admin := newAdmin(t, addrs)
	err := admin.IncrementalAlterConfig(sarama.TopicResource, topic, map[string]sarama.IncrementalAlterConfigsEntry{
		key: {Operation: sarama.IncrementalAlterConfigsOperationSet, Value: &value},
	}, false)
	if err != nil {
		t.Fatalf("set %s of topic %s: %v", key, topic, err)
	}
}

func newAdmin(t *testing.T, addrs []string) sarama.ClusterAdmin {
	t.Helper()
	admin, err := sarama.NewClusterAdminFromClient(harness.NewClient(t, addrs))
	if err != nil {
		t.Fatal(err)
	}
	return admin
}

// readyz returns what the daemon's /readyz answers.
func readyz(t *testing.T, d *harness.Daemon) (status int, body string) {
	t.Helper()
	status, body, err := d.Get("/readyz")
	if err != nil {
		return 0, err.Error()
	}
	return status, body
}

// tiers returns the chain's tiers as a ledger takes them.
func (c *chain) tiers() []harness.Tier {
	tiers := make([]harness.Tier, len(c.delays))
	for i, delay := range c.delays {
		tiers[i] = harness.Tier{Topic: c.tier(i + 1), Delay: delay}
	}
	return tiers
}
