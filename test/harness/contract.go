package harness

import (
	"slices"
	"strconv"
	"time"

	"github.com/IBM/sarama"
)

// The headers that operators read. They are spelled out here, not taken from the
// engine, so that a wrong name there is found.
const (
	headerAttempt         = "x-attempt"
	headerNotBefore       = "x-not-before"
	headerEventID         = "x-event-id"
	headerOriginTopic     = "x-origin-topic"
	headerOriginPartition = "x-origin-partition"
	headerOriginOffset    = "x-origin-offset"

	foreignPrefix = "x-foreign-" // carries an application's header that has a name of retryd's
)

// own reports whether a header is one that retryd writes.
func own(name string) bool {
	switch name {
	case headerAttempt, "x-limited", "x-first-failure-at", headerNotBefore, "x-trace", "x-late-ms", headerEventID,
		headerOriginTopic, headerOriginPartition, headerOriginOffset, "x-origin-timestamp", "x-consumer",
		"x-class", "x-status", "x-error-kind", "x-error", "x-last-failure-at",
		"x-reason", "x-response", "x-retryd-version", "x-app-version",
		"x-replay-count", "x-replay-batch", "x-replay-operator":
		return true
	}
	return false
}

func header(m *sarama.ConsumerMessage, name string) string {
	for _, h := range m.Headers {
		if string(h.Key) == name {
			return string(h.Value)
		}
	}
	return ""
}

// origin returns the event id of a record and where it was first written: what
// its headers say, or where it is.
func origin(m *sarama.ConsumerMessage) (id string, at position) {
	at = position{m.Topic, m.Partition, m.Offset}
	partition, err1 := strconv.ParseInt(header(m, headerOriginPartition), 10, 32)
	offset, err2 := strconv.ParseInt(header(m, headerOriginOffset), 10, 64)
	if topic := header(m, headerOriginTopic); topic != "" && err1 == nil && err2 == nil {
		at = position{topic, int32(partition), offset}
	}
	return header(m, headerEventID), at
}

// tierOf returns the index of a tier topic, or -1.
func tierOf(topic string, tiers []Tier) int {
	return slices.IndexFunc(tiers, func(t Tier) bool { return t.Topic == topic })
}

// hopAttempt returns the attempts that a record in a tier has behind it: what it
// says, else the tier's number.
func hopAttempt(m *sarama.ConsumerMessage, tiers []Tier) int {
	if n, err := strconv.Atoi(header(m, headerAttempt)); err == nil {
		return n
	}
	return tierOf(m.Topic, tiers) + 1
}

// writtenAttempt is hopAttempt for a record that was written straight into a
// tier.
func writtenAttempt(headers []sarama.RecordHeader, tier int) int {
	for _, h := range headers {
		if n, err := strconv.Atoi(string(h.Value)); string(h.Key) == headerAttempt && err == nil {
			return n
		}
	}
	return tier + 1
}

// hopNotBefore returns when a record in a tier is due: what it says, else its
// timestamp and the tier's delay.
func hopNotBefore(m *sarama.ConsumerMessage, tiers []Tier) time.Time {
	if ms, err := strconv.ParseInt(header(m, headerNotBefore), 10, 64); err == nil {
		return time.UnixMilli(ms)
	}
	return m.Timestamp.Add(tiers[tierOf(m.Topic, tiers)].Delay)
}
