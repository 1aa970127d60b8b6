package policy

import (
	"bytes"
	"maps"
	"slices"
)

// AnyValue is the value of a rule's header that any value matches, also an empty one.
const AnyValue = "*"

// Rule says what is done about the outcomes that it matches. It is about answers, by
// status, header or both, or about failures without one. The first rule that matches
// counts. One without a condition matches everything; only the default table ends in
// such a one.
type Rule struct {
	Status []Statuses        `mapstructure:"status"` // any of them; empty: any status
	Error  []Kind            `mapstructure:"error"`  // any of them; not beside the other two
	Header map[string]string `mapstructure:"header"` // all of them: name, in any case, and exact value or AnyValue
	Action Treatment         `mapstructure:"action"`
	Class  Class             `mapstructure:"class"` // the label alone; default Action's
	DLT    string            `mapstructure:"dlt"`   // with TreatDeadLetter: the topic; default the relay's

	Doubtful bool `mapstructure:"-"` // see Verdict.Doubtful; of the default table
}

// Headers are those of an answer. PeekAll returns every value of a name, in any case.
type Headers interface {
	PeekAll(name string) [][]byte
}

// Verdict returns what the rule says; by is what it is known as.
func (r Rule) Verdict(by string) Verdict {
	v := Verdict{Treatment: r.Action, Class: r.Class, DLT: r.DLT, Rule: by, Doubtful: r.Doubtful}
	if v.Class == ClassNone {
		v.Class = r.Action.Class()
	}
	return v
}

// Class returns the class of what is treated so unless a rule gives it another one.
func (t Treatment) Class() Class {
	switch t {
	case TreatDone:
		return ClassNone
	case TreatRetry:
		return ClassTransient
	case TreatThrottle:
		return ClassThrottled
	case TreatDeadLetter:
		return ClassInvalid
	case TreatReview:
		return ClassConflict
	case TreatHold, TreatStop:
		return ClassEndpoint
	}
	return ClassUnknown
}

// Treatments returns the closed set of treatments.
func Treatments() []Treatment {
	return []Treatment{TreatDone, TreatRetry, TreatLimited, TreatThrottle, TreatDeadLetter, TreatReview, TreatHold, TreatStop}
}

// Unconditional reports whether the rule matches everything.
func (r Rule) Unconditional() bool { return len(r.Status)+len(r.Error)+len(r.Header) == 0 }

// matchesKind reports whether the rule is about a failure without an answer.
func (r Rule) matchesKind(kind Kind) bool {
	return r.Unconditional() || slices.Contains(r.Error, kind)
}

// condition is one header that a rule asks for.
type condition struct{ name, value string }

// conditions returns them in a constant order.
func (r Rule) conditions() []condition {
	var all []condition
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		all = append(all, condition{name, r.Header[name]})
	}
	return all
}

// holds reports whether one of the header's values is the one asked for.
func (c condition) holds(h Headers) bool {
	for _, value := range h.PeekAll(c.name) {
		if c.value == AnyValue || string(bytes.TrimSpace(value)) == c.value {
			return true
		}
	}
	return false
}
