package config

import (
	"fmt"
	"os"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retryd/retryd/internal/policy"
)

// withRules is a relay with one rule a line, from line 6 on.
func withRules(rules string) string {
	return fmt.Sprintf("relays:\n  - topic: orders\n    tiers: [5s]\n    endpoint:\n      url: http://127.0.0.1:8080/\n      rules:\n%s", rules)
}

func TestRulesAreLoaded(t *testing.T) {
	cfg, err := parse("f", []byte(withRules(`
        - {status: 409, action: done}
        - {status: [500, 502-504], header: {X-Quota: exhausted}, action: throttle}
        - {error: timeout, action: retry}
        - {error: [dns, tls], action: hold}
        - {status: 4xx, action: dead_letter, class: invalid, dlt: loans.quarantine}
        - {status: "500, 501", action: stop}
`)), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []policy.Rule{
		{Status: []policy.Statuses{"409"}, Action: policy.TreatDone},
		{Status: []policy.Statuses{"500", "502-504"}, Header: map[string]string{"x-quota": "exhausted"}, Action: policy.TreatThrottle},
		{Error: []policy.Kind{policy.KindTimeout}, Action: policy.TreatRetry},
		{Error: []policy.Kind{policy.KindDNS, policy.KindTLS}, Action: policy.TreatHold},
		{Status: []policy.Statuses{"4xx"}, Action: policy.TreatDeadLetter, Class: policy.ClassInvalid, DLT: "loans.quarantine"},
		{Status: []policy.Statuses{"500", "501"}, Action: policy.TreatStop},
	}
	if diff := cmp.Diff(want, cfg.Relays[0].Endpoint.Rules); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
}

func TestRulesThatAreWrong(t *testing.T) {
	const p = "relays[0].endpoint.rules"
	tests := []struct {
		name, rules string
		want        []string
	}{
		{"values", `        - {status: 4.5, action: done}
        - {status: [409, 4x, true], action: done}
        - {error: slow, action: done}
        - {header: {X-A: 5}, action: done}
        - {header: X-A, action: done}
        - {status: 409, action: drop}
        - {status: 409, action: retry, class: poison}
        - {status: 409, action: retry, dlt: quarantine}
        - {status: 409, action: dead_letter, dlt: a/b}
        - {action: done}
        - done
        - {status: 409, aktion: done, doubtful: true}
`, []string{
			`f:7: ` + p + `[0].status: "4.5" is no final HTTP status; write one of 200 to 599, 4xx, or 502-504`,
			`f:8: ` + p + `[1].status[1]: "4x" is no final HTTP status; write one of 200 to 599, 4xx, or 502-504`,
			`f:8: ` + p + `[1].status[2]: is true or false; put it in quotes to make it text`,
			`f:9: ` + p + `[2].error: "slow" is no kind of failure; use timeout, refused, reset, dns, tls or protocol`,
			`f:10: ` + p + `[3].header.X-A: is a number; put it in quotes to make it text`,
			`f:11: ` + p + `[4].header: is text, must be a mapping of keys`,
			`f:12: ` + p + `[5].action: "drop" is no action; use done, retry, limited, throttle, dead_letter, review, hold or stop`,
			`f:13: ` + p + `[6].class: "poison" is no class; use transient, throttled, invalid, conflict, unknown or endpoint`,
			`f:14: ` + p + `[7].dlt: is a topic for action dead_letter alone; remove it, or change the action`,
			`f:15: ` + p + `[8].dlt: "a/b" is not a topic name: Kafka allows letters, digits, ".", "_" and "-", at least one`,
			`f:16: ` + p + `[9]: has no condition; give it a status, an error or a header`,
			`f:17: ` + p + `[10]: is text, must be a mapping of keys`,
			`f:18: ` + p + `[11].aktion: unknown key, did you mean "action"?`,
			`f:18: ` + p + `[11].doubtful: unknown key`,
		}},
		{"that never apply", `        - {status: 4xx, action: done}
        - {status: 409, action: done}
        - {status: 4xx, action: retry}
`, []string{
			`f:8: ` + p + `[1]: never applies: rules[0] matches all that it matches`,
			`f:9: ` + p + `[2]: contradicts rules[0] and never applies: both match the same, one says done, the other retry; keep one of the two`,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := parse("f", []byte(withRules(tt.rules)), nil)
			var got []string
			if err != nil {
				for _, p := range err.(*Error).Problems {
					got = append(got, p.String())
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

// TestDocumentedRulesAreValid loads every rule of docs/policy.md by itself.
func TestDocumentedRulesAreValid(t *testing.T) {
	data, err := os.ReadFile("../../docs/policy.md")
	if err != nil {
		t.Fatal(err)
	}
	rules := regexp.MustCompile(`(?m)(?:- |`+"`"+`)(\{[^`+"`"+`\n]*action: .*\})(?:`+"`"+` \|)?$`).FindAllStringSubmatch(string(data), -1)
	if len(rules) < 12 {
		t.Fatalf("only %d rules found", len(rules))
	}
	for _, rule := range rules {
		if _, err := parse("f", []byte(withRules("        - "+rule[1]+"\n")), nil); err != nil {
			t.Errorf("%s: %v", rule[1], err)
		}
	}
}
