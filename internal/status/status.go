// Package status is what a process says of itself. /readyz, the API, the command
// status and the supervisor's status line are all made of it, so that they cannot
// contradict each other.
//
// It is pure data: it measures nothing, and knows neither Kafka nor HTTP.
package status

import "time"

// Process is one process of retryd.
type Process struct {
	Version  string    `json:"version"`
	Time     time.Time `json:"time"`  // of this word, UTC
	Since    time.Time `json:"since"` // start of the process, UTC
	Ready    bool      `json:"ready"`
	Problems []Problem `json:"problems"` // of the whole process; those of a relay are there
	Relays   []Relay   `json:"relays"`   // in the order of the configuration
}

// Problem is something that a person should know.
type Problem struct {
	Text     string    `json:"text"` // one line: what is wrong with which topic, group or endpoint, and how to mend it
	Since    time.Time `json:"since"`
	Blocking bool      `json:"blocking"` // keeps what has it from being ready
	Away     bool      `json:"-"`        // brokers do not answer: where the whole process says so, a relay need not
}

// Relay is one relay of a process.
type Relay struct {
	Name     string `json:"name"`
	Ready    bool   `json:"ready"` // no problem of it is blocking
	Fault    bool   `json:"fault"` // not ready until a person mends the relay: others are not held up by it
	Endpoint string `json:"endpoint"`
	InFlight int    `json:"in_flight"` // POSTs that are being made
	Halt     *Halt  `json:"halt"`      // who has it deliver nothing, and why; null: nobody

	Problems  []Problem `json:"problems"`
	LastError *Event    `json:"last_error"` // the newest, also of what is mended since; null if there was none
	Tiers     []Tier    `json:"tiers"`      // main first
	DLT       DLT       `json:"dlt"`
	Review    *DLT      `json:"review"` // null if there is no review topic
}

// Event is something that happened.
type Event struct {
	Time time.Time `json:"time"`
	Text string    `json:"text"`
}

// Tier is one topic that a relay consumes. Its numbers are of the partitions that
// this process owns, as they were measured last. Where none is measured they are nil:
// a 0 would be a claim.
type Tier struct {
	Name         string  `json:"tier"` // main, or the tier's number
	Topic        string  `json:"topic"`
	Group        string  `json:"group"`
	DelaySeconds float64 `json:"delay_seconds"`
	Retired      bool    `json:"retired"` // no longer configured, consumed until its topic is deleted
	Joined       bool    `json:"joined"`  // member of the group
	Partitions   []int32 `json:"partitions"`

	Due       *int64     `json:"due"`  // records that should be on their way to the endpoint
	Held      *int64     `json:"held"` // records that wait for their time
	OldestDue *float64   `json:"oldest_due_age_seconds"`
	Oldest    *float64   `json:"oldest_record_age_seconds"`
	Furthest  *time.Time `json:"furthest_due"`
	LastError *Event     `json:"last_error"`
}

// DLT is a relay's dead-letter topic, or its review topic.
type DLT struct {
	Topic   string `json:"topic"`
	Records *int64 `json:"records"` // in all partitions; null until it was measured
}
