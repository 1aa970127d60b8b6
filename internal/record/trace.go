package record

import (
	"strconv"
	"strings"
	"time"
)

// MaxHops bounds a trace, its first hop included.
const MaxHops = 16

// traceTime is RFC 3339 in UTC, always with three digits of a second. Times
// outside the years 0 to 9999, which it cannot tell, are moved to its ends.
const (
	traceTime    = "2006-01-02T15:04:05.000Z"
	traceTimeMin = -62167219200000 // 0000-01-01T00:00:00.000Z
	traceTimeMax = 253402300799999 // 9999-12-31T23:59:59.999Z
)

// The marks that begin a hop. Neither they, "@" nor "*" may occur in a Kafka
// topic name, so a trace can be cut at them.
const (
	markFailed = '>'
	markMoved  = '~'
)

// unknownStart names the start of a trace that nobody began.
const unknownStart = "unknown"

// Trace tells where a record has been, as the header x-trace does:
//
//	main@2026-01-02T13:37:04.356Z>t.retry.1@2026-01-02T13:37:04.361Z~t.retry.2@2026-01-02T13:37:09.001Z*2
//
// The first hop is where the record was first read, ">" follows a failed attempt,
// "~" is a move without one, and "*2" counts moves in a row, of which only the
// newest is kept. A Trace is a value: Fail and Move return another one and leave
// the receiver as it was. The zero Trace is absent.
type Trace struct {
	// The first hop is not formatted before it is written, because most main
	// records are delivered at once and never need the text.
	start string
	at    int64  // epoch ms
	rest  string // the later hops, as written
}

// Hop is one stop of a trace. The first has neither Failed nor Moves.
type Hop struct {
	Topic  string // or "main"
	At     time.Time
	Failed bool // it was written here after a failed attempt
	Moves  int  // moves in a row that ended here; 0 if it did not move
}

// Begin returns the trace of a record first read at name, "main" or a tier topic,
// with its own timestamp.
func Begin(name string, at time.Time) Trace {
	return Trace{start: name, at: traceMilli(at)}
}

// Fail appends the hop to topic after a failed attempt.
func (t Trace) Fail(topic string, at time.Time) Trace {
	return t.hop(markFailed, topic, at, 1)
}

// Move appends the hop to topic without an attempt. A move straight after another
// replaces it and counts.
func (t Trace) Move(topic string, at time.Time) Trace {
	moves := 1
	if t.Moved() {
		i := strings.LastIndexByte(t.rest, markMoved)
		last, err := parseHop(t.rest[i:])
		if err == nil {
			moves = min(last.Moves, maxMoves-1) + 1
		}
		t.rest = t.rest[:i]
	}
	return t.hop(markMoved, topic, at, moves)
}

func (t Trace) hop(mark byte, topic string, at time.Time, moves int) Trace {
	if t.start == "" {
		t = Begin(unknownStart, at)
	}
	b := make([]byte, 0, len(t.rest)+len(topic)+len(traceTime)+8)
	b = append(b, t.rest...)
	b = append(b, mark)
	b = append(b, topic...)
	b = append(b, '@')
	b = appendTraceTime(b, traceMilli(at))
	if moves > 1 {
		b = append(b, '*')
		b = strconv.AppendInt(b, int64(moves), 10)
	}
	t.rest = trimHops(string(b))
	return t
}

// Failures counts the failed attempts that the trace still shows.
func (t Trace) Failures() int { return strings.Count(t.rest, string(markFailed)) }

// Moved reports whether the last hop was a move.
func (t Trace) Moved() bool {
	last := strings.LastIndexAny(t.rest, ">~")
	return last >= 0 && t.rest[last] == markMoved
}

// Ends returns the trace with its first and its last hop alone.
func (t Trace) Ends() Trace {
	if i := strings.LastIndexAny(t.rest, ">~"); i > 0 {
		t.rest = t.rest[i:]
	}
	return t
}

// Equal reports whether both traces print the same.
func (t Trace) Equal(u Trace) bool { return t == u }

// String returns the text of x-trace; it is empty for the zero Trace.
func (t Trace) String() string { return string(t.appendText(nil)) }

func (t Trace) appendText(b []byte) []byte {
	if t.start == "" {
		return b
	}
	b = append(b, t.start...)
	b = append(b, '@')
	b = appendTraceTime(b, t.at)
	return append(b, t.rest...)
}

// trimHops drops hops of rest, which leaves out the first hop, until the whole
// trace has at most MaxHops: the oldest moves first, then the oldest failures, so
// that the marks that end a loop survive. The newest hop always stays.
func trimHops(rest string) string {
	hops := strings.Count(rest, string(markFailed)) + strings.Count(rest, string(markMoved))
	excess := hops - (MaxHops - 1)
	if excess <= 0 {
		return rest
	}
	older := rest[:strings.LastIndexAny(rest, ">~")]
	moves := min(excess, strings.Count(older, string(markMoved)))
	failures := excess - moves

	kept := make([]byte, 0, len(rest))
	for text := range splitHops(older) {
		switch {
		case text[0] == markMoved && moves > 0:
			moves--
		case text[0] == markFailed && failures > 0:
			failures--
		default:
			kept = append(kept, text...)
		}
	}
	return string(append(kept, rest[len(older):]...))
}

func traceMilli(t time.Time) int64 {
	return min(max(t.UnixMilli(), traceTimeMin), traceTimeMax)
}

func appendTraceTime(b []byte, ms int64) []byte {
	return time.UnixMilli(ms).UTC().AppendFormat(b, traceTime)
}

// traceError is a text that no retryd wrote.
type traceError struct{ what, hop string }

func (e *traceError) Error() string { return e.reason() + ": " + Quote([]byte(e.hop)) }

// reason is what is wrong, without the hop.
func (e *traceError) reason() string { return "has " + e.what }
