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

// TestNoPartOfACredentialComesIntoView: what is hidden in front makes room at the end,
// where the body was cut within a credential.
func TestNoPartOfACredentialComesIntoView(t *testing.T) {
	const token = "tok-0123456789abcdef"
	bearer := func(c *Config) { c.BearerToken = token }
	card := `{"number":"` + strings.Repeat("4", 500) + `","a":"`
	for name, start := range map[string]string{
		"credentials": strings.Repeat(token+" ", 20), "what a path names": card,
	} {
		for shift := range len(token) {
			head := maxResponse + len("Bearer "+token) // as much as is read
			body := start + strings.Repeat("-", head-len(start)-shift) + token + strings.Repeat("-", 100)
			got, _ := keptOf(t, body, redact.Config{JSONPaths: []string{"$.number"}}, bearer)
			if strings.Contains(got, "to") {
				t.Fatalf("behind %s, cut %d bytes into the token: %s", name, shift, got)
			}
		}
	}
}
