package scenarios

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/IBM/sarama"

	"github.com/retryd/retryd/test/harness"
)

// allBytes is every byte there is: no text in any encoding.
func allBytes() []byte {
	b := make([]byte, 256)
	for i := range b {
		b[i] = byte(i)
	}
	return b
}

// sacred is records with everything that a careless copy would change.
func sacred() []harness.Record {
	header := func(name string, value []byte) sarama.RecordHeader {
		return sarama.RecordHeader{Key: []byte(name), Value: value}
	}
	many := make([]sarama.RecordHeader, 0, 60)
	for i := range 60 {
		many = append(many, header(fmt.Sprintf("tag-%d", i%20), []byte(fmt.Sprintf("value %d", i)))) // each name three times
	}
	return []harness.Record{
		{ID: "binary", Key: allBytes(), Value: allBytes()},
		{ID: "null-key", Key: nil, Value: []byte("value")},
		{ID: "null-value", Key: []byte("key"), Value: nil},
		{ID: "null-both"},
		{ID: "empty-key", Key: []byte{}, Value: []byte("value")},
		{ID: "empty-value", Key: []byte("key"), Value: []byte{}},
		{ID: "invalid-utf8", Key: []byte("\xff\xfe key"), Value: []byte("\xc3\x28"), Headers: []sarama.RecordHeader{
			header("caf\xe9", []byte("\xa0\xa1")), header("", []byte("a header without a name")),
		}},
		{ID: "many-headers", Key: []byte("key"), Value: []byte("value"), Headers: many},
		{ID: "bare-headers", Key: []byte("key"), Value: []byte("value"), Headers: []sarama.RecordHeader{
			header("empty", []byte{}), header("null", nil), header("empty", nil), header("null", []byte{}),
		}},
		{ID: "clash", Key: []byte("key"), Value: []byte("value"), Headers: []sarama.RecordHeader{
			header("x-attempt", []byte("7")), header("X-Attempt", []byte("8")), header("x-trace", []byte("\x00\xff")), header("x-attempt", nil),
		}},
	}
}

func TestBytesArriveUnchangedAtEveryHop(t *testing.T) {
	eachBroker(t, func(t *testing.T, addrs []string) {
		c := newChain(t, addrs, 6, always(http.StatusServiceUnavailable), 0, 0)
		c.write(t, sacred()...)
		c.write(t, records("spread", 60)...) // over all partitions
		d := c.run(t)
		c.ledger.Close(t, c.endpoint, bound)
		for name, want := range map[string]float64{"x-attempt": 2, "x-trace": 1} {
			if got := metric(t, d, c.series("retryd_ignored_headers_total", fmt.Sprintf("header=%q", name))); got != want {
				t.Errorf("retryd_ignored_headers_total of %s is %v, want %v", name, got, want)
			}
		}
		report := c.settle(t, d) // compares all bytes, and the numbers of the attempts
		if n := len(sacred()) + 60; report.DeadLettered != n || report.Requests != 3*n {
			t.Errorf("%s, want %d dead letters after 3 requests each", report, n)
		}
		checkForeignAttempt(t, c)
		checkPartitions(t, c)
		checkAbsence(t, c)
	})
}

// checkForeignAttempt looks at a record that came with a header x-attempt.
func checkForeignAttempt(t *testing.T, c *chain) {
	t.Helper()
	for i, topic := range c.topics()[1:] {
		for _, m := range harness.ReadTopic(t, c.addrs, topic) {
			if header(t, m, "x-event-id") != "clash" {
				continue
			}
			expectHeaders(t, m, map[string]string{"x-attempt": fmt.Sprint(i + 1), "X-Attempt": "8", "x-foreign-x-trace": "\x00\xff"})
			if carried := headerValues(m, "x-foreign-x-attempt"); len(carried) != 2 || carried[0] != "7" || carried[1] != "" {
				t.Errorf("%s: x-foreign-x-attempt is %q, want 7 and null, as they were", topic, carried)
			}
		}
	}
}

// checkPartitions compares each record's partition at every hop with main's.
func checkPartitions(t *testing.T, c *chain) {
	t.Helper()
	at := map[string]int32{}
	used := map[int32]bool{}
	for _, m := range harness.ReadTopic(t, c.addrs, c.topic) {
		at[header(t, m, "x-event-id")] = m.Partition
		used[m.Partition] = true
	}
	if len(used) != 6 {
		t.Fatalf("the records are in %d partitions, want 6", len(used))
	}
	for _, topic := range c.topics()[1:] {
		for _, m := range harness.ReadTopic(t, c.addrs, topic) {
			if id := header(t, m, "x-event-id"); m.Partition != at[id] {
				t.Errorf("%s is in partition %d of %s, was in %d", id, m.Partition, topic, at[id])
			}
		}
	}
}

// checkAbsence looks at how requests tell null from empty.
func checkAbsence(t *testing.T, c *chain) {
	t.Helper()
	for _, call := range c.endpoint.Requests() {
		_, key := call.Header["Retryd-Key"]
		tombstone := call.Header.Get("Retryd-Tombstone")
		switch call.EventID {
		case "null-key", "null-both":
			if key {
				t.Errorf("%s: a null key has the header Retryd-Key", call.EventID)
			}
		case "empty-key":
			if !key {
				t.Errorf("%s: an empty key has no header Retryd-Key", call.EventID)
			}
		}
		if null := call.EventID == "null-value" || call.EventID == "null-both"; (tombstone == "true") != null {
			t.Errorf("%s: Retryd-Tombstone is %q", call.EventID, tombstone)
		}
	}
}
