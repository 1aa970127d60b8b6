package control

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/retryd/retryd/internal/status"
)

// keyPrefix begins the keys of relays; behind it is the relay's group, since that is what
// the instances of a relay have in common. Other keys are of something else.
const keyPrefix = "relay/"

// MaxReason bounds a reason, in bytes: it is one line of a status.
const MaxReason = 256

// maxBy bounds who said it, in bytes.
const maxBy = 64

// word is the value of a key, as JSON. The relay's name is for people who read the topic.
type word struct {
	Relay  string           `json:"relay"`
	State  status.HaltState `json:"state"`
	Reason string           `json:"reason"`
	By     string           `json:"by"`
	At     time.Time        `json:"at"`
}

func keyOf(group string) []byte { return []byte(keyPrefix + group) }

// groupOf returns the group whose relay a key is about; ok is false for another key.
func groupOf(key []byte) (group string, ok bool) { return strings.CutPrefix(string(key), keyPrefix) }

// encode returns a tidy halt as a value.
func encode(relay string, h status.Halt) ([]byte, error) {
	return json.Marshal(word{relay, h.State, h.Reason, h.By, h.Since})
}

// valueOf is encode; a relay that is not halted has no value.
func valueOf(relay string, h *status.Halt) ([]byte, error) {
	if h == nil {
		return nil, nil
	}
	return encode(relay, *h)
}

// decode reads a value. Fields that it does not know are of a newer version, and so is a
// state, which counts as a pause: whatever it is, the relay is not to deliver as usual.
// Texts that are too long are cut.
func decode(value []byte) (status.Halt, error) {
	var w word
	if err := json.Unmarshal(value, &w); err != nil {
		return status.Halt{}, fmt.Errorf("not the JSON of a state: %w", err)
	}
	if year := w.At.UTC().Year(); year < 1970 || year > 9999 {
		return status.Halt{}, errors.New("at is no time of a halt")
	}
	if !slices.Contains(status.HaltStates(), w.State) {
		w.Reason = fmt.Sprintf("the control topic says %.20q, which this version does not know: %s", w.State, w.Reason)
		w.State = status.Paused
	}
	return tidy(status.Halt{State: w.State, Reason: w.Reason, By: w.By, Since: w.At}), nil
}

// tidy returns a halt as it is read back once it was written.
func tidy(h status.Halt) status.Halt {
	return status.Halt{
		State: h.State, Reason: line(h.Reason, MaxReason), By: line(h.By, maxBy), Since: h.Since.UTC().Truncate(time.Millisecond),
	}
}

// line returns text as one printable line of at most so many bytes.
func line(text string, most int) string {
	text = status.OneLine(text)
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "")
	}
	return text
}
