package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// MaxRules bounds the rules of a relay.
const MaxRules = 100

// CheckRules returns everything that is wrong with a relay's rules, each text beginning
// with the key, as in rules[2].action. A rule with a problem is not compared with the
// others.
func CheckRules(rules []Rule) []error {
	if len(rules) > MaxRules {
		return []error{fmt.Errorf("rules: %d are too many; a relay has at most %d", len(rules), MaxRules)}
	}
	var errs []error
	var sound []scope
	var places []int // of those, among the rules
	for i, r := range rules {
		problems := append(r.checkConditions(), r.checkEffect()...)
		for _, err := range problems {
			errs = append(errs, fmt.Errorf("rules[%d]%w", i, err))
		}
		if len(problems) > 0 {
			continue
		}
		own := scopeOf(r)
		if covering := own.coveredBy(sound); len(covering) > 0 {
			for c, at := range covering {
				covering[c] = places[at]
			}
			errs = append(errs, fmt.Errorf("rules[%d]: %w", i, neverApplies(rules, i, covering)))
		}
		sound, places = append(sound, own), append(places, i)
	}
	return errs
}

// CheckSuccess returns everything that is wrong with a relay's endpoint.success, each text
// beginning with the key. It comes behind the rules, of which a wrong one is not looked at.
func CheckSuccess(success []int, rules []Rule) []error {
	var errs []error
	for i, status := range success {
		if status < leastStatus || status > mostStatus {
			errs = append(errs, fmt.Errorf("success[%d]: %d is no final HTTP status, must be %d to %d", i, status, leastStatus, mostStatus))
			continue
		}
		if first := slices.Index(success, status); first < i {
			errs = append(errs, fmt.Errorf("success[%d]: %d is in success[%d] already; remove one of the two", i, status, first))
			continue
		}
		if rule := slices.IndexFunc(rules, func(r Rule) bool { return r.matchesAll(status) }); rule >= 0 {
			errs = append(errs, fmt.Errorf("success[%d]: %d never counts: rules[%d] matches it first", i, status, rule))
		}
	}
	return errs
}

// matchesAll reports whether the rule, if its conditions make sense, matches every answer
// of a final status.
func (r Rule) matchesAll(status int) bool {
	return len(r.checkConditions()) == 0 && len(r.Header) == 0 && scopeOf(r).ways[status-leastStatus]
}

// neverApplies names the earlier rules that leave nothing for rule i.
func neverApplies(rules []Rule, i int, covering []int) error {
	names := make([]string, len(covering))
	for c, at := range covering {
		names[c] = fmt.Sprintf("rules[%d]", at)
	}
	last := len(names) - 1
	if last > 0 {
		return fmt.Errorf("never applies: %s and %s together match all that it matches", strings.Join(names[:last], ", "), names[last])
	}
	first, r := rules[covering[0]], rules[i]
	same := len(scopeOf(first).coveredBy([]scope{scopeOf(r)})) > 0
	if same && first.Verdict("") != r.Verdict("") {
		return fmt.Errorf("contradicts %s and never applies: both match the same, one says %s, the other %s; keep one of the two",
			names[0], first.effect(), r.effect())
	}
	return fmt.Errorf("never applies: %s matches all that it matches", names[0])
}

// effect words what a rule says besides its conditions.
func (r Rule) effect() string {
	words := string(r.Action)
	if class := r.Verdict("").Class; class != r.Action.Class() {
		words += " (class " + string(class) + ")"
	}
	if r.DLT != "" {
		words += " (dlt " + r.DLT + ")"
	}
	return words
}

func (r Rule) checkConditions() []error {
	if r.Unconditional() {
		return []error{errors.New(": has no condition; give it a status, an error or a header")}
	}
	var errs []error
	for i, s := range r.Status {
		if _, _, err := s.Range(); err != nil {
			errs = append(errs, fmt.Errorf(".status[%d]: %w", i, err))
		}
	}
	kinds := slices.DeleteFunc(Kinds(), func(k Kind) bool { return k == KindStatus })
	for i, kind := range r.Error {
		if !slices.Contains(kinds, kind) {
			errs = append(errs, fmt.Errorf(".error[%d]: %q is no kind of failure; use %s", i, kind, oneOf(kinds)))
		}
	}
	if r.Action == TreatDone {
		errs = append(errs, r.checkDone()...)
	}
	if len(r.Error) > 0 && len(r.Status)+len(r.Header) > 0 {
		errs = append(errs, errors.New(".error: is of an attempt without an answer, which has no status and no header; make two rules of it"))
	}
	return errs
}

// checkDone refuses to complete what no endpoint can have taken.
func (r Rule) checkDone() []error {
	var errs []error
	for i, kind := range r.Error {
		switch kind {
		case KindRefused, KindDNS, KindTLS:
			errs = append(errs, fmt.Errorf(".error[%d]: %s means that the record never reached the endpoint, and action done would lose it, in an outage every record of the topic; only timeout, reset and protocol may be done", i, kind))
		}
	}
	return errs
}

func (r Rule) checkEffect() []error {
	var errs []error
	switch {
	case r.Action == "":
		errs = append(errs, fmt.Errorf(".action: missing; use %s", oneOf(Treatments())))
	case !slices.Contains(Treatments(), r.Action):
		errs = append(errs, fmt.Errorf(".action: %q is no action; use %s", r.Action, oneOf(Treatments())))
	}
	switch {
	case r.Class == ClassNone:
	case !slices.Contains(Classes(), r.Class):
		errs = append(errs, fmt.Errorf(".class: %q is no class; use %s", r.Class, oneOf(Classes())))
	case r.Action == TreatDone:
		errs = append(errs, errors.New(".class: is of a failure, and action done makes none; remove one of the two"))
	}
	if r.DLT != "" && r.Action != TreatDeadLetter {
		errs = append(errs, errors.New(".dlt: is a topic for action dead_letter alone; remove it, or change the action"))
	}
	return errs
}

// oneOf lists the values of a closed set.
func oneOf[T ~string](values []T) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = string(v)
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
