package control

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/retryd/retryd/internal/status"
)

func TestWordOnTheTopic(t *testing.T) {
	since := time.Date(2026, 1, 31, 9, 0, 0, 123_000_000, time.FixedZone("", 3600))
	h := tidy(status.Halt{State: status.Paused, Reason: "new\nrelease", By: "alice", Since: since})
	value, err := encode("loans", h)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"relay":"loans","state":"paused","reason":"new release","by":"alice","at":"2026-01-31T08:00:00.123Z"}`
	if string(value) != want {
		t.Errorf("%s, want %s", value, want)
	}
	if got, err := decode(value); err != nil || got != h {
		t.Errorf("read back %+v, %v, want %+v", got, err, h)
	}
}

func TestWordsThatMakeNoSense(t *testing.T) {
	tests := []struct{ value, want string }{
		{``, "not the JSON of a state: unexpected end of JSON input"},
		{`{"state":5}`, "not the JSON of a state: json: cannot unmarshal number into Go struct field word.state of type status.HaltState"},
		{`{"state":"draining"}`, "at is no time of a halt"},
		{`{"state":"paused"}`, "at is no time of a halt"},
		{`{"state":"paused","at":"9999-12-31T23:00:00-05:00"}`, "at is no time of a halt"},
	}
	for _, tt := range tests {
		if _, err := decode([]byte(tt.value)); err == nil || err.Error() != tt.want {
			t.Errorf("%s: %v, want %s", tt.value, err, tt.want)
		}
	}
	value := `{"state":"stopped","later":[1],"at":"2026-01-31T08:00:00Z"}`
	if _, err := decode([]byte(value)); err != nil {
		t.Errorf("%s: %v, want that what a newer version adds is skipped", value, err)
	}
}

// Once the record before it is compacted away, it alone says that the relay is halted.
func TestStateOfANewerVersionCountsAsAPause(t *testing.T) {
	for value, reason := range map[string]string{
		`{"state":"draining","reason":"release","at":"2026-01-31T08:00:00Z"}`: `the control topic says "draining", which this version does not know: release`,
		`{"at":"2026-01-31T08:00:00Z"}`:                                       `the control topic says "", which this version does not know: `,
	} {
		if h, err := decode([]byte(value)); err != nil || h.State != status.Paused || h.Reason != reason {
			t.Errorf("%s: %+v, %v, want a pause because %s", value, h, err, reason)
		}
	}
}

func TestKeysOfOthersAreNoRelays(t *testing.T) {
	if group, ok := groupOf(keyOf("retryd-loans/x")); !ok || group != "retryd-loans/x" {
		t.Errorf("%q, %v", group, ok)
	}
	for _, key := range []string{"", "retryd-loans", "relay", "key/relay/a"} {
		if group, ok := groupOf([]byte(key)); ok {
			t.Errorf("%q is the key of %q", key, group)
		}
	}
}

// Whatever stands in a value, what is read of it can be shown, and written again.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"relay":"loans","state":"paused","reason":"x","by":"alice","at":"2026-01-31T08:00:00Z"}`))
	f.Add([]byte(`{"state":"stopped","reason":"\ud800\u0000","at":"0000-01-01T00:00:00+23:59"}`))
	f.Add([]byte(`{"state":"draining","reason":"x","at":"2026-01-31T08:00:00Z"}`))
	f.Fuzz(func(t *testing.T, value []byte) {
		h, err := decode(value)
		if err != nil {
			return
		}
		for _, text := range []string{h.Reason, h.By} {
			if len(text) > MaxReason || !utf8.ValidString(text) || strings.ContainsAny(text, "\n\x1b") {
				t.Errorf("%q cannot be shown", text)
			}
		}
		again, err := encode("loans", h)
		if err != nil || !json.Valid(again) {
			t.Fatalf("cannot be written again: %v", err)
		}
		if back, err := decode(again); err != nil || back != h {
			t.Errorf("%+v becomes %+v, %v", h, back, err)
		}
	})
}
