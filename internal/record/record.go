// Package record describes a record as it travels: its bytes, the retry state in
// its headers, its event id and its trace.
//
// It is pure: it does no I/O, knows no client library and no schedule, and never
// parses a value.
package record

import "time"

// Header is one Kafka record header. A nil Value is Kafka's null, which is not
// the same as an empty one.
type Header struct {
	Key   []byte
	Value []byte
}

// Record is one Kafka record as it was read. A nil Key or Value is Kafka's null.
// Whoever keeps a Record for long calls Own: a slice of a fetch response pins the whole
// response in memory.
type Record struct {
	Topic     string
	Partition int32
	Offset    int64
	Timestamp time.Time // millisecond precision, as Kafka stores it
	Key       []byte
	Value     []byte
	Headers   []Header // in the order in which they were written
}

// Position is where a record was first read. A zero Timestamp means that it has
// none: Kafka stores -1, or it claimed a time that nobody can believe.
type Position struct {
	Topic     string
	Partition int32
	Offset    int64
	Timestamp time.Time
}

// State is what retryd knows of a record, decoded from its headers. The zero
// time means absent.
type State struct {
	Attempt      int           // attempts already made: the position in the schedule
	Limited      int           // failures of class unknown so far
	FirstFailure time.Time     // never changes once it is set
	NotBefore    time.Time     // earliest delivery, absolute; zero means now
	Late         time.Duration // summed lateness of the judged attempts, and other waits that no budget is charged with, milliseconds
	Replays      int           // how often it was replayed out of a dead-letter topic
	Trace        Trace         // where the record has been
	EventID      string        // stable over attempts, tiers, instances and replays
	Origin       Position
	Consumer     string  // "<relay>/<group>"; empty if the record names none
	Last         Failure // the last failure
}

// Size returns what the texts of the state take, in bytes.
func (s *State) Size() int {
	return len(s.Trace.start) + len(s.Trace.rest) + len(s.EventID) + len(s.Origin.Topic) + len(s.Consumer) +
		len(s.Last.Class) + len(s.Last.Kind) + len(s.Last.Error)
}

// Failure is one failed attempt as the headers x-class, x-status, x-error-kind,
// x-error and x-last-failure-at tell it. The strings come from closed sets of
// package policy, except Error: one line of at most 256 bytes.
type Failure struct {
	Class  string
	Status int // HTTP status; 0 if there was no response
	Kind   string
	Error  string
	At     time.Time
}

// DeadLetter is what only a dead letter carries.
type DeadLetter struct {
	Reason     string
	Response   []byte // start of the response body, at most 1 KiB
	Version    string // retryd's
	AppVersion string // the endpoint's, if it told
}
