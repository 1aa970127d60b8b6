package record

import (
	"errors"
	"fmt"
	"math"
	"time"
)

const (
	// maxAhead is how far in the future a time may lie to be believed.
	maxAhead = 366 * 24 * time.Hour

	maxConsumer = 512
	maxToken    = 32  // of x-class and x-error-kind
	maxTopic    = 249 // Kafka's limit for a topic name
	maxStatus   = 999
	maxLate     = math.MaxInt64 / int64(time.Millisecond)
)

// Source says where a record was read, and what its topic implies for a header
// that it lacks.
type Source struct {
	Main       bool          // nothing in a header is retryd's, only the id sources and x-replay-count count
	Step       int           // attempts made if x-attempt is absent: 0 on main, i in tier i
	MaxAttempt int           // a larger x-attempt is clamped to it
	Delay      time.Duration // of a tier: x-not-before, if absent, is timestamp + Delay
	IDSources  []IDSource    // where the event id is looked for, in order; nil is nowhere
	Now        time.Time
}

// Problem is a header that did not count. It is never fatal: the record is handled
// as if it lacked the header.
type Problem struct {
	Header  string // its name; "timestamp" is the record's own timestamp
	Reason  string // what is wrong, to be read behind the name; it has nothing of the value
	Value   []byte // what of it is wrong, as it was read; nil if that says no more
	Ignored bool   // true: one of retryd's names on a main record; false: malformed
}

// Decode returns what the record's headers say. Of a header that occurs several
// times the last counts. Every field of the State is within its bounds whatever
// the headers claim: Attempt is 0 to MaxAttempt, no time lies more than 366 days
// ahead of Now, and the event id is 1 to 256 visible ASCII characters.
func Decode(r *Record, src Source) (State, []Problem) {
	d := decoder{r: r, src: src, latest: src.Now.Add(maxAhead)}
	origin := Position{Topic: r.Topic, Partition: r.Partition, Offset: r.Offset, Timestamp: r.Timestamp}
	s := State{Attempt: min(src.Step, src.MaxAttempt), Replays: replays(r.Headers)}
	if src.Main {
		s.Trace = Begin("main", r.Timestamp)
		d.ignoreOwn()
	} else {
		origin = d.origin(origin)
		d.state(&s)
	}
	// The id keeps a timestamp that nobody can believe, since it tells apart what
	// the topic held before it was made anew.
	s.EventID = d.eventID(origin)
	s.Origin = origin
	s.Origin.Timestamp = d.believable(origin.Timestamp)
	if d.unbelievable(r.Timestamp) {
		d.malformed("timestamp", "is more than 366 days ahead: check the producer's unit, Kafka's is milliseconds", nil)
	}
	return s, d.problems
}

// decoder reads one record's headers. Its methods report what does not count and
// then return the zero value and false.
type decoder struct {
	r        *Record
	src      Source
	latest   time.Time
	problems []Problem
}

func (d *decoder) malformed(header, reason string, value []byte) {
	d.problems = append(d.problems, Problem{Header: header, Reason: reason, Value: value})
}

func (d *decoder) ignoreOwn() {
	for i := range d.r.Headers {
		key := d.r.Headers[i].Key
		if Own(key) && string(key) != HeaderEventID {
			d.problems = append(d.problems, Problem{
				Header:  string(key),
				Reason:  "is ignored on a main record, and carried as " + ForeignPrefix + string(key),
				Ignored: true,
			})
		}
	}
}

func (d *decoder) state(s *State) {
	s.Attempt = d.attempt(s.Attempt)
	limited, _ := d.number(HeaderLimited, math.MaxInt32)
	s.Limited = int(limited)
	s.FirstFailure, _ = d.time(HeaderFirstFailureAt)
	s.NotBefore = d.notBefore()
	s.Trace = d.trace()
	late, _ := d.number(HeaderLate, maxLate)
	s.Late = time.Duration(late) * time.Millisecond
	s.Consumer = d.consumer()
	s.Last = d.failure()
}

func (d *decoder) attempt(absent int) int {
	n, ok := d.number(HeaderAttempt, math.MaxInt64)
	if !ok {
		return absent
	}
	if n > int64(d.src.MaxAttempt) {
		d.malformed(HeaderAttempt, fmt.Sprintf("is beyond the schedule, taken as %d", d.src.MaxAttempt), digits(n))
		return d.src.MaxAttempt
	}
	return int(n)
}

func (d *decoder) notBefore() time.Time {
	if at, ok := d.time(HeaderNotBefore); ok {
		return at
	}
	written := d.believable(d.r.Timestamp)
	if written.IsZero() {
		return time.Time{}
	}
	return d.believable(ceilMilli(written.Add(d.src.Delay)))
}

func (d *decoder) trace() Trace {
	if v, ok := Find(d.r.Headers, HeaderTrace); ok {
		t, err := ParseTrace(string(v))
		if wrong := new(traceError); errors.As(err, &wrong) {
			d.malformed(HeaderTrace, wrong.reason(), []byte(wrong.hop))
		} else {
			return t
		}
	}
	return Begin(d.r.Topic, d.r.Timestamp)
}

func (d *decoder) consumer() string {
	c, ok := d.text(HeaderConsumer, maxConsumer, printable)
	if ok && ConsumerGroup(c) == "" {
		d.malformed(HeaderConsumer, "names no group behind a slash", []byte(c))
		return ""
	}
	return c
}

func (d *decoder) failure() Failure {
	var f Failure
	f.Class, _ = d.text(HeaderClass, maxToken, tokenByte)
	f.Kind, _ = d.text(HeaderErrorKind, maxToken, tokenByte)
	f.Error, _ = d.text(HeaderError, maxError, printable)
	f.At, _ = d.time(HeaderLastFailureAt)
	status, ok := d.number(HeaderStatus, maxStatus)
	if ok && status < 100 {
		d.malformed(HeaderStatus, "is no HTTP status", digits(status))
		return f
	}
	f.Status = int(status)
	return f
}

// origin reads the four x-origin headers. Only together do they name a record; if
// one does not count, the record's own position does.
func (d *decoder) origin(own Position) Position {
	topic, okTopic := d.text(HeaderOriginTopic, maxTopic, topicByte)
	partition, okPartition := d.number(HeaderOriginPartition, math.MaxInt32)
	offset, okOffset := d.number(HeaderOriginOffset, math.MaxInt64)
	at, okTime := d.originTime()
	if okTopic && okPartition && okOffset && okTime {
		return Position{Topic: topic, Partition: int32(partition), Offset: offset, Timestamp: at}
	}
	if !okTopic && !okPartition && !okOffset && !okTime {
		return own
	}
	for _, name := range []string{HeaderOriginTopic, HeaderOriginPartition, HeaderOriginOffset, HeaderOriginTimestamp} {
		if _, found := Find(d.r.Headers, name); !found {
			d.malformed(name, "is missing: the x-origin headers count only together", nil)
		}
	}
	return own
}

func (d *decoder) originTime() (time.Time, bool) {
	if v, ok := Find(d.r.Headers, HeaderOriginTimestamp); ok && string(v) == "-1" {
		return time.Time{}, true
	}
	return d.time(HeaderOriginTimestamp)
}
