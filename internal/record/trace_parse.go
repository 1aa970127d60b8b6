package record

import (
	"iter"
	"math"
	"strings"
	"time"
)

// maxMoves is where the count of moves in a row stops.
const maxMoves = math.MaxInt32

// ParseTrace parses the text of x-trace. It accepts what Trace writes and nothing
// else, except that a longer trace than MaxHops is trimmed like an appended one. The
// error is a *traceError.
func ParseTrace(s string) (Trace, error) {
	first, rest := s, ""
	if i := strings.IndexAny(s, ">~"); i >= 0 {
		first, rest = s[:i], s[i:]
	}
	start, at, err := parseStop(first)
	if err != nil {
		return Trace{}, err
	}
	for text := range splitHops(rest) {
		if _, err := parseHop(text); err != nil {
			return Trace{}, err
		}
	}
	return Trace{start: start, at: at.UnixMilli(), rest: trimHops(rest)}, nil
}

// splitHops yields the hops of rest, each with its mark. rest is empty or begins
// with a mark.
func splitHops(rest string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for rest != "" {
			end := strings.IndexAny(rest[1:], ">~") + 1
			if end == 0 {
				end = len(rest)
			}
			if !yield(rest[:end]) {
				return
			}
			rest = rest[end:]
		}
	}
}

// parseHop parses a hop that begins with its mark.
func parseHop(text string) (Hop, error) {
	hop := Hop{Failed: text[0] == markFailed}
	stop := text[1:]
	if !hop.Failed {
		hop.Moves = 1
		if i := strings.IndexByte(stop, '*'); i >= 0 {
			moves, ok := decimal([]byte(stop[i+1:]), maxMoves)
			if !ok || moves < 2 || stop[i+1] == '0' {
				return Hop{}, &traceError{"a count of moves that is not 2 or more", text}
			}
			hop.Moves, stop = int(moves), stop[:i]
		}
	}
	var err error
	hop.Topic, hop.At, err = parseStop(stop)
	return hop, err
}

// parseStop parses "<topic>@<time>".
func parseStop(text string) (topic string, at time.Time, err error) {
	topic, when, _ := strings.Cut(text, "@")
	if !legalTopic(topic) {
		return "", time.Time{}, &traceError{"a hop that names no topic", text}
	}
	at, ok := parseTraceTime(when)
	if !ok {
		return "", time.Time{}, &traceError{"a hop without a time like " + traceTime, text}
	}
	return topic, at, nil
}

// parseTraceTime parses a time in the form of traceTime, of which only the digits vary.
// time.Parse takes several times as long, for each hop of each record, and takes a comma
// for the point, too.
func parseTraceTime(s string) (time.Time, bool) {
	if len(s) != len(traceTime) {
		return time.Time{}, false
	}
	var fields [7]int
	field := 0
	for i := range len(s) {
		switch form := traceTime[i]; {
		case form < '0' || form > '9':
			if s[i] != form {
				return time.Time{}, false
			}
			field++
		case s[i] < '0' || s[i] > '9':
			return time.Time{}, false
		default:
			fields[field] = 10*fields[field] + int(s[i]-'0')
		}
	}
	year, month, day, hour, minute, second := fields[0], time.Month(fields[1]), fields[2], fields[3], fields[4], fields[5]
	at := time.Date(year, month, day, hour, minute, second, fields[6]*int(time.Millisecond), time.UTC)
	// Date carries what is too large for its field on to the next one.
	exact := at.Month() == month && at.Day() == day && hour < 24 && minute < 60 && second < 60
	return at, exact
}
