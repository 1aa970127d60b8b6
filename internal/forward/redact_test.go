package forward

import (
	"fmt"
	"strings"
	"testing"

	"github.com/retryd/retryd/internal/redact"
)

// keptOf returns what is kept of an answer.
func keptOf(t *testing.T, body string, hide redact.Config, change ...func(*Config)) (response, version string) {
	t.Helper()
	s := serveWire(t, answering(fmt.Sprintf("HTTP/1.1 422 X\r\nX-Version: v7\r\nContent-Length: %d\r\n\r\n%s", len(body), body)))
	client := newClient(t, s.url, append(change, func(c *Config) { c.AppVersionHeader = "X-Version" })...)
	client.hide = hide.Rules(nil)
	got := post(t, client, nil)
	return string(got.Response), got.AppVersion
}

func TestResponseIsKeptRedacted(t *testing.T) {
	long := strings.Repeat("x", 980)
	tests := []struct{ name, body, want string }{
		{"JSON", `{"error":"no","card":{"number":"4111"}}`, `{"error":"no","card":{"number":"[redacted]"}}`},
		{"cut off within", `{"a":"` + long + `","card":{"number":"` + strings.Repeat("4", 2000), `{"a":"` + long + `","card":{"number":"[redacted]"`},
		{"cut off behind", `{"card":{"number":"4111"},"a":"` + strings.Repeat("x", 2000), `{"card":{"number":"[redacted]"},"a":"` + strings.Repeat("x", 987)},
		{"no JSON", "<p>4111</p>", "<p>4111</p>"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, _ := keptOf(t, tt.body, redact.Config{JSONPaths: []string{"$..number"}})
			if got != tt.want {
				t.Errorf("kept %q, want %q", got, tt.want)
			}
		})
	}
}

func TestAppVersionIsHiddenWithItsHeader(t *testing.T) {
	for name, want := range map[string]string{"x_version": redact.Mask, "x-other": "v7"} {
		if _, got := keptOf(t, "", redact.Config{Headers: []string{name}}); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// Many an endpoint that echoes the request writes it as JSON.
func TestCredentialIsHiddenHoweverJSONEscapesIt(t *testing.T) {
	token := func(c *Config) {
		c.BearerToken = "s3cr3t+abc/def&ghi<jkl=="
		c.Headers = map[string]Secret{"X-Quoted": `it's/&"\`}
	}
	for _, echo := range []string{
		`s3cr3t+abc/def&ghi<jkl==`,
		`s3cr3t+abc\/def&ghi<jkl==`,
		`s3cr3t+abc/def\u0026ghi\u003cjkl==`,
		`s3cr3t+abc/def\u0026ghi\u003cjkl\u003d\u003d`,
		`s3cr3t\u002Babc/def\u0026ghi\u003Cjkl==`,
		`s3cr3t+abc\/def\u0026ghi\u003Cjkl==`,
		`s3cr3t\u002babc\/def\u0026ghi\u003cjkl\u003d\u003d`,
		`s3cr3t\u002babc\u002fdef\u0026ghi\u003cjkl\u003d\u003d`,
		`s3cr3t\u002Babc\u002Fdef\u0026ghi\u003Cjkl\u003D\u003D`,
		`it's/&\"\\`, `it\u0027s/\u0026\u0022\\`, `it's\/&\"\\`,
	} {
		if got, _ := keptOf(t, `{"seen":"`+echo+`"}`, redact.Config{}, token); got != `{"seen":"`+mask+`"}` {
			t.Errorf("%s: kept %s", echo, got)
		}
	}
}

// TestNoPartOfACredentialComesIntoView: what is hidden in front makes room at the end,
// where the body was cut within a credential.
func TestNoPartOfACredentialComesIntoView(t *testing.T) {
	const token, escaped = "tok/0123456789abcde+", `tok\u002f0123456789abcde\u002b` // which is how it is longest
	bearer := func(c *Config) { c.BearerToken = token }
	card := `{"number":"` + strings.Repeat("4", 500) + `","a":"`
	for name, start := range map[string]string{
		"credentials": strings.Repeat(token+" ", 30), "what a path names": card,
	} {
		for shift := range 4 * len(escaped) {
			sent := []string{token, escaped}[shift%2]
			head := maxResponse + len("Bearer "+escaped) // as much as is read
			body := start + strings.Repeat("-", head-len(start)-shift/2) + sent + strings.Repeat("-", 100)
			got, _ := keptOf(t, body, redact.Config{JSONPaths: []string{"$.number"}}, bearer)
			if strings.Contains(got, "to") {
				t.Fatalf("behind %s, cut %d bytes into %s: %s", name, shift/2, sent, got)
			}
		}
	}
}
