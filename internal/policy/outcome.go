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

// Treatment is what a rule says is to be done about an outcome; the values are those
// of the key action of endpoint.rules.
type Treatment string

// The treatments. The zero value is none of them, and is treated as TreatLimited: no
// record is lost for want of a rule.
const (
	TreatDone       Treatment = "done"        // the endpoint accepted the record
	TreatRetry      Treatment = "retry"       // the next step
	TreatLimited    Treatment = "limited"     // the next step, at most limited_attempts times
	TreatThrottle   Treatment = "throttle"    // it waits, no attempt is spent, the whole endpoint is slowed
	TreatDeadLetter Treatment = "dead_letter" // to the dead-letter topic at once
	TreatReview     Treatment = "review"      // to the review topic if there is one, else a dead letter
	TreatHold       Treatment = "hold"        // it waits where it is, no attempt is spent, the breaker opens
	TreatStop       Treatment = "stop"        // as hold, and the relay stops until an operator resumes it
)

// Verdict is what a rule, or the endpoint itself, says about an outcome.
type Verdict struct {
	Treatment Treatment
	Class     Class
	DLT       string // of TreatDeadLetter: the topic that the rule names; empty: the relay's
	Rule      string // the key of what said so, such as endpoint.rules[0]; empty: the default table, or the endpoint itself
	Spoken    bool   // the endpoint said so itself (Retryd-Action): it tells of the record, not of the endpoint
	Doubtful  bool   // of TreatHold: a matter of the record while the endpoint accepts others (404, 405, 415)
}

// Outcome is the result of one HTTP attempt.
type Outcome struct {
	Verdict
	Kind       Kind
	Status     int           // HTTP status; 0 without a response
	Unreached  bool          // there was no connection, or it broke before a response: it tells of the endpoint, whatever the record
	Wait       time.Duration // how long the endpoint asked to wait, bounded (Retryd-Delay, Retry-After); 0: it did not
	Ignored    Words         // what the endpoint said that makes no sense
	Error      string        // one line, at most 256 bytes, without credentials; empty if an answer delivered
	Response   []byte        // start of the response body, at most 1 KiB; only on a failure
	AppVersion string        // from the configured response header
	Duration   time.Duration
}

// Words is a set of the headers with which an endpoint speaks to retryd.
type Words uint8

// The headers.
const (
	WordRetryAfter   Words = 1 << iota // Retry-After
	WordRetrydDelay                    // Retryd-Delay
	WordRetrydAction                   // Retryd-Action
)

// AllWords returns the closed set, each by itself.
func AllWords() []Words { return []Words{WordRetryAfter, WordRetrydDelay, WordRetrydAction} }

// Header returns the name of a single one, in lower case.
func (w Words) Header() string {
	switch w {
	case WordRetryAfter:
		return "retry-after"
	case WordRetrydDelay:
		return "retryd-delay"
	}
	return "retryd-action"
}

// Delivered reports whether the endpoint accepted the record.
func (o Outcome) Delivered() bool { return o.Treatment == TreatDone }
