// Package redact hides what nobody should see of a record or an answer, wherever
// people are shown it: in logs, texts, the API, pages and exports.
//
// It is pure, and changes nothing that it is given: a record on Kafka stays as it is.
// The credentials of an endpoint are no part of it: package forward removes those.
package redact

import (
	"slices"
	"strings"

	"github.com/retryd/retryd/internal/record"
)

// Mask stands for what is hidden.
const Mask = "[redacted]"

// Rules say what is hidden. The zero value hides nothing. They are safe for concurrent
// use.
type Rules struct {
	headers []pattern
	paths   []path
}

// pattern matches names of headers.
type pattern struct {
	name   string // folded
	prefix bool   // name is only the start
}

// fold makes equal what HTTP servers take for one name: any case, and _ for -.
func fold(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "-")) }

// Hides reports whether the value of a header is hidden, also where it is carried as
// a foreign one.
func (r Rules) Hides(header string) bool {
	if len(r.headers) == 0 {
		return false
	}
	name := fold(header)
	carried := strings.TrimPrefix(name, record.ForeignPrefix)
	return slices.ContainsFunc(r.headers, func(p pattern) bool { return p.matches(name) || p.matches(carried) })
}

func (p pattern) matches(name string) bool {
	return name == p.name || p.prefix && strings.HasPrefix(name, p.name)
}

// Headers returns the headers of a record as they may be shown. A null value stays
// null.
func (r Rules) Headers(headers []record.Header) []record.Header {
	shown := slices.Clone(headers)
	for i, h := range shown {
		if h.Value != nil {
			shown[i].Value = r.Value(string(h.Key), h.Value)
		}
	}
	return shown
}

// Value returns the value of a header as it may be shown. Without a rule that
// concerns it, it is the value itself.
func (r Rules) Value(header string, value []byte) []byte {
	if r.Hides(header) {
		return []byte(Mask)
	}
	return r.JSON(value)
}

// Text is Value for a string; none stays none.
func (r Rules) Text(header, text string) string {
	if text == "" || len(r.headers) == 0 && len(r.paths) == 0 {
		return text
	}
	return string(r.Value(header, []byte(text)))
}

// Key returns a record's key as it may be shown: the endpoint gets it as the header
// Retryd-Key. A null key stays null.
func (r Rules) Key(key []byte) []byte {
	if key == nil {
		return nil
	}
	return r.Value("Retryd-Key", key)
}

// EventID returns an event id as it may be shown.
func (r Rules) EventID(id string) string { return r.Text(record.HeaderEventID, id) }

// Problem returns what is wrong with a header, to be read behind its name.
func (r Rules) Problem(p record.Problem) string {
	switch {
	case p.Value == nil:
		return p.Reason
	case slices.ContainsFunc(append(sources([]string{p.Header}), p.Header), r.Hides):
		return p.Reason + ": " + Mask
	}
	return p.Reason + ": " + record.Quote(r.JSON(p.Value))
}
