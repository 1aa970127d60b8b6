package redact

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retryd/retryd/internal/record"
)

func header(name, value string) record.Header {
	return record.Header{Key: []byte(name), Value: []byte(value)}
}

func TestHeadersAreNamedInAnyCaseWithEitherDash(t *testing.T) {
	rules := Config{Headers: []string{"X-User-Email", "x-auth*"}, JSONPaths: []string{"$..password"}}.Rules(nil)
	headers := []record.Header{
		header("x_user_email", "a@example.com"),
		header("X-AUTH_TOKEN", "secret"),
		header("x-authors", "Ann"),
		header("x-foreign-X-Auth", "secret"),
		{Key: []byte("x-auth")},
		header("x-aut", "shown"),
		header("x-user-email-2", "shown"),
		header("x-response", `{"password":"secret","id":1}`),
		header("x-bytes", "\x00\xff"),
	}
	want := []record.Header{
		header("x_user_email", Mask),
		header("X-AUTH_TOKEN", Mask),
		header("x-authors", Mask),
		header("x-foreign-X-Auth", Mask),
		{Key: []byte("x-auth")},
		header("x-aut", "shown"),
		header("x-user-email-2", "shown"),
		header("x-response", `{"password":"[redacted]","id":1}`),
		header("x-bytes", "\x00\xff"),
	}
	before := cloned(headers)
	if diff := cmp.Diff(want, rules.Headers(headers)); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, headers); diff != "" {
		t.Errorf("the record itself was changed (-before +after):\n%s", diff)
	}
}

func cloned(headers []record.Header) []record.Header {
	var list []record.Header
	for _, h := range headers {
		list = append(list, record.Header{Key: bytes.Clone(h.Key), Value: bytes.Clone(h.Value)})
	}
	return list
}

func TestWithoutRulesNothingIsHidden(t *testing.T) {
	var none Rules
	body := []byte(`{"password":"shown"}`)
	if got := none.JSON(body); !bytes.Equal(got, body) {
		t.Errorf("JSON: %s", got)
	}
	if got := none.Headers([]record.Header{header("a", "shown")}); string(got[0].Value) != "shown" {
		t.Errorf("header: %s", got[0].Value)
	}
	if got := none.Text("x-error", "shown"); got != "shown" {
		t.Errorf("text: %s", got)
	}
}

func TestKeyIsHiddenAsTheHeaderThatCarriesIt(t *testing.T) {
	tests := []struct {
		config Config
		key    []byte
		want   []byte
	}{
		{Config{}, []byte("loan-7"), []byte("loan-7")},
		{Config{Headers: []string{"retryd-key"}}, []byte("loan-7"), []byte(Mask)},
		{Config{Headers: []string{"retryd-key"}}, nil, nil},
		{Config{JSONPaths: []string{"$.iban"}}, []byte(`{"iban":"DE1"}`), []byte(`{"iban":"[redacted]"}`)},
		{Config{JSONPaths: []string{"$.iban"}}, nil, nil},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, tt.config.Rules(nil).Key(tt.key)); diff != "" {
			t.Errorf("%+v, key %q (-want +got):\n%s", tt.config, tt.key, diff)
		}
	}
}

func TestProblemShowsNoHiddenValue(t *testing.T) {
	problem := func(header, value string) record.Problem {
		return record.Problem{Header: header, Reason: "is wrong", Value: []byte(value)}
	}
	rules := Config{Headers: []string{"ce_id", "x-late-*"}, JSONPaths: []string{"$.pin"}}.Rules(nil)
	tests := []struct {
		problem record.Problem
		want    string
	}{
		{problem("x-attempt", "7\n"), `is wrong: "7\n"`},
		{problem("x-attempt", ""), `is wrong: ""`},
		{problem("x-attempt", `{"pin":1}`), `is wrong: "{\"pin\":\"[redacted]\"}"`},
		{problem("x-late-ms", "secret"), "is wrong: [redacted]"},
		{problem("<ce_source>/<ce_id>", "secret"), "is wrong: [redacted]"},
		{problem("<a>/<b>", "shown"), `is wrong: "shown"`},
		{record.Problem{Header: "x-late-ms", Reason: "is missing"}, "is missing"},
	}
	for _, tt := range tests {
		if got := rules.Problem(tt.problem); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.problem.Header, got, tt.want)
		}
	}
}
