package record

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	maxError    = 256
	maxResponse = 1024
)

// ownHeaders is how many headers retryd writes at most. ownBytes is about what they take
// without the texts whose length varies, and deadBytes what those of a dead letter alone do.
const (
	ownHeaders = 21
	ownBytes   = 304
	deadBytes  = 96
)

// AppendHeaders appends to dst the headers of the record's next hop: the foreign
// ones byte for byte and in their order, then retryd's own with state s, one value
// each. What is absent in s is left out, except x-attempt and x-late-ms, which are
// always written. Times are written in whole milliseconds; x-not-before is rounded
// up, so that it is never early. The foreign headers still share r's bytes.
//
// fromMain says that r was read from main, where nothing in a header is retryd's:
// a header with one of retryd's own names is kept as x-foreign-<name>. Only an
// x-event-id that equals s.EventID is replaced by it. Elsewhere headers with
// retryd's own names are its own old ones and go.
func AppendHeaders(dst []Header, r *Record, s *State, fromMain bool) []Header {
	w := newWriter(dst, r, s, fromMain, 0)
	w.state(s)
	return w.headers
}

// AppendDeadLetter is AppendHeaders for the dead-letter topic, with the headers
// that only a dead letter has.
func AppendDeadLetter(dst []Header, r *Record, s *State, d DeadLetter, fromMain bool) []Header {
	w := newWriter(dst, r, s, fromMain, deadBytes+min(len(d.Response), maxResponse))
	w.state(s)
	w.text(HeaderReason, d.Reason)
	if len(d.Response) > 0 {
		value := w.open(HeaderResponse)
		w.plain(d.Response[:min(len(d.Response), maxResponse)], "\t\r\n")
		w.close(HeaderResponse, value)
	}
	w.text(HeaderRetrydVersion, d.Version)
	w.line(HeaderAppVersion, d.AppVersion)
	return w.headers
}

// TrimDiagnostics drops what a dead letter can do without when the record would
// not fit otherwise: the response, the error line, and all of the trace but its
// first and last hop.
func TrimDiagnostics(s State, d DeadLetter) (State, DeadLetter) {
	s.Trace = s.Trace.Ends()
	s.Last.Error = ""
	d.Response = nil
	return s, d
}

// writer appends retryd's headers. The bytes of all of them share one buffer.
type writer struct {
	headers []Header
	buf     []byte
}

func newWriter(dst []Header, r *Record, s *State, fromMain bool, more int) writer {
	dst = slices.Grow(dst, len(r.Headers)+ownHeaders)
	size := ownBytes + more + len(s.Trace.start) + len(s.Trace.rest) + len(s.EventID) +
		len(s.Origin.Topic) + len(s.Consumer) + min(len(s.Last.Error), maxError)
	return writer{
		headers: appendForeign(dst, r.Headers, s.EventID, fromMain),
		buf:     make([]byte, 0, size),
	}
}

func appendForeign(dst, headers []Header, id string, fromMain bool) []Header {
	for _, h := range headers {
		switch {
		case !Own(h.Key):
			dst = append(dst, h)
		case !fromMain: // retryd's own of the hop before
		case string(h.Key) == HeaderEventID && string(h.Value) == id:
		default:
			dst = append(dst, Header{Key: append([]byte(ForeignPrefix), h.Key...), Value: h.Value})
		}
	}
	return dst
}

func (w *writer) state(s *State) {
	w.number(HeaderAttempt, int64(s.Attempt))
	if s.Limited > 0 {
		w.number(HeaderLimited, int64(s.Limited))
	}
	w.time(HeaderFirstFailureAt, s.FirstFailure)
	w.time(HeaderNotBefore, ceilMilli(s.NotBefore))
	if s.Trace.start != "" {
		value := w.open(HeaderTrace)
		w.buf = s.Trace.appendText(w.buf)
		w.close(HeaderTrace, value)
	}
	w.number(HeaderLate, max(s.Late.Milliseconds(), 0))
	w.text(HeaderEventID, s.EventID)
	w.text(HeaderOriginTopic, s.Origin.Topic)
	w.number(HeaderOriginPartition, int64(s.Origin.Partition))
	w.number(HeaderOriginOffset, s.Origin.Offset)
	w.number(HeaderOriginTimestamp, epochMilli(s.Origin.Timestamp))
	w.text(HeaderConsumer, s.Consumer)
	w.failure(&s.Last)
}

func (w *writer) failure(f *Failure) {
	w.text(HeaderClass, f.Class)
	if f.Status > 0 {
		w.number(HeaderStatus, int64(f.Status))
	}
	w.text(HeaderErrorKind, f.Kind)
	w.line(HeaderError, f.Error)
	w.time(HeaderLastFailureAt, f.At)
}

// open writes a header's name. Its value is what is appended to buf from the
// returned place on, until close.
func (w *writer) open(name string) (value int) {
	w.buf = append(w.buf, name...)
	return len(w.buf)
}

func (w *writer) close(name string, value int) {
	end := len(w.buf)
	w.headers = append(w.headers, Header{
		Key:   w.buf[value-len(name) : value : value],
		Value: w.buf[value:end:end],
	})
}

func (w *writer) text(name, text string) {
	if text == "" {
		return
	}
	value := w.open(name)
	w.buf = append(w.buf, text...)
	w.close(name, value)
}

// line writes a text of foreign origin, at most 256 bytes of it.
func (w *writer) line(name, text string) {
	if text == "" {
		return
	}
	value := w.open(name)
	w.plain([]byte(text[:min(len(text), maxError)]), "")
	w.close(name, value)
}

// plain appends a text in which everything but printable ASCII, and also, becomes a
// question mark: a header is for people, and what they read it with must not trip.
func (w *writer) plain(text []byte, also string) {
	for _, c := range text {
		if !printable(c) && strings.IndexByte(also, c) < 0 {
			c = '?'
		}
		w.buf = append(w.buf, c)
	}
}

func (w *writer) number(name string, n int64) {
	value := w.open(name)
	w.buf = strconv.AppendInt(w.buf, n, 10)
	w.close(name, value)
}

func (w *writer) time(name string, t time.Time) {
	if ms := epochMilli(t); ms >= 0 {
		w.number(name, ms)
	}
}

// epochMilli returns -1, Kafka's "no timestamp", for a time that is absent or
// before 1970.
func epochMilli(t time.Time) int64 { return max(t.UnixMilli(), -1) }

func ceilMilli(t time.Time) time.Time {
	if whole := t.Truncate(time.Millisecond); whole.Before(t) {
		return whole.Add(time.Millisecond)
	}
	return t
}
