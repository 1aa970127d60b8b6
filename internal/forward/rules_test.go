package forward

import (
	"bufio"
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retryd/retryd/internal/policy"
)

func TestRulesJudgeAnswers(t *testing.T) {
	own := rules(
		policy.Rule{Status: []policy.Statuses{"200"}, Header: map[string]string{"x-pending": "*"}, Action: policy.TreatRetry},
		policy.Rule{Status: []policy.Statuses{"409"}, Action: policy.TreatDone},
		policy.Rule{Header: map[string]string{"x-quota": "exhausted", "x-tenant": "7"}, Action: policy.TreatThrottle},
		policy.Rule{Status: []policy.Statuses{"4xx"}, Action: policy.TreatDeadLetter, Class: policy.ClassUnknown, DLT: "quarantine"},
	)
	by := func(v policy.Verdict, key string) policy.Verdict { v.Rule = key; return v }
	body := []byte("body")
	tests := []struct {
		name   string
		status int
		header string
		want   policy.Outcome
	}{
		{"none is about it", 200, "", policy.Outcome{Verdict: policy.VerdictOf(policy.ClassNone)}},
		{"a 2xx that is none", 200, "X-Pending: \r\nRetry-After: 9\r\n", policy.Outcome{
			Verdict: by(policy.VerdictOf(policy.ClassTransient), "endpoint.rules[0]"), Kind: policy.KindStatus,
			Error: "status 200, endpoint.rules[0]: retry", Response: body, Wait: 9 * time.Second}},
		{"a failure that is none", 409, "", policy.Outcome{Verdict: policy.Verdict{Treatment: policy.TreatDone, Rule: "endpoint.rules[1]"}}},
		{"all headers", 500, "X-TENANT: 7\r\nx-quota:  exhausted \r\n", policy.Outcome{
			Verdict: by(policy.VerdictOf(policy.ClassThrottled), "endpoint.rules[2]"), Kind: policy.KindStatus,
			Error: "status 500, endpoint.rules[2]: throttle", Response: body}},
		{"one of several values", 500, "X-Tenant: 7\r\nX-Quota: full\r\nX-Quota: exhausted\r\n", policy.Outcome{
			Verdict: by(policy.VerdictOf(policy.ClassThrottled), "endpoint.rules[2]"), Kind: policy.KindStatus,
			Error: "status 500, endpoint.rules[2]: throttle", Response: body}},
		{"not all headers", 500, "X-Quota: exhausted\r\nX-Tenant: 77\r\n", policy.Outcome{
			Verdict: policy.VerdictOf(policy.ClassUnknown), Kind: policy.KindStatus, Error: "status 500", Response: body}},
		{"class and topic of its own", 422, "", policy.Outcome{
			Verdict: policy.Verdict{Treatment: policy.TreatDeadLetter, Class: policy.ClassUnknown, DLT: "quarantine", Rule: "endpoint.rules[3]"},
			Kind:    policy.KindStatus, Error: "status 422, endpoint.rules[3]: dead_letter", Response: body}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.want.Status = tt.status
			wantOutcome(t, answered(t, tt.status, tt.header, own), tt.want)
		})
	}
}

// TestRuleOfAContentTypeIsAboutWhatWasSaid makes more attempts than one, since what reads
// the answers is used again.
func TestRuleOfAContentTypeIsAboutWhatWasSaid(t *testing.T) {
	own := rules(policy.Rule{Header: map[string]string{"content-type": "*"}, Action: policy.TreatRetry})
	for range 3 {
		if got := answered(t, 200, "", own); got.Rule != "" || !got.Delivered() {
			t.Errorf("without one: %+v", got)
		}
		if got := answered(t, 200, "Content-Type: text/html\r\n", own); got.Rule == "" {
			t.Errorf("with one: %+v", got)
		}
	}
}

func TestRulesJudgeFailures(t *testing.T) {
	s := serveWire(t, answerOnce(""))
	for _, action := range policy.Treatments() {
		got := post(t, newClient(t, s.url, rules(policy.Rule{Error: []policy.Kind{policy.KindReset}, Action: action})), nil)
		want := policy.Outcome{
			Verdict: policy.Verdict{Treatment: action, Class: action.Class(), Rule: "endpoint.rules[0]"}, Kind: policy.KindReset,
			Unreached: true, Error: "connection closed before a response", Duration: got.Duration,
		}
		wantOutcome(t, got, want)
	}
}

// TestNothingIsDoneOfWhichNothingWasSent: a handshake that breaks off or hangs is a
// reset or a timeout like that of an endpoint which has the record.
func TestNothingIsDoneOfWhichNothingWasSent(t *testing.T) {
	done := rules(policy.Rule{Error: []policy.Kind{policy.KindReset, policy.KindTimeout}, Action: policy.TreatDone})
	s := serveWire(t, answerOnce(""))
	got := post(t, newClient(t, strings.Replace(s.url, "http:", "https:", 1), done), nil)
	if got.Kind != policy.KindReset || got.Verdict != policy.VerdictOf(policy.ClassTransient) {
		t.Errorf("broken off: %+v", got)
	}
	c := newClient(t, s.url, done)
	c.dial = func(context.Context) (*conn, *failure) { return nil, failed(policy.KindTimeout, "connect") }
	if got := post(t, c, nil); got.Kind != policy.KindTimeout || got.Verdict != policy.VerdictOf(policy.ClassTransient) {
		t.Errorf("no connection in time: %+v", got)
	}
}

// TestNoRuleIsAboutWhatRetrydCutsOff: the endpoint may not have the record.
func TestNoRuleIsAboutWhatRetrydCutsOff(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := serveWire(t, func(s *wireServer, _ net.Conn, r *bufio.Reader) {
		s.read(r)
		cancel()
		s.read(r)
	})
	c := newClient(t, s.url, rules(policy.Rule{Error: []policy.Kind{policy.KindTimeout, policy.KindReset}, Action: policy.TreatDone}))
	got := c.Attempt(ctx, smallRequest(nil))
	wantOutcome(t, got, policy.Outcome{Verdict: policy.VerdictOf(policy.ClassTransient), Kind: policy.KindTimeout,
		Error: "stopped before a response", Duration: got.Duration})
}

func TestRulesAreValidated(t *testing.T) {
	c := DefaultConfig()
	c.URL = "http://127.0.0.1/"
	c.Rules = []policy.Rule{
		{Status: []policy.Statuses{"4"}, Action: policy.TreatDone},
		{Header: map[string]string{"a b": "c", "x-a": " b", "x-b": "", "x-c": "*", "x-d": "d\n", "set-cookie": "*"}, Action: policy.TreatRetry},
	}
	c.Success, c.MaxRetryAfter = []int{200, 404}, 0
	c.Rules = append(c.Rules, policy.Rule{Status: []policy.Statuses{"404"}, Action: policy.TreatRetry})
	var got []string
	for _, err := range c.Validate() {
		got = append(got, err.Error())
	}
	want := []string{
		`success[1]: 404 never counts: rules[2] matches it first`,
		`rules[0].status[0]: "4" is no final HTTP status; write one of 200 to 599, 4xx, or 502-504`,
		`rules[1].header: "a b" is no header name`,
		`rules[1].header.set-cookie: cannot be matched, since the cookies of an answer are read as one value; use another header`,
		`rules[1].header.x-a: must be visible ASCII without blanks at its ends, or "*" for any value`,
		`rules[1].header.x-b: must be visible ASCII without blanks at its ends, or "*" for any value`,
		`rules[1].header.x-d: must be visible ASCII without blanks at its ends, or "*" for any value`,
		`max_retry_after: is 0s, must be positive and at most 4368h0m0s (182 days)`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
	for _, wrong := range []time.Duration{-time.Second, 4368*time.Hour + 1} {
		c := DefaultConfig()
		c.URL, c.MaxRetryAfter = "http://127.0.0.1/", wrong
		if len(c.Validate()) != 1 {
			t.Errorf("max_retry_after %v is taken", wrong)
		}
	}
}
