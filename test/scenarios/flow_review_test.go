package scenarios

import (
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/IBM/sarama"
	"github.com/google/go-cmp/cmp"

	"github.com/retryd/retryd/test/harness"
)

// contradicts answers that a record contradicts what there is, to one of them only in
// its second attempt; others are invalid.
func contradicts(r harness.Request) harness.Answer {
	switch {
	case r.EventID == "late" && r.Attempt == 1:
		return harness.Answer{Status: http.StatusServiceUnavailable}
	case r.EventID == "unreadable":
		return harness.Answer{Status: http.StatusRequestEntityTooLarge, Body: "what is it?"}
	case r.EventID == "invalid":
		return harness.Answer{Status: http.StatusBadRequest}
	}
	return harness.Answer{Status: http.StatusConflict, Body: "it was closed", Header: http.Header{"X-Version": {"7.1"}}}
}

func TestDeadLettersAreKeptApart(t *testing.T) {
	t.Parallel()
	addrs := embedded(t)
	for _, tt := range []struct {
		name             string
		review, rule     bool
		reviewed, buried float64
	}{
		{"by default", false, false, 0, 13},
		{"to review", true, false, 11, 2},
		{"to review and in quarantine", true, true, 11, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := newChain(t, addrs, 6, contradicts, 0)
			keys, topics := []string{"endpoint.app_version_header: x-version"}, []string{c.dlt()}
			conflicts, unreadable := c.dlt(), c.dlt()
			if tt.review {
				conflicts = c.topic + ".review"
				keys, topics = append(keys, "review: {enabled: true}"), append(topics, conflicts)
			}
			if tt.rule {
				unreadable = c.topic + ".unreadable"
				keys, topics = append(keys, "endpoint.rules: [{status: 413, action: dead_letter, dlt: "+unreadable+"}]"), append(topics, unreadable)
			}
			c.ledger = harness.NewLedger(t, addrs, []harness.Tier{{Topic: c.tier(1)}}, topics...)
			want := map[string]grave{}
			for _, r := range sacred() {
				want[r.ID] = grave{conflicts, "conflict"}
			}
			want["late"], want["invalid"], want["unreadable"] = grave{conflicts, "conflict"}, grave{c.dlt(), "rejected"}, grave{unreadable, "rejected"}
			c.write(t, append(sacred(), harness.Record{ID: "late", Key: allBytes(), Value: allBytes()}, harness.Record{ID: "invalid"},
				harness.Record{ID: "unreadable", Key: allBytes(), Value: allBytes()})...)
			d := c.run(t, keys...)
			c.ledger.Close(t, c.endpoint, bound)
			awaitMetric(t, d, c.series("retryd_review_records_total", `class="conflict"`), tt.reviewed)
			awaitMetric(t, d, c.series("retryd_dead_letters_total"), tt.buried)
			c.settle(t, d) // compares all bytes
			if diff := cmp.Diff(want, c.graves(t, topics...)); diff != "" {
				t.Errorf("where records ended (-want +got):\n%s", diff)
			}
			c.checkDiagnosis(t, conflicts)
		})
	}
}

// grave is where a record ended, and why.
type grave struct{ Topic, Reason string }

// graves are those of all records in some topics, by event id.
func (c *chain) graves(t *testing.T, topics ...string) map[string]grave {
	t.Helper()
	got := map[string]grave{}
	for _, topic := range topics {
		for _, m := range harness.ReadTopic(t, c.addrs, topic) {
			got[header(t, m, "x-event-id")] = grave{topic, header(t, m, "x-reason")}
		}
	}
	return got
}

// checkDiagnosis looks at what tells people of the record that failed and was then called
// a conflict.
func (c *chain) checkDiagnosis(t *testing.T, topic string) {
	t.Helper()
	records := harness.ReadTopic(t, c.addrs, topic)
	i := slices.IndexFunc(records, func(m *sarama.ConsumerMessage) bool { return header(t, m, "x-event-id") == "late" })
	if i < 0 {
		t.Fatalf("the record is not in %s", topic)
	}
	m := records[i]
	expectHeaders(t, m, map[string]string{
		"x-reason": "conflict", "x-class": "conflict", "x-status": "409", "x-error-kind": "status", "x-error": "status 409",
		"x-response": "it was closed", "x-app-version": "7.1", "x-attempt": "2",
		"x-origin-topic": c.topic, "x-origin-partition": strconv.Itoa(int(m.Partition)), "x-consumer": c.topic + "/" + c.group(),
	})
	walk := regexp.MustCompile("^main@[^>]+>" + regexp.QuoteMeta(c.tier(1)) + "@[^>]+>" + regexp.QuoteMeta(m.Topic) + "@[^>]+$")
	if trace := header(t, m, "x-trace"); !walk.MatchString(trace) {
		t.Errorf("x-trace is %s, want a walk over the tier into %s", trace, m.Topic)
	}
	for _, name := range []string{"x-first-failure-at", "x-last-failure-at", "x-not-before", "x-late-ms", "x-origin-offset", "x-origin-timestamp", "x-retryd-version"} {
		if header(t, m, name) == "" {
			t.Errorf("%s is empty", name)
		}
	}
}
