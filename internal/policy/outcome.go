// Package policy decides what happens to a record after an attempt: the schedule
// with its jitter, the classes of failures, and Decide.
//
// Everything here is a pure function of values and now. It opens no socket, reads
// no clock and knows no broker, so that the whole policy can be read and tested
// without either.
package policy

import "time"

// Class says what a failure means for the record. See the table of classes in
// docs/policy.md; the values are those of the header x-class.
type Class string

// The classes. ClassNone is a delivered record.
const (
	ClassNone      Class = ""
	ClassTransient Class = "transient" // the next step; an attempt is spent
	ClassThrottled Class = "throttled" // 429: the endpoint asks for time; no attempt is spent
	ClassInvalid   Class = "invalid"   // the endpoint cannot read the record: dead-letter
	ClassConflict  Class = "conflict"  // the record contradicts the endpoint's state: dead-letter
	ClassUnknown   Class = "unknown"   // an attempt is spent, at most limited_attempts times
	ClassEndpoint  Class = "endpoint"  // the endpoint or its configuration is wrong, not the record
)

// Kind says how an attempt failed; the values are those of the header x-error-kind.
type Kind string

// The kinds.
const (
	KindNone     Kind = ""
	KindTimeout  Kind = "timeout"
	KindRefused  Kind = "refused"
	KindReset    Kind = "reset"
	KindDNS      Kind = "dns"
	KindTLS      Kind = "tls"
	KindStatus   Kind = "status"
	KindProtocol Kind = "protocol"
)

// Outcome is the result of one HTTP attempt.
type Outcome struct {
	Class      Class // ClassNone: delivered
	Kind       Kind
	Status     int    // HTTP status; 0 without a response
	Error      string // one line, at most 256 bytes, without credentials; empty if delivered
	Response   []byte // start of the response body, at most 1 KiB; only on a failure
	AppVersion string // from the configured response header
	Duration   time.Duration
}

// Delivered reports whether the endpoint accepted the record.
func (o Outcome) Delivered() bool { return o.Class == ClassNone }
