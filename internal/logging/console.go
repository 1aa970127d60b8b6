package logging

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"go.uber.org/zap/zapcore"
)

// Widths of the first columns, so that the trace of a record reads as a table.
const (
	verbWidth  = 12
	topicWidth = 30
)

// console writes one line per entry for a person. It is a core and not an encoder
// because a record event shows its fields in the order of its layout, not in that
// of the caller, and leaves most of them out.
type console struct {
	zapcore.LevelEnabler
	out     zapcore.WriteSyncer
	context []zapcore.Field // of With; only read
}

func newConsole(out zapcore.WriteSyncer, level zapcore.LevelEnabler) console {
	return console{LevelEnabler: level, out: out}
}

func (c console) With(fields []zapcore.Field) zapcore.Core {
	c.context = slices.Concat(c.context, fields)
	return c
}

func (c console) Check(ent zapcore.Entry, ce *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if c.Enabled(ent.Level) {
		return ce.AddCore(ent, c)
	}
	return ce
}

func (c console) Write(ent zapcore.Entry, fields []zapcore.Field) error {
	values := render(ent.Time.UTC(), slices.Concat(c.context, fields))
	line := ent.Time.UTC().AppendFormat(make([]byte, 0, 256), clock)
	if l, ok := layoutOf(ent.Message); ok {
		line = appendEvent(line, ent.Message, l, values)
	} else {
		line = appendMessage(line, ent, values)
	}
	_, err := c.out.Write(append(line, '\n'))
	return err
}

func (c console) Sync() error { return c.out.Sync() }

func appendMessage(line []byte, ent zapcore.Entry, values []value) []byte {
	line = fmt.Appendf(line, " %-*s %s", verbWidth, ent.Level, visible(ent.Message))
	for _, v := range values {
		line = fmt.Appendf(line, " %s=%s", v.key, quoted(v.text))
	}
	return line
}

func appendEvent(line []byte, verb string, l layout, values []value) []byte {
	topic, _ := find(values, l.topic)
	line = fmt.Appendf(line, " %-*s %-*s", verbWidth, verb, topicWidth, visible(topic))
	for _, c := range l.columns {
		if text, ok := find(values, c.field); ok && !c.hide.holds(values) {
			line = fmt.Appendf(line, " %s%s", c.label, quoted(text))
		}
	}
	return line
}

// value is a field as text.
type value struct{ key, text string }

// find returns the last value of key: a field of the line itself wins over one of
// With.
func find(values []value, key string) (text string, ok bool) {
	for _, v := range slices.Backward(values) {
		if v.key == key {
			return v.text, true
		}
	}
	return "", false
}

// render turns fields into text, in their order. now is the time of the line.
func render(now time.Time, fields []zapcore.Field) []value {
	values := make([]value, 0, len(fields))
	for _, f := range fields {
		enc := zapcore.NewMapObjectEncoder()
		f.AddTo(enc)
		for _, k := range slices.Sorted(maps.Keys(enc.Fields)) {
			if f.Type == zapcore.ErrorType && k != f.Key {
				continue // zap's <key>Verbose repeats the error over several lines
			}
			values = append(values, value{k, text(now, enc.Fields[k])})
		}
	}
	return values
}

func text(now time.Time, v any) string {
	switch v := v.(type) {
	case time.Duration:
		return duration(v)
	case time.Time:
		return moment(now, v.UTC())
	default:
		return fmt.Sprint(v)
	}
}

const clock = "15:04:05.000"

// moment leaves the date out when it is that of the line.
func moment(now, t time.Time) string {
	if now.YearDay() == t.YearDay() && now.Year() == t.Year() {
		return t.Format(clock)
	}
	return t.Format(rfc3339Millis)
}

// duration rounds to milliseconds, or to microseconds below one millisecond, and
// drops units that are zero at the end: 5m, not 5m0s.
func duration(d time.Duration) string {
	unit := time.Millisecond
	if d.Abs() < unit {
		unit = time.Microsecond
	}
	s := d.Round(unit).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// quoted makes s one word. Keys, errors and topics come from elsewhere: an escape
// sequence in them must not reach the terminal.
func quoted(s string) string {
	if s == "" || strings.ContainsAny(s, " \"") || !printable(s) {
		return strconv.Quote(s)
	}
	return s
}

// visible is quoted for text that stands alone and may have spaces.
func visible(s string) string {
	if !printable(s) {
		return strconv.Quote(s)
	}
	return s
}

// printable reports whether s is valid UTF-8 that moves no cursor and hides nothing.
func printable(s string) bool {
	return utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) < 0
}
