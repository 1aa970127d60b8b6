package logging

import (
	"encoding/hex"
	"unicode/utf8"

	"go.uber.org/zap"
)

// The verbs: what can happen to a record. A verb is the whole message of its
// line. Failed attempts, forwards, re-parks and dead letters are logged at info, holds and
// deliveries at debug. The hot path asks first, so that a level that is off (or a
// line that is sampled away) costs no formatting and no allocation:
//
//	if ce := log.Check(zap.DebugLevel, logging.Hold); ce != nil {
//		ce.Write(zap.String(logging.FieldTopic, r.Topic), logging.Key(r.Key))
//	}
const (
	Attempt    = "attempt"     // one failed POST
	Forward    = "forward"     // written to the next topic, and acknowledged
	Repark     = "re-park"     // moved to the tail of a topic without an attempt, and acknowledged
	Hold       = "hold"        // read before it is due: it waits
	Deliver    = "deliver"     // accepted by the endpoint
	DeadLetter = "dead-letter" // written to the dead-letter topic, and acknowledged
)

// The keys of fields. Durations are in seconds and times RFC 3339 in JSON; the
// console writes both for people. Topic, partition and offset are always where the
// record was read; where it went is next, and for a dead letter dlt_offset.
const (
	FieldRelay      = "relay"
	FieldTier       = "tier"  // main, 1, 2, ...
	FieldGroup      = "group" // consumer group
	FieldTopic      = "topic"
	FieldPartition  = "partition"
	FieldOffset     = "offset"
	FieldKey        = "key" // of the record; see Key
	FieldEventID    = "event_id"
	FieldAttempt    = "attempt"    // 1-based: the attempt that was made or comes next
	FieldWait       = "wait"       // from now until the record is due
	FieldNotBefore  = "not_before" // when it is due
	FieldLate       = "late"       // from due until the POST started
	FieldNext       = "next"       // topic that the record was written to
	FieldDelay      = "delay"      // of the hop to next
	FieldDLTOffset  = "dlt_offset"
	FieldClass      = "class"
	FieldReason     = "reason"
	FieldStatus     = "status"     // HTTP status, 0 without a response
	FieldErrorKind  = "error_kind" // closed set: timeout, refused, status, ...
	FieldError      = "error"
	FieldDuration   = "duration" // of the POST
	FieldInPlace    = "in_place" // POSTs of the same attempt beside its first, the next one included if there is one
	FieldSpent      = "spent"    // false: no attempt is spent, the record makes the same one again
	FieldSuppressed = "suppressed"
)

// maxKey bounds the part of a record's key that is logged, in bytes.
const maxKey = 64

// Key is the field of a record's key: its first 64 bytes, as text if they are
// printable and else as hexadecimal digits after 0x; "…" marks that there is more.
// A null key gives no field. The bytes are looked at only when the line is
// written, so k must not change until then.
func Key(k []byte) zap.Field {
	if k == nil {
		return zap.Skip()
	}
	return zap.Stringer(FieldKey, key(k))
}

type key []byte

func (k key) String() string {
	head, more := []byte(k), ""
	if len(head) > maxKey {
		head, more = head[:maxKey], "…"
	}
	if text := string(wholeRunes(head, more != "")); printable(text) {
		return text + more
	}
	return "0x" + hex.EncodeToString(head) + more
}

// wholeRunes drops the rune that a cut went through, at most three bytes.
func wholeRunes(b []byte, cut bool) []byte {
	for n := 1; cut && n < utf8.UTFMax && n <= len(b); n++ {
		if last := b[len(b)-n:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				return b[:len(b)-n]
			}
			break
		}
	}
	return b
}

// Suppressed says how many lines like this one a Limiter kept back; none gives no
// field.
func Suppressed(n int) zap.Field {
	if n == 0 {
		return zap.Skip()
	}
	return zap.Int(FieldSuppressed, n)
}
