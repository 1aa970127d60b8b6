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

// Applications that read the main topic themselves write what failed straight
// into a tier: consume: false.

func TestRecordWrittenIntoATierWaitsForTheTiersDelay(t *testing.T) {
	eachBroker(t, func(t *testing.T, addrs []string) {
		c := newChain(t, addrs, 2, always(http.StatusServiceUnavailable), 300*time.Millisecond, 700*time.Millisecond)
		d := suite.Daemon(t, configuration(addrs, debugLog, c.relay("consume: false")))
		c.writeTo(t, c.tier(1), harness.Record{Key: []byte("first"), Value: []byte("one")})
		c.writeTo(t, c.tier(2), harness.Record{Key: []byte("second"), Value: []byte("two")})
		c.settle(t, d) // its ledger knows when records without a header are due, and their attempts

		attempts := map[string][]int{}
		for _, call := range c.endpoint.Requests() {
			attempts[string(call.Body)] = append(attempts[string(call.Body)], call.Attempt)
		}
		if got := fmt.Sprint(attempts); got != "map[one:[2 3] two:[3]]" {
			t.Errorf("attempts per record: %s, want map[one:[2 3] two:[3]]: a record in tier i has i attempts behind it", got)
		}
		for _, letter := range harness.ReadTopic(t, addrs, c.dlt()) {
			tier := c.tier(1)
			if string(letter.Key) == "second" {
				tier = c.tier(2)
			}
			expectHeaders(t, letter, map[string]string{"x-reason": "exhausted", "x-attempt": "3", "x-origin-topic": tier})
			if trace := header(t, letter, "x-trace"); !strings.HasPrefix(trace, tier+"@") {
				t.Errorf("x-trace of a record that was written into %s is %s", tier, trace)
			}
		}
	})
}

func TestRecordWrittenIntoATierWaitsForItsOwnNotBefore(t *testing.T) {
	eachBroker(t, func(t *testing.T, addrs []string) {
		c := newChain(t, addrs, 1, nil, 100*time.Millisecond)
		d := suite.Daemon(t, configuration(addrs, debugLog, c.relay("consume: false")))
		due := time.Now().Add(3 * time.Second).Truncate(time.Millisecond)
		c.writeTo(t, c.tier(1), harness.Record{ID: "patient", Headers: []sarama.RecordHeader{
			{Key: []byte("x-not-before"), Value: []byte(strconv.FormatInt(due.UnixMilli(), 10))},
			{Key: []byte("x-attempt"), Value: []byte("0")},
		}}, harness.Record{ID: "behind"})
		c.settle(t, d)
		for _, call := range c.endpoint.Requests() {
			switch call.EventID {
			case "patient":
				if call.Arrived.Before(due) || call.Attempt != 1 {
					t.Errorf("attempt %d arrived %v before x-not-before, want attempt 1 after it", call.Attempt, due.Sub(call.Arrived))
				}
			case "behind":
				if call.Attempt != 2 {
					t.Errorf("the record without x-attempt has attempt %d, want 2", call.Attempt)
				}
			}
		}
	})
}

// malformed is one value for every header that retryd reads, none of which it can
// believe.
var malformed = map[string]string{
	"x-attempt":          "two",
	"x-limited":          "",
	"x-first-failure-at": "yesterday",
	"x-not-before":       "soon",
	"x-trace":            "from here to there",
	"x-late-ms":          "1.5",
	"x-origin-topic":     "no topic!",
	"x-origin-partition": "zero",
	"x-origin-offset":    "first",
	"x-origin-timestamp": "today",
	"x-consumer":         "nobody",
	"x-class":            "Not A Class",
	"x-status":           "42",
	"x-error-kind":       "TIME OUT",
	"x-error":            "two\nlines",
	"x-last-failure-at":  "99999999999999999999",
}

func TestMalformedHeadersCountAsAbsent(t *testing.T) {
	eachBroker(t, func(t *testing.T, addrs []string) {
		c := newChain(t, addrs, 1, always(http.StatusServiceUnavailable), 200*time.Millisecond, 300*time.Millisecond)
		d := suite.Daemon(t, configuration(addrs, debugLog, c.relay("consume: false")))
		record := harness.Record{Key: []byte("k"), Value: []byte("v")}
		for name, value := range malformed {
			record.Headers = append(record.Headers, sarama.RecordHeader{Key: []byte(name), Value: []byte(value)})
		}
		c.writeTo(t, c.tier(1), record)
		c.ledger.Close(t, c.endpoint, bound)
		for name := range malformed {
			if got := metric(t, d, c.series("retryd_malformed_headers_total", fmt.Sprintf("header=%q", name))); got != 1 {
				t.Errorf("retryd_malformed_headers_total of %s is %v, want 1", name, got)
			}
		}
		c.settle(t, d)

		written := harness.ReadTopic(t, addrs, c.tier(1))[0]
		letter := c.only(t, c.dlt())
		expectHeaders(t, letter, map[string]string{
			"x-attempt":          "3",
			"x-event-id":         fmt.Sprintf("%s/0/0@%d", c.tier(1), written.Timestamp.UnixMilli()),
			"x-origin-topic":     c.tier(1),
			"x-origin-partition": "0",
			"x-origin-offset":    "0",
			"x-origin-timestamp": strconv.FormatInt(written.Timestamp.UnixMilli(), 10),
			"x-consumer":         c.topic + "/" + c.group(),
			"x-class":            "transient",
			"x-status":           "503",
			"x-error-kind":       "status",
			"x-error":            "status 503",
		})
		if trace := header(t, letter, "x-trace"); strings.Count(trace, ">") != 2 || !strings.HasPrefix(trace, c.tier(1)+"@") {
			t.Errorf("x-trace is %s, want a walk from %s over two failures", trace, c.tier(1))
		}
	})
}

func TestRelayThatDoesNotConsumeLeavesMainAlone(t *testing.T) {
	eachBroker(t, func(t *testing.T, addrs []string) {
		c := newChain(t, addrs, 2, nil, 100*time.Millisecond)
		d := suite.Daemon(t, configuration(addrs, debugLog, c.relay("consume: false")))
		before := []harness.Record{{Value: []byte("on main")}, {Value: []byte("on main too")}}
		produce(t, addrs, c.topic, nil, before...) // not in the ledger: a request for them would be unknown to it
		c.writeTo(t, c.tier(1), records("tiered", 3)...)
		report := c.settle(t, d)
		if report.Accepted != 3 || report.Requests != 3 {
			t.Errorf("%s, want the 3 records of the tier alone", report)
		}
		if left := harness.ReadTopic(t, addrs, c.topic); len(left) != len(before) {
			t.Errorf("%d records on main, %d were written", len(left), len(before))
		}
		if at := committed(t, harness.NewClient(t, addrs), c.group(), c.topic); len(at) > 0 {
			t.Errorf("a group read main and committed %v", at)
		}
	})
}
