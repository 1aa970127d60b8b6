package record

import (
	"math"
	"slices"
	"strings"
)

// The headers that carry a record's state. retryd owns these names: it writes one
// value each, in this order and in ASCII, and replaces them at every hop.
const (
	HeaderAttempt        = "x-attempt"          // attempts already made
	HeaderLimited        = "x-limited"          // failures of class unknown so far
	HeaderFirstFailureAt = "x-first-failure-at" // epoch ms
	HeaderNotBefore      = "x-not-before"       // epoch ms; on a dead letter when it was dead-lettered
	HeaderTrace          = "x-trace"            // see Trace
	HeaderLate           = "x-late-ms"          // milliseconds
	HeaderEventID        = "x-event-id"         // 1 to 256 visible ASCII characters

	// The four of the origin count only together.
	HeaderOriginTopic     = "x-origin-topic"
	HeaderOriginPartition = "x-origin-partition"
	HeaderOriginOffset    = "x-origin-offset"
	HeaderOriginTimestamp = "x-origin-timestamp" // epoch ms; -1 is none

	HeaderConsumer = "x-consumer" // see FormatConsumer

	// Of the last failure.
	HeaderClass         = "x-class"
	HeaderStatus        = "x-status"
	HeaderErrorKind     = "x-error-kind"
	HeaderError         = "x-error"           // one line of at most 256 bytes
	HeaderLastFailureAt = "x-last-failure-at" // epoch ms
)

// HeaderReplayCount is how often a record was replayed. It is read on main too, where a
// replay may go. Only a replay writes it: a hop carries it like a foreign header, and one
// that is no number may be somebody else's.
const HeaderReplayCount = "x-replay-count"

// The headers that only a dead letter carries.
const (
	HeaderReason        = "x-reason"
	HeaderResponse      = "x-response" // at most 1 KiB
	HeaderRetrydVersion = "x-retryd-version"
	HeaderAppVersion    = "x-app-version"
)

// ForeignPrefix begins the name under which a main record's header is carried
// that bears one of retryd's own names: x-foreign-x-attempt.
const ForeignPrefix = "x-foreign-"

// Own reports whether key is a header name that retryd owns. Kafka compares
// header names byte for byte, and so does retryd.
func Own(key []byte) bool {
	switch string(key) {
	case HeaderAttempt, HeaderLimited, HeaderFirstFailureAt, HeaderNotBefore,
		HeaderTrace, HeaderLate, HeaderEventID,
		HeaderOriginTopic, HeaderOriginPartition, HeaderOriginOffset, HeaderOriginTimestamp,
		HeaderConsumer, HeaderClass, HeaderStatus, HeaderErrorKind, HeaderError, HeaderLastFailureAt,
		HeaderReason, HeaderResponse, HeaderRetrydVersion, HeaderAppVersion:
		return true
	}
	return false
}

// Needed drops, in place, the headers of a record that retryd wrote which are in its
// state. The event id stays: it may be the application's, and be sent to the endpoint.
func Needed(headers []Header) []Header {
	return slices.DeleteFunc(headers, func(h Header) bool { return Own(h.Key) && string(h.Key) != HeaderEventID })
}

// Find returns the value of the last header called name. Kafka allows a name to
// repeat; the last writer is believed.
func Find(headers []Header, name string) (value []byte, ok bool) {
	for i := len(headers) - 1; i >= 0; i-- {
		if string(headers[i].Key) == name {
			return headers[i].Value, true
		}
	}
	return nil, false
}

// FormatConsumer returns the value of x-consumer. relay must not contain a slash.
func FormatConsumer(relay, group string) string { return relay + "/" + group }

// ConsumerGroup returns the group of an x-consumer value: what follows its first
// slash, since group names may contain one. It is empty if there is none.
func ConsumerGroup(consumer string) string {
	_, group, _ := strings.Cut(consumer, "/")
	return group
}

// replays returns the count of x-replay-count; 0 if it is none.
func replays(headers []Header) int {
	value, _ := Find(headers, HeaderReplayCount)
	n, _ := decimal(value, math.MaxInt32)
	return int(n)
}
