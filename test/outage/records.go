package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/IBM/sarama"
)

// mainTime is the time of a hop in x-trace.
const mainTime = "2006-01-02T15:04:05.000Z"

// waiting is a record in a tier: its attempts up to there have failed.
type waiting struct {
	id      string
	tier    int // from 1: the attempts made
	limited int // of these, answered with 500; the others with 503
	due     time.Time
}

// fresh is a new record for the main topic.
func fresh(id string) *sarama.ProducerMessage {
	return &sarama.ProducerMessage{
		Topic: topic, Key: sarama.StringEncoder(id), Value: sarama.StringEncoder(`{"loan":"` + id + `"}`),
		Headers: []sarama.RecordHeader{{Key: []byte("x-event-id"), Value: []byte(id)}},
	}
}

// message is the record as retryd would have written it into the tier, when the attempt
// before failed. number makes its origin.
func (w waiting) message(number int, delays []time.Duration) *sarama.ProducerMessage {
	written := w.due.Add(-delays[w.tier-1])
	first, trace := w.history(written, delays)
	m := fresh(w.id)
	m.Topic, m.Timestamp = tierTopic(w.tier), written
	m.Headers = nil
	add := func(name, value string) {
		m.Headers = append(m.Headers, sarama.RecordHeader{Key: []byte(name), Value: []byte(value)})
	}
	add("x-attempt", strconv.Itoa(w.tier))
	if w.limited > 0 {
		add("x-limited", strconv.Itoa(w.limited))
	}
	add("x-first-failure-at", millis(first))
	add("x-not-before", millis(w.due))
	add("x-trace", trace)
	add("x-late-ms", "0")
	add("x-event-id", w.id)
	add("x-origin-topic", topic)
	add("x-origin-partition", strconv.Itoa(number%partitions))
	add("x-origin-offset", strconv.Itoa(number/partitions))
	add("x-origin-timestamp", millis(first))
	add("x-consumer", topic+"/retryd-"+topic)
	class, status := "transient", "503"
	if w.limited > 0 {
		class, status = "unknown", "500"
	}
	add("x-class", class)
	add("x-status", status)
	add("x-error-kind", "status")
	add("x-error", "HTTP "+status)
	add("x-last-failure-at", millis(written))
	return m
}

// history returns when the record failed first, and its trace.
func (w waiting) history(written time.Time, delays []time.Duration) (first time.Time, trace string) {
	at := written
	var hops []string
	for tier := w.tier; tier >= 1; tier-- {
		hops = append([]string{">" + tierTopic(tier) + "@" + at.UTC().Format(mainTime)}, hops...)
		if tier > 1 {
			at = at.Add(-delays[tier-2])
		}
	}
	return at, "main@" + at.UTC().Format(mainTime) + strings.Join(hops, "")
}

// spread returns records that are due evenly from one time to another. Each is in one
// of the tiers in which it can be by now, in turn.
func spread(n int, from, to, now time.Time, delays []time.Duration) []waiting {
	all := make([]waiting, n)
	for i := range all {
		due := from.Add(to.Sub(from) * time.Duration(i) / time.Duration(n))
		tiers := []int{len(delays)}
		for t, delay := range delays[:len(delays)-1] {
			if !due.Add(-delay).After(now) {
				tiers = append(tiers, t+1)
			}
		}
		all[i] = waiting{id: fmt.Sprintf("waiting-%d", i), tier: tiers[i%len(tiers)], due: due}
	}
	return all
}

func millis(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) }

// header returns the value of a header of retryd's, or "".
func header(m *sarama.ConsumerMessage, name string) string {
	for _, h := range m.Headers {
		if string(h.Key) == name {
			return string(h.Value)
		}
	}
	return ""
}

// number returns a header that is a number, 0 without one.
func number(m *sarama.ConsumerMessage, name string) int64 {
	n, _ := strconv.ParseInt(header(m, name), 10, 64)
	return n
}
