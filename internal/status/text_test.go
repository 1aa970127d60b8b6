package status

import (
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func assemble(problems []Problem, relays ...Relay) Process {
	return Assemble("1", time.Time{}, time.Time{}, problems, relays)
}

func TestOneLinePerProblem(t *testing.T) {
	hostile := Relay{Name: "in\x1b[2Jvoices", Problems: []Problem{{Text: "first\nsecond"}, {Text: "naïve\x00"}}}
	got := assemble(warned, up, hostile, faulty).Lines()
	want := []string{
		"log lines cannot be written: no space left on device",
		"relay in [2Jvoices: first second",
		"relay in [2Jvoices: naïve ",
		"relay faulty: main topic faulty does not exist",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := assemble(nil, up).Lines(); len(got) != 0 {
		t.Errorf("without a problem: %q", got)
	}
}

func TestSummary(t *testing.T) {
	slow := Relay{Name: "slow", Ready: true, Problems: []Problem{{Text: "delivery pauses"}}}
	tests := []struct {
		name string
		of   Process
		want string
	}{
		{"ready", assemble(nil, up, up, up), "ready: 3 relays"},
		{"one relay", assemble(nil, up), "ready: 1 relay"},
		{"ready with a problem", assemble(nil, up, slow), "ready: 2 relays; relay slow: delivery pauses"},
		{"ready with problems", assemble(warned, slow),
			"ready: 1 relay; log lines cannot be written: no space left on device; 1 more problem"},
		{"a fault", assemble(nil, up, faulty, up), "2 of 3 relays ready; relay faulty: main topic faulty does not exist"},
		{"blocking ones first", assemble(warned, slow, joining, faulty),
			"1 of 3 relays ready; relay joining: is not a member of retryd-joining; 3 more problems"},
		{"blocked", assemble(blocked, up), "waiting for Kafka at 127.0.0.1:9092"},
		{"blocked, and more", assemble(blocked, up, joining), "waiting for Kafka at 127.0.0.1:9092; 1 more problem"},
		{"nothing there", assemble(nil), "0 of 0 relays ready"},
		{"no reason given", assemble(nil, up, Relay{Name: "silent"}), "1 of 2 relays ready"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.of.Summary(); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestSummaryIsShortAndPrints(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Repeat(rapid.String().Draw(t, "text"), rapid.IntRange(1, 400).Draw(t, "times"))
		summary := assemble([]Problem{{Text: text, Blocking: rapid.Bool().Draw(t, "blocking")}}, up).Summary()
		for _, got := range []string{summary, Headline(text)} {
			if len(got) > maxHeadline || !utf8.ValidString(got) {
				t.Fatalf("%d bytes: %q", len(got), got)
			}
			if strings.ContainsFunc(got, func(r rune) bool { return !unicode.IsPrint(r) }) {
				t.Fatalf("does not print: %q", got)
			}
		}
	})
}

func TestCountKnowsOneFromMany(t *testing.T) {
	for n, want := range map[int32]string{0: "0 records", 1: "1 record", 2: "2 records"} {
		if got := Count(n, "record"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
