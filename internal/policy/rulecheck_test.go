package policy

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// on is a rule for statuses.
func on(a Treatment, statuses ...Statuses) Rule { return Rule{Status: statuses, Action: a} }

// failing is a rule for failures without an answer.
func failing(a Treatment, kinds ...Kind) Rule { return Rule{Error: kinds, Action: a} }

// with adds a header to a rule.
func with(r Rule, name, value string) Rule {
	header := map[string]string{name: value}
	for n, v := range r.Header {
		header[n] = v
	}
	r.Header = header
	return r
}

func TestCheckRulesNamesKeyAndFix(t *testing.T) {
	const kinds = "timeout, refused, reset, dns, tls or protocol"
	const lost = " means that the record never reached the endpoint, and action done would lose it, in an outage every record of the topic; only timeout, reset and protocol may be done"
	const actions = "done, retry, limited, throttle, dead_letter, review, hold or stop"
	tests := []struct {
		name  string
		rules []Rule
		want  []string
	}{
		{"none", nil, nil},
		{"each kind of rule", []Rule{
			with(on(TreatRetry, "200"), "X-A", "b"), on(TreatDone, "409"), on(TreatLimited, "4xx"), failing(TreatHold, KindTLS, KindDNS),
			with(Rule{Action: TreatStop, Class: ClassUnknown}, "X-A", "*"), {Status: []Statuses{"500-599"}, Action: TreatDeadLetter, DLT: "q"},
		}, nil},
		{"no condition", []Rule{{Action: TreatDone}}, []string{"rules[0]: has no condition; give it a status, an error or a header"}},
		{"status", []Rule{on(TreatDone, "409", "4x")}, []string{`rules[0].status[1]: "4x" is no final HTTP status; write one of 200 to 599, 4xx, or 502-504`}},
		{"error", []Rule{failing(TreatDone, "timeout", "status", "slow")}, []string{
			`rules[0].error[1]: "status" is no kind of failure; use ` + kinds, `rules[0].error[2]: "slow" is no kind of failure; use ` + kinds}},
		{"done without the endpoint", []Rule{failing(TreatDone, KindTimeout, KindRefused, KindReset, KindDNS, KindTLS, KindProtocol)}, []string{
			"rules[0].error[1]: refused" + lost, "rules[0].error[3]: dns" + lost, "rules[0].error[4]: tls" + lost}},
		{"done with it, perhaps", []Rule{failing(TreatDone, KindTimeout, KindReset, KindProtocol)}, nil},
		{"error beside status", []Rule{{Status: []Statuses{"409"}, Error: []Kind{KindDNS}, Action: TreatRetry}}, []string{
			"rules[0].error: is of an attempt without an answer, which has no status and no header; make two rules of it"}},
		{"error beside header", []Rule{with(failing(TreatRetry, KindDNS), "a", "b")}, []string{
			"rules[0].error: is of an attempt without an answer, which has no status and no header; make two rules of it"}},
		{"no action", []Rule{{Status: []Statuses{"409"}}}, []string{"rules[0].action: missing; use " + actions}},
		{"action", []Rule{on("drop", "409")}, []string{`rules[0].action: "drop" is no action; use ` + actions}},
		{"class", []Rule{{Status: []Statuses{"409"}, Action: TreatRetry, Class: "poison"}}, []string{
			`rules[0].class: "poison" is no class; use transient, throttled, invalid, conflict, unknown or endpoint`}},
		{"class of a delivery", []Rule{{Status: []Statuses{"409"}, Action: TreatDone, Class: ClassConflict}}, []string{
			"rules[0].class: is of a failure, and action done makes none; remove one of the two"}},
		{"dlt", []Rule{{Status: []Statuses{"409"}, Action: TreatRetry, DLT: "q"}}, []string{
			"rules[0].dlt: is a topic for action dead_letter alone; remove it, or change the action"}},
		{"everything at once", []Rule{{Action: "x", Class: "y", DLT: "z"}, on(TreatDone, "409")}, []string{
			"rules[0]: has no condition; give it a status, an error or a header", `rules[0].action: "x" is no action; use ` + actions,
			`rules[0].class: "y" is no class; use transient, throttled, invalid, conflict, unknown or endpoint`,
			"rules[0].dlt: is a topic for action dead_letter alone; remove it, or change the action"}},
		{"too many", make([]Rule, 101), []string{"rules: 101 are too many; a relay has at most 100"}},

		{"covered by one", []Rule{failing(TreatHold, KindDNS), on(TreatDone, "4xx"), on(TreatRetry, "409")}, []string{
			"rules[2]: never applies: rules[1] matches all that it matches"}},
		{"covered by two", []Rule{on(TreatDone, "400-449"), on(TreatRetry, "500"), on(TreatRetry, "440-499"), on(TreatHold, "4xx")}, []string{
			"rules[3]: never applies: rules[0] and rules[2] together match all that it matches"}},
		{"covered by three", []Rule{on(TreatDone, "408"), on(TreatRetry, "409"), on(TreatRetry, "410"), on(TreatHold, "408-410")}, []string{
			"rules[3]: never applies: rules[0], rules[1] and rules[2] together match all that it matches"}},
		{"one status is left", []Rule{on(TreatDone, "400-408", "410-499"), on(TreatRetry, "4xx")}, nil},
		{"kinds together", []Rule{failing(TreatLimited, KindDNS), failing(TreatRetry, KindTLS), failing(TreatHold, KindTLS, KindDNS)}, []string{
			"rules[2]: never applies: rules[0] and rules[1] together match all that it matches"}},
		{"a kind is left", []Rule{failing(TreatLimited, KindDNS), failing(TreatRetry, KindTLS, KindDNS)}, nil},
		{"all statuses leave no header", []Rule{on(TreatDone, "200-599"), with(Rule{Action: TreatRetry}, "X-A", "b")}, []string{
			"rules[1]: never applies: rules[0] matches all that it matches"}},
		{"a header before its status", []Rule{with(on(TreatDone, "4xx"), "X-A", "b"), on(TreatRetry, "409")}, nil},
		{"a status before its header", []Rule{on(TreatRetry, "409"), with(on(TreatDone, "409"), "X-A", "b")}, []string{
			"rules[1]: never applies: rules[0] matches all that it matches"}},
		{"any value before one", []Rule{with(on(TreatRetry, "4xx"), "X-A", "*"), with(on(TreatDone, "409"), "x-a", "b")}, []string{
			"rules[1]: never applies: rules[0] matches all that it matches"}},
		{"one value before any", []Rule{with(on(TreatRetry, "409"), "X-A", "b"), with(on(TreatDone, "409"), "X-A", "*")}, nil},
		{"one header before two", []Rule{with(Rule{Action: TreatRetry}, "X-A", "b"), with(with(on(TreatDone, "409"), "X-A", "b"), "X-C", "d")}, []string{
			"rules[1]: never applies: rules[0] matches all that it matches"}},
		{"two headers before one", []Rule{with(with(on(TreatDone, "409"), "X-A", "b"), "X-C", "d"), with(on(TreatRetry, "409"), "X-A", "b")}, nil},

		{"contradiction", []Rule{on(TreatDone, "409"), on(TreatRetry, "409")}, []string{
			"rules[1]: contradicts rules[0] and never applies: both match the same, one says done, the other retry; keep one of the two"}},
		{"contradiction in other words", []Rule{on(TreatDone, "5xx"), on(TreatRetry, "500-549", "550-599")}, []string{
			"rules[1]: contradicts rules[0] and never applies: both match the same, one says done, the other retry; keep one of the two"}},
		{"contradiction of class and topic", []Rule{
			{Status: []Statuses{"409"}, Action: TreatDeadLetter, DLT: "q"}, {Status: []Statuses{"409"}, Action: TreatDeadLetter, Class: ClassConflict}}, []string{
			"rules[1]: contradicts rules[0] and never applies: both match the same, one says dead_letter (dlt q), the other dead_letter (class conflict); keep one of the two"}},
		{"twice the same", []Rule{on(TreatDone, "409"), on(TreatDone, "409")}, []string{"rules[1]: never applies: rules[0] matches all that it matches"}},
		{"the number of a rule behind a wrong one", []Rule{{}, on(TreatDone, "4xx"), on(TreatRetry, "409")}, []string{
			"rules[0]: has no condition; give it a status, an error or a header", "rules[0].action: missing; use " + actions,
			"rules[2]: never applies: rules[1] matches all that it matches"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, err := range CheckRules(tt.rules) {
				got = append(got, err.Error())
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCheckSuccessNamesKeyAndRule(t *testing.T) {
	rules := []Rule{
		{Action: TreatRetry}, on(TreatRetry, "4x"), with(on(TreatRetry, "2xx"), "X-A", "b"), failing(TreatRetry, KindDNS),
		on(TreatRetry, "404"), on(TreatDone, "4xx", "202-204"),
	}
	tests := []struct {
		name    string
		success []int
		want    []string
	}{
		{"none", nil, nil},
		{"what no rule matches, or not always", []int{200, 201, 302, 599}, nil},
		{"what rules match", []int{200, 404, 204, 409}, []string{
			"success[1]: 404 never counts: rules[4] matches it first",
			"success[2]: 204 never counts: rules[5] matches it first",
			"success[3]: 409 never counts: rules[5] matches it first"}},
		{"twice", []int{200, 201, 200}, []string{"success[2]: 200 is in success[0] already; remove one of the two"}},
		{"no status", []int{199, 600, 600}, []string{
			"success[0]: 199 is no final HTTP status, must be 200 to 599",
			"success[1]: 600 is no final HTTP status, must be 200 to 599",
			"success[2]: 600 is no final HTTP status, must be 200 to 599"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, err := range CheckSuccess(tt.success, rules) {
				got = append(got, err.Error())
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
		})
	}
}

// TestRulesThatAreRefusedNeverApply draws rules and outcomes: no rule that never applies
// may be the first that matches one.
func TestRulesThatAreRefusedNeverApply(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rules := rapid.SliceOfN(rapid.Custom(drawRule), 1, 6).Draw(t, "rules")
		refused := map[int]bool{}
		for _, err := range CheckRules(rules) {
			for i := range rules {
				if strings.HasPrefix(err.Error(), "rules["+string(rune('0'+i))+"]: ") {
					refused[i] = true
				}
			}
		}
		for range 50 {
			if first := firstMatch(rules, drawEnd(t)); refused[first] {
				t.Fatalf("rules[%d] applies: %+v", first, rules)
			}
		}
	})
}
