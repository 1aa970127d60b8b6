package harness

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/IBM/sarama"
)

// compareRequest checks a request's id, key and body against what was written.
func (h *history) compareRequest(c Call, r *Report) {
	at := fmt.Sprintf("request of attempt %d", c.Attempt)
	h.compareID(c.EventID, at, r)
	tombstone := c.Header.Get("Retryd-Tombstone") == "true"
	if !bytes.Equal(c.Body, h.Value) {
		h.wrong(r, at, "body", c.Body, h.Value)
	}
	if tombstone != (h.Value == nil) {
		r.WrongBytes = append(r.WrongBytes, Finding{h.name, fmt.Sprintf("%s: tombstone %v, written %v", at, tombstone, h.Value == nil)})
	}
	if !bytes.Equal(c.Request.Key, h.Record.Key) {
		h.wrong(r, at, "key", c.Request.Key, h.Record.Key)
	}
}

// compareRecord checks the id, key, value and foreign headers of a hop or a dead
// letter against what was written. Kafka's null differs from empty bytes.
func (h *history) compareRecord(m *sarama.ConsumerMessage, tiers []Tier, r *Report) {
	at := fmt.Sprintf("%s/%d/%d", m.Topic, m.Partition, m.Offset)
	if id := header(m, headerEventID); id != "" {
		h.compareID(id, at, r)
	}
	if !sameBytes(m.Key, h.Key) {
		h.wrong(r, at, "key", m.Key, h.Key)
	}
	if !sameBytes(m.Value, h.Value) {
		h.wrong(r, at, "value", m.Value, h.Value)
	}
	got := make([]sarama.RecordHeader, len(m.Headers))
	for i, header := range m.Headers {
		got[i] = *header
	}
	h.compareHeaders("headers", at, foreign(got), foreign(h.headers()), r)
	if tierOf(h.topic, tiers) < 0 {
		h.compareHeaders("carried headers", at, carried(got), carriedFromMain(h.headers()), r)
	}
}

func (h *history) compareHeaders(what, at string, got, want []sarama.RecordHeader, r *Report) {
	if !slices.EqualFunc(got, want, sameHeader) {
		r.WrongBytes = append(r.WrongBytes,
			Finding{h.name, fmt.Sprintf("%s: %s %s, written %s", at, what, spell(got), spell(want))})
	}
}

// compareID checks that the record always has the same event id: the written one
// if there is one, else whichever was seen first.
func (h *history) compareID(id, at string, r *Report) {
	if h.id == "" {
		h.id = id
	}
	if id != h.id {
		h.wrong(r, at, "event id", []byte(id), []byte(h.id))
	}
}

func (h *history) wrong(r *Report, at, what string, got, want []byte) {
	r.WrongBytes = append(r.WrongBytes, Finding{h.name, fmt.Sprintf("%s: %s %.80q, written %.80q", at, what, got, want)})
}

func sameBytes(a, b []byte) bool { return bytes.Equal(a, b) && (a == nil) == (b == nil) }

func sameHeader(a, b sarama.RecordHeader) bool {
	return bytes.Equal(a.Key, b.Key) && sameBytes(a.Value, b.Value)
}

// foreign returns the headers that retryd has no name for, in order.
func foreign(headers []sarama.RecordHeader) []sarama.RecordHeader {
	return selected(headers, func(name string) bool {
		return !own(name) && !strings.HasPrefix(name, foreignPrefix)
	})
}

// carried returns the headers that an application wrote under a name of
// retryd's, as they travel, in order.
func carried(headers []sarama.RecordHeader) []sarama.RecordHeader {
	return selected(headers, func(name string) bool { return strings.HasPrefix(name, foreignPrefix) })
}

// carriedFromMain returns what carried should find in the hops of a record that
// was written to a main topic with the given headers. The event id stays what it
// is.
func carriedFromMain(headers []sarama.RecordHeader) []sarama.RecordHeader {
	clashing := selected(headers, func(name string) bool { return own(name) && name != headerEventID })
	for i := range clashing {
		clashing[i].Key = append([]byte(foreignPrefix), clashing[i].Key...)
	}
	return clashing
}

func selected(headers []sarama.RecordHeader, want func(name string) bool) []sarama.RecordHeader {
	var kept []sarama.RecordHeader
	for _, h := range headers {
		if want(string(h.Key)) {
			kept = append(kept, h)
		}
	}
	return kept
}

func spell(headers []sarama.RecordHeader) string {
	list := make([]string, len(headers))
	for i, h := range headers {
		list[i] = fmt.Sprintf("%s=%.40q", h.Key, h.Value)
	}
	return "[" + strings.Join(list, " ") + "]"
}
