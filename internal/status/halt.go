package status

import (
	"fmt"
	"time"
)

// Halt is the word that a relay delivers nothing until somebody resumes it.
type Halt struct {
	State  HaltState `json:"state"`
	Reason string    `json:"reason"` // may be empty
	By     string    `json:"by"`     // who said so
	Since  time.Time `json:"since"`
}

// HaltState says what kind of halt it is.
type HaltState string

// The states.
const (
	Paused  HaltState = "paused"  // by a person
	Stopped HaltState = "stopped" // by a rule, since an answer of the endpoint said so
)

// HaltStates returns the closed set of states.
func HaltStates() []HaltState { return []HaltState{Paused, Stopped} }

// Text is the halt of a relay as one sentence, with the way to end it.
func (h Halt) Text(relay string) string {
	reason := h.Reason
	if reason == "" {
		reason = "no reason given"
	}
	return fmt.Sprintf("%s by %s since %s: %s; its records wait and no attempt is spent, until: retryd resume %s",
		h.State, h.By, h.Since.UTC().Format(time.DateTime+" MST"), reason, relay)
}

func (h *Halt) tidy() *Halt {
	if h == nil {
		return nil
	}
	tidied := *h
	tidied.Since = stamp(h.Since)
	return &tidied
}
