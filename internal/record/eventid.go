package record

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// maxEventID is the longest event id, in bytes.
const maxEventID = 256

// DefaultIDHeaders returns the sources of an event id that are looked at unless
// others are configured: the common names, then CloudEvents' pair, which is unique
// only together (https://github.com/cloudevents/spec, "id").
func DefaultIDHeaders() []string {
	return []string{HeaderEventID, "event-id", "<ce_source>/<ce_id>"}
}

// IDSource is where an event id is looked for: in one header, or in two, whose values
// are joined with a slash.
type IDSource struct {
	First  string // name of a header
	Second string // empty for a single header
}

// String returns the source as it is configured.
func (s IDSource) String() string {
	if s.Second == "" {
		return s.First
	}
	return "<" + s.First + ">/<" + s.Second + ">"
}

// ParseIDSources parses the valid ones among configured sources of the event id.
func ParseIDSources(entries []string) []IDSource {
	var sources []IDSource
	for _, entry := range entries {
		if s, err := ParseIDSource(entry); err == nil {
			sources = append(sources, s)
		}
	}
	return sources
}

// ParseIDSource parses one configured source of the event id: the name of a
// header, or two names in angle brackets, "<first>/<second>".
func ParseIDSource(entry string) (IDSource, error) {
	if !strings.ContainsAny(entry, "<>") {
		if entry == "" {
			return IDSource{}, errors.New("event id source is empty: name a header, or two as <first>/<second>")
		}
		return IDSource{First: entry}, nil
	}
	first, second, ok := strings.Cut(entry, ">/<")
	if ok {
		first, ok = strings.CutPrefix(first, "<")
	}
	if ok {
		second, ok = strings.CutSuffix(second, ">")
	}
	if !ok || first == "" || second == "" || strings.ContainsAny(first+second, "<>") {
		return IDSource{}, fmt.Errorf("event id source %q is neither a header name nor two as <first>/<second>", entry)
	}
	return IDSource{First: first, Second: second}, nil
}

// eventID finds the record's id: what retryd wrote before, else the first
// configured source with a legal value, else its origin.
func (d *decoder) eventID(origin Position) string {
	if !d.src.Main {
		if id, ok := d.text(HeaderEventID, maxEventID, visible); ok {
			return id
		}
	}
	for _, source := range d.src.IDSources {
		if source.First == HeaderEventID && source.Second == "" && !d.src.Main {
			continue // looked at above
		}
		if id, ok := d.idFrom(source); ok {
			return id
		}
	}
	return originID(origin)
}

func (d *decoder) idFrom(source IDSource) (string, bool) {
	if source.Second == "" {
		return d.text(source.First, maxEventID, visible)
	}
	a, okA := Find(d.r.Headers, source.First)
	b, okB := Find(d.r.Headers, source.Second)
	if !okA || !okB {
		return "", false
	}
	var buf [maxEventID + 1]byte
	if len(a) == 0 || len(b) == 0 || len(a)+1+len(b) > maxEventID {
		d.malformed(source.String(), fmt.Sprintf("has an empty part or is longer than %d bytes", maxEventID), nil)
		return "", false
	}
	id := append(append(append(buf[:0], a...), '/'), b...)
	if !all(id, visible) {
		d.malformed(source.String(), "has a byte that is not visible ASCII", bytes.Clone(id))
		return "", false
	}
	return string(id), true
}

// originID makes an id of where the record was first read. The timestamp tells
// apart what a topic of the same name held before it was made anew. A topic name
// so long that the id would be over maxEventID keeps its end.
func originID(p Position) string {
	var buf [64]byte
	place := append(buf[:0], '/')
	place = strconv.AppendInt(place, int64(p.Partition), 10)
	place = append(place, '/')
	place = strconv.AppendInt(place, p.Offset, 10)
	place = append(place, '@')
	place = strconv.AppendInt(place, epochMilli(p.Timestamp), 10)

	topic := p.Topic
	topic = topic[max(0, len(topic)+len(place)-maxEventID):]
	var id [maxEventID]byte
	return string(append(append(id[:0], topic...), place...))
}
