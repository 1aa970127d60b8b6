package scenarios

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/google/go-cmp/cmp"

	"github.com/retryd/retryd/test/harness"
)

func TestFailingRecordWalksEveryTierIntoTheDeadLetterTopic(t *testing.T) {
	t.Parallel()
	for _, jitter := range []float64{0, 0.2} {
		t.Run(fmt.Sprintf("jitter %v", jitter), func(t *testing.T) {
			eachBroker(t, func(t *testing.T, addrs []string) { walkAllTiers(t, addrs, jitter) })
		})
	}
}

func walkAllTiers(t *testing.T, addrs []string, jitter float64) {
	plan := func(harness.Request) harness.Answer {
		return harness.Answer{
			Status: http.StatusServiceUnavailable,
			Header: http.Header{"X-Version": {"library-7"}},
			Body:   "the shelf is closed",
		}
	}
	c := newChain(t, addrs, 1, plan, 300*time.Millisecond, 600*time.Millisecond, 900*time.Millisecond)
	written := time.Now()
	c.write(t, harness.Record{ID: "loan-1", Key: []byte("reader-9"), Value: []byte("overdue"), Headers: []sarama.RecordHeader{
		{Key: []byte("traceparent"), Value: []byte("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")},
		{Key: []byte("content-type"), Value: []byte("text/plain")},
	}})
	d := c.run(t, fmt.Sprintf("jitter: %v", jitter), "endpoint.app_version_header: X-Version")
	report := c.settle(t, d)
	if report.Requests != 4 || report.DeadLettered != 1 {
		t.Fatalf("%s, want 4 requests and 1 dead letter", report)
	}
	hops := []*sarama.ConsumerMessage{c.only(t, c.tier(1)), c.only(t, c.tier(2)), c.only(t, c.tier(3)), c.only(t, c.dlt())}
	checkHops(t, c, hops, written, jitter)
	checkTrace(t, c, hops)
	checkRequests(t, c, hops)
	checkDeadLetter(t, c, hops[3])
}

// checkHops looks at the times: when each decision was made, and until when the
// record waits.
func checkHops(t *testing.T, c *chain, hops []*sarama.ConsumerMessage, written time.Time, jitter float64) {
	t.Helper()
	first := headerTime(t, hops[0], "x-first-failure-at")
	calls := c.endpoint.Requests()
	for i, hop := range hops {
		if at := headerTime(t, hop, "x-first-failure-at"); !at.Equal(first) {
			t.Errorf("%s: x-first-failure-at is %v, in the first hop it was %v", hop.Topic, at, first)
		}
		decided := hop.Timestamp
		failed := headerTime(t, hop, "x-last-failure-at")
		known := time.Now() // the latest that the failure can have been
		if i+1 < len(calls) {
			known = calls[i+1].Arrived
		}
		if answered := calls[i].Answered; failed.Before(answered.Truncate(time.Millisecond)) || failed.After(known) {
			t.Errorf("%s: x-last-failure-at is %v, the answer was given at %v, and its consequence seen at %v", hop.Topic, failed, answered, known)
		}
		if !decided.Equal(failed) {
			t.Errorf("%s: the timestamp is %v, x-last-failure-at is %v: both are the time of the decision", hop.Topic, decided, failed)
		}
		expectHeaders(t, hop, map[string]string{"x-attempt": strconv.Itoa(i + 1)})
		notBefore := headerTime(t, hop, "x-not-before")
		if i == len(c.delays) {
			if !notBefore.Equal(decided) {
				t.Errorf("%s: x-not-before is %v, want the time of dead-lettering, %v", hop.Topic, notBefore, decided)
			}
			continue
		}
		least := time.Duration(float64(c.delays[i]) * (1 - jitter))
		most := time.Duration(float64(c.delays[i])*(1+jitter)) + 2*time.Millisecond // each end is rounded to a millisecond
		if wait := notBefore.Sub(decided); wait < least || wait > most {
			t.Errorf("%s: it waits %v from the decision on, want %v to %v", hop.Topic, wait, least, most)
		}
		if next := calls[i+1].Arrived; next.Before(notBefore) {
			t.Errorf("%s: attempt %d arrived at %v, %v before its time", hop.Topic, i+2, next, notBefore.Sub(next))
		}
	}
	if first.Before(written.Truncate(time.Millisecond)) {
		t.Errorf("x-first-failure-at is %v, before the record was written at %v", first, written)
	}
}

// checkTrace compares each hop's trace with the topics and times of all hops so
// far.
func checkTrace(t *testing.T, c *chain, hops []*sarama.ConsumerMessage) {
	t.Helper()
	const layout = "2006-01-02T15:04:05.000Z"
	origin := c.only(t, c.topic)
	want := "main@" + origin.Timestamp.UTC().Format(layout)
	for _, hop := range hops {
		want += ">" + hop.Topic + "@" + hop.Timestamp.UTC().Format(layout)
		if diff := cmp.Diff(want, header(t, hop, "x-trace")); diff != "" {
			t.Errorf("%s: x-trace (-want +got):\n%s", hop.Topic, diff)
		}
	}
	if entries := strings.Count(want, "@"); entries != 5 {
		t.Errorf("the trace of a walk through main, three tiers and the dead-letter topic has %d entries", entries)
	}
}

func checkRequests(t *testing.T, c *chain, hops []*sarama.ConsumerMessage) {
	t.Helper()
	origin := c.only(t, c.topic)
	want := map[string]string{
		"Idempotency-Key":   "loan-1",
		"Content-Type":      "text/plain",
		"Retryd-Topic":      c.topic,
		"Retryd-Partition":  "0",
		"Retryd-Offset":     "0",
		"Retryd-Timestamp":  strconv.FormatInt(origin.Timestamp.UnixMilli(), 10),
		"Retryd-Key":        "reader-9",
		"Retryd-Tombstone":  "",
		"Traceparent":       "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
		"Content-Length":    strconv.Itoa(len("overdue")),
		"Transfer-Encoding": "",
	}
	for i, call := range c.endpoint.Requests() {
		want["Retryd-Attempt"] = strconv.Itoa(i + 1)
		want["Retryd-First-Failure-At"] = ""
		if i > 0 {
			want["Retryd-First-Failure-At"] = header(t, hops[0], "x-first-failure-at")
		}
		got := map[string]string{}
		for name := range want {
			got[name] = call.Header.Get(name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("headers of request %d (-want +got):\n%s", i+1, diff)
		}
		if agent := call.Header.Get("User-Agent"); !strings.HasPrefix(agent, "retryd/") || !strings.HasSuffix(agent, " ("+c.topic+")") {
			t.Errorf("User-Agent of request %d is %q, want retryd/<version> (%s)", i+1, agent, c.topic)
		}
		if call.Method != http.MethodPost || call.Path != "/records" {
			t.Errorf("request %d is %s %s, want POST /records", i+1, call.Method, call.Path)
		}
	}
}

func checkDeadLetter(t *testing.T, c *chain, letter *sarama.ConsumerMessage) {
	t.Helper()
	origin := c.only(t, c.topic)
	expectHeaders(t, letter, map[string]string{
		"x-reason":           "exhausted",
		"x-class":            "transient",
		"x-status":           "503",
		"x-error-kind":       "status",
		"x-error":            "status 503",
		"x-response":         "the shelf is closed",
		"x-retryd-version":   "dev",
		"x-app-version":      "library-7",
		"x-attempt":          "4",
		"x-event-id":         "loan-1",
		"x-consumer":         c.topic + "/" + c.group(),
		"x-origin-topic":     c.topic,
		"x-origin-partition": "0",
		"x-origin-offset":    "0",
		"x-origin-timestamp": strconv.FormatInt(origin.Timestamp.UnixMilli(), 10),
	})
	if late, err := strconv.Atoi(header(t, letter, "x-late-ms")); err != nil || late < 0 {
		t.Errorf("x-late-ms of the dead letter: %d, %v, want milliseconds", late, err)
	}
	if values := headerValues(letter, "x-limited"); len(values) > 0 {
		t.Errorf("x-limited of a record without a limited failure: %v", values)
	}
}

func TestOnlyFailingRecordsAreAttemptedAgain(t *testing.T) {
	eachBroker(t, func(t *testing.T, addrs []string) {
		c := newChain(t, addrs, 3, failing("bad"), 0, 0, 0)
		c.write(t, slices.Concat(records("good", 90), records("bad", 10))...)
		d := c.run(t)
		report := c.settle(t, d)
		perAttempt := map[int]int{}
		for _, call := range c.endpoint.Requests() {
			perAttempt[call.Attempt]++
		}
		if diff := cmp.Diff(map[int]int{1: 100, 2: 10, 3: 10, 4: 10}, perAttempt); diff != "" {
			t.Errorf("requests per attempt (-want +got):\n%s", diff)
		}
		var perTopic []int
		for _, topic := range c.topics() {
			perTopic = append(perTopic, len(harness.ReadTopic(t, addrs, topic)))
		}
		if diff := cmp.Diff([]int{100, 10, 10, 10, 10}, perTopic); diff != "" {
			t.Errorf("records in main, the tiers and the dead-letter topic (-want +got):\n%s", diff)
		}
		if report.Accepted != 90 || report.DeadLettered != 10 {
			t.Errorf("%s, want 90 accepted and 10 dead", report)
		}
	})
}
