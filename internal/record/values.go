package record

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// number reads a header of decimal digits alone, at most limit.
func (d *decoder) number(header string, limit int64) (int64, bool) {
	v, found := Find(d.r.Headers, header)
	if !found {
		return 0, false
	}
	n, ok := decimal(v, limit)
	if !ok {
		d.malformed(header, fmt.Sprintf("must be a decimal number of at most %d", limit), v)
	}
	return n, ok
}

// time reads a header of epoch milliseconds.
func (d *decoder) time(header string) (time.Time, bool) {
	ms, ok := d.number(header, math.MaxInt64)
	if !ok {
		return time.Time{}, false
	}
	at := time.UnixMilli(ms).UTC()
	if d.unbelievable(at) {
		d.malformed(header, "is more than 366 days ahead", digits(ms))
		return time.Time{}, false
	}
	return at, true
}

// text reads a header of 1 to longest bytes, all of them legal.
func (d *decoder) text(header string, longest int, legal func(byte) bool) (string, bool) {
	v, found := Find(d.r.Headers, header)
	switch {
	case !found:
		return "", false
	case len(v) == 0:
		d.malformed(header, "is empty", nil)
		return "", false
	case len(v) > longest:
		d.malformed(header, fmt.Sprintf("is longer than %d bytes", longest), v)
		return "", false
	case !all(v, legal):
		d.malformed(header, "has a byte that it must not have", v)
		return "", false
	}
	return string(v), true
}

func (d *decoder) unbelievable(t time.Time) bool { return t.After(d.latest) }

// believable returns t in UTC and whole milliseconds, or the zero time if t is
// before 1970 or too far ahead.
func (d *decoder) believable(t time.Time) time.Time {
	if epochMilli(t) < 0 || d.unbelievable(t) {
		return time.Time{}
	}
	return time.UnixMilli(t.UnixMilli()).UTC()
}

// decimal parses digits alone: no sign, no blank. limit is 9 or more.
func decimal(v []byte, limit int64) (int64, bool) {
	if len(v) == 0 {
		return 0, false
	}
	var n int64
	for _, c := range v {
		if c < '0' || c > '9' {
			return 0, false
		}
		digit := int64(c - '0')
		if n > (limit-digit)/10 {
			return 0, false
		}
		n = n*10 + digit
	}
	return n, true
}

func all(v []byte, legal func(byte) bool) bool {
	for _, c := range v {
		if !legal(c) {
			return false
		}
	}
	return true
}

func printable(c byte) bool { return c >= 0x20 && c <= 0x7e }

func visible(c byte) bool { return c > 0x20 && c <= 0x7e }

func tokenByte(c byte) bool { return c >= 'a' && c <= 'z' || c == '-' || c == '_' }

// topicByte reports a legal byte of a Kafka topic name
// (org.apache.kafka.common.internals.Topic).
func topicByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
		c == '.' || c == '_' || c == '-'
}

func legalTopic(name string) bool {
	for i := range len(name) {
		if !topicByte(name[i]) {
			return false
		}
	}
	return name != "" && len(name) <= maxTopic
}

func digits(n int64) []byte { return strconv.AppendInt(nil, n, 10) }

// Quote shows the start of a foreign value on one line, in ASCII.
func Quote(v []byte) string {
	const shown = 48
	if len(v) > shown {
		return strconv.QuoteToASCII(string(v[:shown])) + "..."
	}
	return strconv.QuoteToASCII(string(v))
}
