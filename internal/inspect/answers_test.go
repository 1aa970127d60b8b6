package inspect

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retryd/retryd/internal/policy"
)

// answerTo returns the line of the table for a status: that which names it, else
// that of its hundred, else the one for everything else.
func answerTo(status int) Answer {
	hundred := strconv.Itoa(status/100) + "xx"
	for _, fits := range []func(Answer) bool{
		func(a Answer) bool { return slices.Contains(a.Statuses, status) },
		func(a Answer) bool { return a.Rest == hundred },
		func(a Answer) bool { return a.Rest == "*" },
	} {
		if i := slices.IndexFunc(Answers(), fits); i >= 0 {
			return Answers()[i]
		}
	}
	return Answer{Class: "no line"}
}

func TestAnswersAreThoseOfThePolicy(t *testing.T) {
	for status := 100; status < 600; status++ {
		if got, want := answerTo(status).Class, policy.Classify(status, policy.KindStatus); got != want {
			t.Errorf("status %d: table says %q, policy %q", status, got, want)
		}
	}
	var named []policy.Kind
	for _, a := range Answers() {
		for _, kind := range a.Kinds {
			named = append(named, kind)
			if want := policy.Classify(0, kind); a.Class != want {
				t.Errorf("%s: table says %q, policy %q", kind, a.Class, want)
			}
		}
	}
	for _, kind := range policy.Kinds() {
		if kind != policy.KindStatus && !slices.Contains(named, kind) {
			t.Errorf("no line names %s", kind)
		}
	}
}

func TestAnswersHaveTheEffectsOfThePolicy(t *testing.T) {
	s := policy.Schedule{Steps: []policy.Step{{Delay: 1}}, Budget: 1, Lifetime: 1, LimitedAttempts: 2}
	for _, a := range Answers() {
		d := policy.Decide(s, stateOfMain(), policy.Outcome{Verdict: policy.VerdictOf(a.Class)}, someTime(), 0)
		if got := ActionOf(d.Action); got != a.Action {
			t.Errorf("class %q: table says %s, policy %s", a.Class, a.Action, got)
		}
		if reason := string(d.Reason); !strings.Contains(a.Effect, reason) {
			t.Errorf("class %q: table says %q, policy %s", a.Class, a.Effect, reason)
		}
		if spent := a.Action == ActionForward || a.Action == ActionDeadLetter; spent != a.Spent {
			t.Errorf("class %q: spent %t, after %s", a.Class, a.Spent, a.Action)
		}
	}
}

// documented is a line of the table in docs/webhook.md.
type documented struct {
	Statuses []int
	Spent    string
}

var (
	row    = regexp.MustCompile(`(?m)^\| ([^|]*) \| ([^|]*) \| ([^|]*) \| ([^|]*) \|$`)
	number = regexp.MustCompile(`\b[1-5]\d\d\b`)
)

func TestDocumentedAnswersAreTheSame(t *testing.T) {
	data, err := os.ReadFile("../../docs/webhook.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(data), "\n## Answers\n")
	section, _, _ = strings.Cut(section, "\n## ")
	got := map[string]documented{}
	for _, m := range row.FindAllStringSubmatch(section, -1) {
		class, ok := strings.CutPrefix(m[2], "`")
		if !ok {
			continue
		}
		line := documented{Spent: m[4]}
		for _, n := range number.FindAllString(m[1], -1) {
			status, _ := strconv.Atoi(n)
			line.Statuses = append(line.Statuses, status)
		}
		got[strings.TrimSuffix(class, "`")] = line
	}
	want := map[string]documented{}
	for _, a := range Answers() {
		if a.Class != policy.ClassNone {
			want[string(a.Class)] = documented{a.Statuses, map[bool]string{true: "yes", false: "no"}[a.Spent]}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("table of docs/webhook.md (-check +documented):\n%s", diff)
	}
}
