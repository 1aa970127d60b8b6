package inspect

import "github.com/retryd/retryd/internal/policy"

// Action is what happens to a record after an attempt.
type Action string

// The actions.
const (
	ActionDone       Action = "done"
	ActionForward    Action = "forward"     // it is written to the next tier
	ActionDeadLetter Action = "dead_letter" // it is written to the dead-letter topic
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
	}
	return ActionHold
}

// Answer is one line of what the endpoint's answers mean.
type Answer struct {
	Statuses []int         `json:"statuses"`    // those that are named
	Rest     string        `json:"rest"`        // the others of 2xx, 3xx or 4xx, or * for whatever no line names
	Kinds    []policy.Kind `json:"error_kinds"` // ways to fail without a status that counts
	Class    policy.Class  `json:"class"`       // empty for success
	Action   Action        `json:"action"`      // forward: while there is a tier, and the limits allow it
	Effect   string        `json:"effect"`      // the same in words
	Spent    bool          `json:"attempt_spent"`
}

// Answers returns the table that holds for every relay, where its endpoint.success does
// not say otherwise. It tells in words what policy.Classify does and what follows from
// it.
func Answers() []Answer {
	const pause = "the relay pauses, the record waits"
	return []Answer{
		{
			Statuses: []int{}, Rest: "2xx",
			Kinds:  []policy.Kind{},
			Action: ActionDone, Effect: "done",
		},
		{
			Statuses: []int{408, 425, 502, 503, 504},
			Kinds:    []policy.Kind{policy.KindTimeout, policy.KindRefused, policy.KindReset, policy.KindDNS},
			Class:    policy.ClassTransient, Spent: true,
			Action: ActionForward, Effect: "next tier, at last a dead letter",
		},
		{
			Statuses: []int{500, 501}, Rest: "*",
			Kinds: []policy.Kind{policy.KindProtocol},
			Class: policy.ClassUnknown, Spent: true,
			Action: ActionForward, Effect: "next tier, until limited_attempts",
		},
		{
			Statuses: []int{400, 410, 413, 422}, Rest: "4xx",
			Kinds: []policy.Kind{},
			Class: policy.ClassInvalid, Spent: true,
			Action: ActionDeadLetter, Effect: "dead letter at once (rejected)",
		},
		{
			Statuses: []int{409, 412},
			Kinds:    []policy.Kind{},
			Class:    policy.ClassConflict, Spent: true,
			Action: ActionDeadLetter, Effect: "dead letter at once (conflict)",
		},
		{
			Statuses: []int{429},
			Kinds:    []policy.Kind{},
			Class:    policy.ClassThrottled,
			Action:   ActionHold, Effect: pause,
		},
		{
			Statuses: []int{401, 403, 404, 405, 407, 415}, Rest: "3xx",
			Kinds:  []policy.Kind{policy.KindTLS},
			Class:  policy.ClassEndpoint,
			Action: ActionHold, Effect: pause,
		},
	}
}
