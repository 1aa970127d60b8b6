package inspect

import "github.com/retryd/retryd/internal/policy"

// Answer is one line of what the endpoint's answers mean.
type Answer struct {
	Statuses []int         `json:"statuses,omitempty"` // those that are named
	Rest     string        `json:"rest,omitempty"`     // the others of 2xx, 3xx or 4xx, or * for whatever no line names
	Kinds    []policy.Kind `json:"kinds,omitempty"`    // ways to fail without a status that counts
	Class    policy.Class  `json:"class,omitempty"`    // empty for success
	Effect   string        `json:"effect"`
	Spent    bool          `json:"attempt_spent"`
}

// Answers returns the table that holds for every relay. It tells in words what
// policy.Classify does and what follows from it.
func Answers() []Answer {
	const pause = "the relay pauses, the record waits"
	return []Answer{
		{Rest: "2xx", Effect: "done"},
		{
			Statuses: []int{408, 425, 502, 503, 504},
			Kinds:    []policy.Kind{policy.KindTimeout, policy.KindRefused, policy.KindReset, policy.KindDNS},
			Class:    policy.ClassTransient, Spent: true,
			Effect: "next tier, at last a dead letter",
		},
		{
			Statuses: []int{500, 501}, Rest: "*",
			Kinds: []policy.Kind{policy.KindProtocol},
			Class: policy.ClassUnknown, Spent: true,
			Effect: "next tier, until limited_attempts",
		},
		{
			Statuses: []int{400, 410, 413, 422}, Rest: "4xx",
			Class: policy.ClassInvalid, Spent: true,
			Effect: "dead letter at once (rejected)",
		},
		{
			Statuses: []int{409, 412},
			Class:    policy.ClassConflict, Spent: true,
			Effect: "dead letter at once (conflict)",
		},
		{Statuses: []int{429}, Class: policy.ClassThrottled, Effect: pause},
		{
			Statuses: []int{401, 403, 404, 405, 407, 415}, Rest: "3xx",
			Kinds: []policy.Kind{policy.KindTLS},
			Class: policy.ClassEndpoint, Effect: pause,
		},
	}
}
