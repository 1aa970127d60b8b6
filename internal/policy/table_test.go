package policy

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// answer are the headers of an answer.
type answer map[string][]string

func (a answer) PeekAll(name string) [][]byte {
	var values [][]byte
	for n, all := range a {
		if strings.EqualFold(n, name) {
			for _, v := range all {
				values = append(values, []byte(v))
			}
		}
	}
	return values
}

// end is how an attempt ends: with an answer, or with a failure of a kind.
type end struct {
	status  int
	headers answer
	kind    Kind
}

// firstMatch is what a table does, said simply: the place of the first rule that matches.
func firstMatch(rules []Rule, e end) int {
	return slices.IndexFunc(rules, func(r Rule) bool {
		if r.Unconditional() {
			return true
		}
		if e.kind != KindNone {
			return slices.Contains(r.Error, e.kind)
		}
		within := slices.ContainsFunc(r.Status, func(s Statuses) bool {
			first, last, _ := s.Range()
			return first <= e.status && e.status <= last
		})
		if len(r.Error) > 0 || len(r.Status) > 0 && !within {
			return false
		}
		for name, value := range r.Header {
			values := e.headers.PeekAll(name)
			if !slices.ContainsFunc(values, func(v []byte) bool { return value == AnyValue || strings.TrimSpace(string(v)) == value }) {
				return false
			}
		}
		return true
	})
}

func drawRule(t *rapid.T) Rule {
	r := Rule{Action: rapid.SampledFrom(Treatments()).Draw(t, "action")}
	if rapid.IntRange(0, 4).Draw(t, "failure") == 0 {
		r.Error = rapid.SliceOfN(rapid.SampledFrom([]Kind{KindTimeout, KindDNS, KindTLS}), 1, 3).Draw(t, "error")
		return r
	}
	r.Status = rapid.SliceOfN(rapid.SampledFrom([]Statuses{"200", "2xx", "409", "400-409", "410-499", "4xx", "500-599"}), 0, 3).Draw(t, "status")
	if len(r.Status) == 0 || rapid.Bool().Draw(t, "conditional") {
		r = with(r, rapid.SampledFrom([]string{"X-A", "x-a", "X-B"}).Draw(t, "name"), rapid.SampledFrom([]string{"1", "2", AnyValue}).Draw(t, "value"))
	}
	return r
}

func drawEnd(t *rapid.T) end {
	if rapid.IntRange(0, 3).Draw(t, "failure") == 0 {
		return end{kind: rapid.SampledFrom(append(Kinds(), "other")).Draw(t, "kind")}
	}
	headers := answer{}
	for _, name := range rapid.SliceOf(rapid.SampledFrom([]string{"X-A", "X-B"})).Draw(t, "names") {
		headers[name] = rapid.SliceOfN(rapid.SampledFrom([]string{"1", " 2 ", ""}), 0, 2).Draw(t, "values")
	}
	return end{status: rapid.SampledFrom([]int{0, 101, 200, 204, 409, 418, 500, 599, 600}).Draw(t, "status"), headers: headers}
}

// TestTableIsTheFirstRuleThatMatches compares the table, made for look-up, with a walk
// over the rules.
func TestTableIsTheFirstRuleThatMatches(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rules := rapid.SliceOfN(rapid.Custom(drawRule), 0, 6).Draw(t, "rules")
		table := NewTable(rules, nil)
		all := append(slices.Clone(rules), DefaultRules()...)
		for range 20 {
			e := drawEnd(t)
			got := table.Failure(e.kind)
			if e.kind == KindNone {
				got = table.Answer(e.status, e.headers)
			}
			i := firstMatch(all, e)
			by := ""
			if i < len(rules) {
				by = fmt.Sprintf("endpoint.rules[%d]", i)
			}
			if want := all[i].Verdict(by); got != want {
				t.Fatalf("%+v: %+v, want %+v by %+v", e, got, want, all[i])
			}
		}
	})
}

func TestSuccessComesBehindTheRulesAndBeforeTheDefaultTable(t *testing.T) {
	table := NewTable([]Rule{on(TreatRetry, "202")}, []int{200, 202, 404})
	for status, want := range map[int]Verdict{
		200: {Treatment: TreatDone, Rule: "endpoint.success"},
		202: {Treatment: TreatRetry, Class: ClassTransient, Rule: "endpoint.rules[0]"},
		204: {Treatment: TreatLimited, Class: ClassUnknown, Rule: "endpoint.success"},
		404: {Treatment: TreatDone, Rule: "endpoint.success"},
		405: {Treatment: TreatHold, Class: ClassEndpoint, Doubtful: true},
	} {
		if got := table.Answer(status, nil); got != want {
			t.Errorf("status %d: %+v, want %+v", status, got, want)
		}
	}
}

func TestActionMakesTheClassUnlessTheRuleDoes(t *testing.T) {
	for action, want := range map[Treatment]Class{
		TreatDone: ClassNone, TreatRetry: ClassTransient, TreatLimited: ClassUnknown, TreatThrottle: ClassThrottled,
		TreatDeadLetter: ClassInvalid, TreatReview: ClassConflict, TreatHold: ClassEndpoint, TreatStop: ClassEndpoint, "": ClassUnknown,
	} {
		if got := (Rule{Action: action}).Verdict("").Class; got != want {
			t.Errorf("action %q: class %q, want %q", action, got, want)
		}
	}
	if got := (Rule{Action: TreatHold, Class: ClassThrottled}).Verdict("k"); got != (Verdict{Treatment: TreatHold, Class: ClassThrottled, Rule: "k"}) {
		t.Errorf("with a class of its own: %+v", got)
	}
}

func TestNotFoundIsDoubtful(t *testing.T) {
	table := NewTable(nil, nil)
	for status := 100; status < 700; status++ {
		v := table.Answer(status, nil)
		if want := status == 404 || status == 405 || status == 415; v.Doubtful != want {
			t.Errorf("status %d: %+v", status, v)
		}
	}
}

func TestLinesLeaveOutWhatNeverApplies(t *testing.T) {
	for name, tt := range map[string]struct {
		rules   []Rule
		success []int
		left    int // of the default table
	}{
		"no rules":       {left: len(DefaultRules())},
		"429 taken":      {rules: []Rule{on(TreatRetry, "429")}, left: len(DefaultRules()) - 1},
		"a part taken":   {rules: []Rule{on(TreatRetry, "404")}, left: len(DefaultRules())},
		"all 4xx taken":  {rules: []Rule{on(TreatRetry, "4xx")}, left: len(DefaultRules()) - 4}, // 429, 409, 404, 4xx
		"with a header":  {rules: []Rule{with(on(TreatRetry, "4xx"), "X-A", "*")}, left: len(DefaultRules())},
		"a success list": {success: []int{200}, left: len(DefaultRules()) - 1},
		"all taken":      {rules: []Rule{on(TreatRetry, "200-599"), failing(TreatRetry, KindTimeout, KindRefused, KindReset, KindDNS, KindTLS, KindProtocol)}, left: 1},
	} {
		left := 0
		lines := NewTable(tt.rules, tt.success).Lines()
		for _, line := range lines {
			if line.By == "" {
				left++
			}
		}
		if left != tt.left || !lines[len(lines)-1].Unconditional() {
			t.Errorf("%s: %d lines of the default table, want %d: %+v", name, left, tt.left, lines)
		}
	}
}

func TestLookingUpAllocatesNothing(t *testing.T) {
	table := NewTable([]Rule{with(on(TreatRetry, "503"), "X-A", "b")}, nil)
	if n := len(table.byStatus[0]); n != 1 {
		t.Errorf("%d rules are asked about a 200, want the one that is about it", n)
	}
	if n := testing.AllocsPerRun(100, func() {
		if table.Answer(200, nil).Treatment != TreatDone || table.Failure(KindTimeout).Treatment != TreatRetry {
			t.Fatal("wrong verdict")
		}
	}); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}
