package inspect

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retryd/retryd/internal/forward"
	"github.com/retryd/retryd/internal/policy"
)

// answerTo returns the first line of a table that is about a status, or a kind.
func answerTo(answers []Answer, status int, kind policy.Kind) Answer {
	for _, a := range answers {
		if a.Everything || slices.Contains(a.Kinds, kind) {
			return a
		}
		for _, s := range a.Statuses {
			if first, last, _ := s.Range(); first <= status && status <= last && len(a.Headers) == 0 {
				return a
			}
		}
	}
	return Answer{Class: "no line"}
}

func TestAnswersAreThoseOfThePolicy(t *testing.T) {
	rules := []policy.Rule{
		{Status: []policy.Statuses{"409"}, Action: policy.TreatDone},
		{Status: []policy.Statuses{"500-503"}, Action: policy.TreatThrottle, Class: policy.ClassConflict},
		{Error: []policy.Kind{policy.KindTimeout}, Action: policy.TreatStop},
	}
	for _, endpoint := range []forward.Config{{}, {Rules: rules}, {Rules: rules, Success: []int{200, 404, 501}}} {
		answers, table := Answers(endpoint), endpoint.Table()
		for status := 200; status < 600; status++ {
			got, want := answerTo(answers, status, policy.KindStatus), table.Answer(status, nil)
			if got.Class != want.Class || got.Treatment != want.Treatment || got.Rule != want.Rule {
				t.Errorf("status %d: table says %+v, policy %+v", status, got, want)
			}
		}
		for _, kind := range policy.Kinds() {
			got, want := answerTo(answers, 0, kind), table.Failure(kind)
			if got.Class != want.Class || got.Treatment != want.Treatment || got.Rule != want.Rule {
				t.Errorf("%s: table says %+v, policy %+v", kind, got, want)
			}
		}
	}
}

func TestAnswersHaveTheEffectsOfThePolicy(t *testing.T) {
	s := policy.Schedule{Steps: []policy.Step{{Delay: 1}}, Budget: 1, Lifetime: 1, LimitedAttempts: 2}
	for _, treatment := range policy.Treatments() {
		rule := policy.Rule{Status: []policy.Statuses{"2xx"}, Action: treatment}
		a := Answers(forward.Config{Rules: []policy.Rule{rule}})[0]
		d := policy.Decide(s, stateOfMain(), policy.Outcome{Verdict: rule.Verdict("")}, someTime(), 0)
		if got := ActionOf(d.Action); got != a.Action {
			t.Errorf("%s: table says %s, policy %s", treatment, a.Action, got)
		}
		if reason := string(d.Reason); !strings.Contains(a.Effect, reason) {
			t.Errorf("%s: table says %q, policy %s", treatment, a.Effect, reason)
		}
		if spent := a.Action == ActionForward || a.Action == ActionDeadLetter; spent != a.Spent {
			t.Errorf("%s: spent %t, after %s", treatment, a.Spent, a.Action)
		}
	}
}

func TestAnswersShowEveryCondition(t *testing.T) {
	got := Answers(forward.Config{Rules: []policy.Rule{{
		Status: []policy.Statuses{"4xx", "500"}, Header: map[string]string{"x-quota": "exhausted", "x-a": "*"},
		Action: policy.TreatDeadLetter, Class: policy.ClassUnknown, DLT: "quarantine",
	}}})[0]
	want := Answer{
		Rule: "endpoint.rules[0]", Statuses: []policy.Statuses{"4xx", "500"},
		Headers: []Header{{"X-A", "*"}, {"X-Quota", "exhausted"}}, Kinds: []policy.Kind{},
		Treatment: policy.TreatDeadLetter, Class: policy.ClassUnknown, Action: ActionDeadLetter,
		Topic: "quarantine", Effect: "dead letter at once (rejected), in quarantine", Spent: true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
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
	for _, class := range policy.Classes() {
		want[string(class)] = documented{Spent: "no"}
	}
	for _, a := range DefaultAnswers() {
		line := want[string(a.Class)]
		for _, s := range a.Statuses {
			if first, last, _ := s.Range(); first == last {
				line.Statuses = append(line.Statuses, first)
			}
		}
		if a.Spent {
			line.Spent = "yes"
		}
		want[string(a.Class)] = line
	}
	delete(want, "")
	for class, line := range got { // examples of what falls under the last lines
		line.Statuses = slices.DeleteFunc(line.Statuses, func(status int) bool {
			left := answerTo(DefaultAnswers(), status, "")
			return string(left.Class) == class && (left.Everything || slices.Contains(left.Statuses, "4xx"))
		})
		if len(line.Statuses) == 0 {
			line.Statuses = nil
		}
		got[class] = line
	}
	for _, line := range want {
		slices.Sort(line.Statuses)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("table of docs/webhook.md (-check +documented):\n%s", diff)
	}
}
