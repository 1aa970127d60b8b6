package inspect

import (
	"maps"
	"net/textproto"
	"slices"

	"github.com/retryd/retryd/internal/forward"
	"github.com/retryd/retryd/internal/policy"
)

// Action is what happens to a record after an attempt.
type Action string

// The actions.
const (
	ActionDone       Action = "done"
	ActionForward    Action = "forward"     // it is written to the next tier
	ActionDeadLetter Action = "dead_letter" // it is written to the dead-letter topic
	ActionMove       Action = "move"        // it is written to where it waits, and no attempt is spent
	ActionHold       Action = "hold"        // it stays where it is, and no attempt is spent
)

// ActionOf names an action of the policy.
func ActionOf(a policy.Action) Action {
	switch a {
	case policy.ActionDone:
		return ActionDone
	case policy.ActionForward:
		return ActionForward
	case policy.ActionDeadLetter:
		return ActionDeadLetter
	case policy.ActionMove:
		return ActionMove
	}
	return ActionHold
}

// Answer is one rule of a relay's table: what is done about the outcomes that it matches
// and that no rule before it does.
type Answer struct {
	Rule       string            `json:"rule"`        // its key, such as endpoint.rules[0]; empty: the default table
	Statuses   []policy.Statuses `json:"statuses"`    // any of them
	Headers    []Header          `json:"headers"`     // all of them
	Kinds      []policy.Kind     `json:"error_kinds"` // any of these ways to fail without an answer
	Everything bool              `json:"everything"`  // the rule has no condition: it is about whatever is left
	Treatment  policy.Treatment  `json:"treatment"`   // what the rule says
	Class      policy.Class      `json:"class"`       // empty for success
	Action     Action            `json:"action"`      // forward: while there is a tier, and the limits allow it
	Topic      string            `json:"topic"`       // of a dead letter, if the rule names one
	Effect     string            `json:"effect"`      // the same in words
	Spent      bool              `json:"attempt_spent"`
}

// Header is one that a rule asks for; the value * is any.
type Header struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Answers returns the table of an endpoint: its rules, what endpoint.success says, and
// of the default table what may apply behind these.
func Answers(endpoint forward.Config) []Answer {
	var answers []Answer
	for _, line := range endpoint.Table().Lines() {
		answers = append(answers, answerOf(line))
	}
	return answers
}

// DefaultAnswers returns the table of an endpoint without rules of its own.
func DefaultAnswers() []Answer { return Answers(forward.Config{}) }

func answerOf(line policy.Line) Answer {
	v := line.Verdict(line.By)
	a := Answer{
		Rule: line.By, Statuses: append([]policy.Statuses{}, line.Status...), Headers: []Header{},
		Kinds: append([]policy.Kind{}, line.Error...), Everything: line.Unconditional(),
		Treatment: v.Treatment, Class: v.Class, Topic: v.DLT,
	}
	for _, name := range slices.Sorted(maps.Keys(line.Header)) {
		a.Headers = append(a.Headers, Header{textproto.CanonicalMIMEHeaderKey(name), line.Header[name]})
	}
	a.Action, a.Effect = effectOf(v)
	a.Spent = a.Action == ActionForward || a.Action == ActionDeadLetter
	return a
}

// effectOf tells in words what policy.Decide makes of a verdict.
func effectOf(v policy.Verdict) (Action, string) {
	switch v.Treatment {
	case policy.TreatDone:
		return ActionDone, "done"
	case policy.TreatRetry:
		return ActionForward, "next tier, as the schedule says"
	case policy.TreatDeadLetter:
		if v.DLT != "" {
			return ActionDeadLetter, "dead letter at once (rejected), in " + v.DLT
		}
		return ActionDeadLetter, "dead letter at once (rejected)"
	case policy.TreatReview:
		return ActionDeadLetter, "to review, or dead letter (conflict)"
	case policy.TreatThrottle:
		return ActionMove, "the relay pauses, it waits in a tier"
	case policy.TreatHold:
		if v.Doubtful {
			return ActionHold, "the same, or rejected if others pass"
		}
		return ActionHold, "delivery stops, the record waits"
	case policy.TreatStop:
		return ActionHold, "the relay stops, the record waits"
	}
	return ActionForward, "next tier, until limited_attempts"
}
