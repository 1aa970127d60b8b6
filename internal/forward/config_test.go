package forward

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retryd/retryd/internal/redact"
)

func TestDefaultConfigNeedsOnlyAURL(t *testing.T) {
	c := DefaultConfig()
	c.URL = "http://127.0.0.1:8080/loans/overdue"
	if errs := c.Validate(); errs != nil {
		t.Errorf("defaults: %v", errs)
	}
}

func TestValidateNamesKeyAndFix(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Config)
		want   []string
	}{
		{"no url", func(c *Config) { c.URL = "" }, []string{"url: is required; want http://host:port/path, https://... or unix:///path.sock:/http/path"}},
		{"timeout", func(c *Config) { c.Timeout = 0 }, []string{"timeout: is 0s, must be positive"}},
		{"idle timeout", func(c *Config) { c.IdleTimeout = -time.Second }, []string{"idle_timeout: is -1s, must be positive"}},
		{"nothing in flight", func(c *Config) { c.MaxInFlight = 0 }, []string{"max_in_flight: is 0, must be 1 to 10000"}},
		{"too much in flight", func(c *Config) { c.MaxInFlight = 10_001 }, []string{"max_in_flight: is 10001, must be 1 to 10000"}},
		{"limited", func(c *Config) { c.LimitedAttempts = 0 }, []string{"limited_attempts: is 0, must be at least 1"}},
		{"success", func(c *Config) { c.Success = []int{200, 599, 199, 600} }, []string{
			"success[2]: 199 is no final HTTP status, must be 200 to 599",
			"success[3]: 600 is no final HTTP status, must be 200 to 599",
		}},
		{"health without a breaker", func(c *Config) { c.Health, c.Breaker.Enabled = "http://127.0.0.1/", false }, []string{
			"health: is asked for by the circuit breaker alone, and breaker.enabled is false; remove one of the two"}},
		{"rate", func(c *Config) { c.Rate = Rate{PerSecond: -1, Burst: -1} }, []string{
			"rate.per_second: is -1, must be 0 (no limit) to 1000000", "rate.burst: is -1, must not be negative"}},
		{"burst without a rate", func(c *Config) { c.Rate.Burst = 5 }, []string{
			"rate.burst: is 5, but rate.per_second sets no limit; set it or remove the burst"}},
		{"retry share", func(c *Config) { c.RetryShare = 1 }, []string{"retry_share: is 1, must be above 0 and below 1"}},
		{"breaker", func(c *Config) { c.Breaker = Breaker{FailureShare: 1.5, Ramp: -1} }, []string{
			"breaker.window: is 0s, must be positive", "breaker.min_calls: is 0, must be at least 1",
			"breaker.failure_share: is 1.5, must be above 0 and at most 1", "breaker.probe_interval: is 0s, must be positive",
			"breaker.ramp: is -1ns, must not be negative; 0s is no ramp"}},
		{"probe interval", func(c *Config) { c.Breaker.MaxProbeInterval = time.Millisecond }, []string{
			"breaker.max_probe_interval: 1ms is shorter than breaker.probe_interval (1s)"}},
		{"content type", func(c *Config) { c.ContentType = "a\nb" }, []string{
			"content_type: must be a media type in visible ASCII, for example application/json"}},
		{"app version", func(c *Config) { c.AppVersionHeader = "x y" }, []string{`app_version_header: "x y" is no header name`}},
		{"forward", func(c *Config) { c.ForwardHeaders = []string{"a*b", "", "Cookie", "*", "c*", "Retryd-Attempt"} }, []string{
			`forward_headers: "a*b" is no header name; only the last character may be *`,
			`forward_headers: "" is no header name; only the last character may be *`,
			`forward_headers: "Cookie" is never forwarded; remove it`,
			`forward_headers: "Retryd-Attempt" is never forwarded; remove it`,
		}},
		{"headers", func(c *Config) {
			c.Headers = map[string]Secret{"a b": "secret", "Host": "secret", "X-A": "secret", "x_a": "secret", "x-b": "secret\n", "x-c": ""}
		}, []string{
			"headers.Host: cannot be set here; remove it",
			"headers.a b: is no header name",
			"headers.x-b: value must be visible ASCII without blanks at its ends",
			"headers.x-c: value must be visible ASCII without blanks at its ends",
			"headers.x_a: is set twice; names differ only in case, or in _ and -",
		}},
		{"two ways to authenticate", func(c *Config) {
			c.BearerToken, c.BearerTokenFile = "secret", "/f"
			c.Basic = Basic{Username: "u", Password: "secret"}
			c.Headers = map[string]Secret{"authorization": "secret"}
		}, []string{"bearer_token_file: only one of bearer_token, bearer_token_file, basic, headers.Authorization may be set"}},
		{"token", func(c *Config) { c.BearerToken = "secret\n" }, []string{"bearer_token: must be one line of visible ASCII"}},
		{"no password", func(c *Config) { c.Basic.Username = "u" }, []string{
			"basic.password: is required beside basic.username; set it or basic.password_file"}},
		{"no user", func(c *Config) { c.Basic.Password = "secret" }, []string{"basic.username: must be visible ASCII without a colon"}},
		{"two passwords", func(c *Config) { c.Basic = Basic{Username: "u", Password: "secret", PasswordFile: "/f"} }, []string{
			"basic.password: only one of basic.password and basic.password_file may be set"}},
		{"signing", func(c *Config) {
			c.Signing = Signing{Secrets: []Secret{"secret", signingSecret(1, 23), signingSecret(1, 65)}, SecretsFile: "/f"}
		}, []string{
			"signing.secrets_file: only one of signing.secrets and signing.secrets_file may be set",
			"signing.secrets: has 3, must have at most 2: the new one and the one that it replaces",
			"signing.secrets[0]: must be whsec_ and the base64 of 24 to 64 random bytes",
			"signing.secrets[1]: must be whsec_ and the base64 of 24 to 64 random bytes",
			"signing.secrets[2]: must be whsec_ and the base64 of 24 to 64 random bytes",
		}},
		{"names of a signature", func(c *Config) {
			c.Headers = map[string]Secret{"Webhook-Id": "secret"}
			c.ForwardHeaders = []string{"webhook_signature", "webhook-*"}
		}, []string{
			`forward_headers: "webhook_signature" is never forwarded; remove it`,
			"headers.Webhook-Id: cannot be set here; remove it",
		}},
		{"tls of plain http", func(c *Config) { c.TLS = TLS{"/ca", "/cert", "/key", "h"} }, []string{
			"tls.ca_file: needs an https url; correct url, or remove this key",
			"tls.cert_file: needs an https url; correct url, or remove this key",
			"tls.key_file: needs an https url; correct url, or remove this key",
			"tls.server_name: needs an https url; correct url, or remove this key",
		}},
		{"tls of a wrong url", func(c *Config) { c.URL, c.TLS = "https://", TLS{CAFile: "/ca"} }, []string{
			"url: has no host; want http://host:port/path, https://... or unix:///path.sock:/http/path"}},
		{"certificate alone", func(c *Config) { c.URL, c.TLS = "https://h/", TLS{CertFile: "/cert", ServerName: "a b"} }, []string{
			"tls.cert_file: needs tls.key_file beside it", "tls.server_name: must be a host name in plain ASCII"}},
		{"key alone", func(c *Config) { c.URL, c.TLS = "https://h/", TLS{KeyFile: "/key"} }, []string{
			"tls.key_file: needs tls.cert_file beside it"}},
		{"proxy", func(c *Config) { c.Proxy = "https://user:secret@proxy" }, []string{
			"proxy: must be http://host:port or http://user:password@host:port, percent-encoded; the proxy itself is spoken to without TLS"}},
		{"proxy of a socket", func(c *Config) { c.URL, c.Proxy = "unix:///a:/b", "http://user:secret@proxy" }, []string{
			"proxy: cannot reach the unix socket of url; remove one of the two"}},
		{"health", func(c *Config) { c.Health = "/health?secret" }, []string{
			"health: scheme must be http, https or unix; want http://host:port/path, https://... or unix:///path.sock:/http/path"}},
		{"several at once", func(c *Config) { c.URL, c.Timeout, c.ContentType = "x", 0, "" }, []string{
			"url: scheme must be http, https or unix; want http://host:port/path, https://... or unix:///path.sock:/http/path", "timeout: is 0s, must be positive",
			"content_type: must be a media type in visible ASCII, for example application/json"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := DefaultConfig()
			c.URL = "http://127.0.0.1/"
			tt.change(&c)
			var got []string
			for _, err := range c.Validate() {
				got = append(got, err.Error())
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
			if all := strings.ReplaceAll(strings.Join(got, "\n"), "signing.secrets", ""); strings.Contains(all, "secret") {
				t.Errorf("a secret is in %q", all)
			}
			if _, err := New(c, "r", "v", redact.Rules{}); err == nil || err.Error() != errors.Join(c.Validate()...).Error() {
				t.Errorf("New: %v, want what Validate says", err)
			}
		})
	}
}

func TestNewNamesTheSecretFileThatItCannotUse(t *testing.T) {
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	missing, empty, two := filepath.Join(dir, "missing"), write("empty", "\n"), write("two", "secret\nline\n")
	tests := []struct {
		change func(*Config)
		want   string
	}{
		{func(c *Config) { c.BearerTokenFile = missing }, "bearer_token_file: open " + missing + ": no such file or directory"},
		{func(c *Config) { c.Basic = Basic{Username: "u", PasswordFile: empty} }, "basic.password_file: " + empty + " must hold one line of visible ASCII"},
		{func(c *Config) { c.BearerTokenFile = two }, "bearer_token_file: " + two + " must hold one line of visible ASCII"},
	}
	for _, tt := range tests {
		c := DefaultConfig()
		c.URL = "http://127.0.0.1/"
		tt.change(&c)
		if _, err := New(c, "r", "v", redact.Rules{}); err == nil || err.Error() != tt.want {
			t.Errorf("New: %v, want %s", err, tt.want)
		}
	}
}

func TestParseTarget(t *testing.T) {
	long := "/" + strings.Repeat("s", 107)
	tests := []struct {
		url  string
		want target
		err  string // its start
	}{
		{url: "http://h", want: target{network: "tcp", address: "h:80", host: "h", uri: "/"}},
		{url: "https://h:8443/a?b=c", want: target{network: "tcp", address: "h:8443", tlsName: "h", host: "h:8443", uri: "/a?b=c"}},
		{url: "https://[::1]/", want: target{network: "tcp", address: "[::1]:443", tlsName: "::1", host: "[::1]", uri: "/"}},
		{url: "http://h/a b/ü", want: target{network: "tcp", address: "h:80", host: "h", uri: "/a%20b/%C3%BC"}},
		{url: "unix:///run/a.sock:/b?c", want: target{network: "unix", address: "/run/a.sock", host: "localhost", uri: "/b?c"}},
		{url: "unix:///run/a.sock", want: target{network: "unix", address: "/run/a.sock", host: "localhost", uri: "/"}},
		{url: "ftp://h/", err: "scheme must be"},
		{url: "unix:/run/a.sock", err: "not a valid URL"},
		{url: "127.0.0.1:8080/a", err: "not a valid URL"},
		{url: "http:///a", err: "has no host"},
		{url: "http:h", err: "has no host"},
		{url: "http://u:secret@h/", err: "must not have a user or password in it (use basic"},
		{url: "http://u:sec/ret@h/", err: "not a valid URL"},
		{url: "http://h/a#", err: "must not have a fragment"},
		{url: "http://h:0/", err: "port must be 1 to 65535"},
		{url: "http://h:65536/", err: "port must be 1 to 65535"},
		{url: "http://h:x/", err: "not a valid URL"},
		{url: "http://h:/", err: "has a colon after the host"},
		{url: "http://ü/", err: "host must be plain ASCII"},
		{url: "http://[fe80::1%25eth0]/", err: "host must be plain ASCII"},
		{url: "http://h/?a b", err: "path and query must be percent-encoded"},
		{url: "http://h/\r\nX: y", err: "not a valid URL"},
		{url: "unix://run/a.sock:/b", err: "not a valid URL"},
		{url: "unix:///:/b", err: "not a valid URL"},
		{url: "unix:///a.sock:b", err: "not a valid URL"},
		{url: "unix:///a.sock:/b#c", err: "must not have a fragment"},
		{url: "unix://" + long + ":/", err: "path of the socket must have at most 107 bytes"},
	}
	for _, tt := range tests {
		got, err := parseTarget(tt.url)
		switch {
		case tt.err == "" && (err != nil || got != tt.want):
			t.Errorf("%q: %+v, %v; want %+v", tt.url, got, err, tt.want)
		case tt.err != "" && (err == nil || !strings.HasPrefix(err.Error(), tt.err)):
			t.Errorf("%q: %v, want %s", tt.url, err, tt.err)
		case tt.err != "" && !strings.HasSuffix(err.Error(), "; want http://host:port/path, https://... or unix:///path.sock:/http/path"):
			t.Errorf("%q: %v, which shows no example", tt.url, err)
		}
	}
}

func FuzzParseTarget(f *testing.F) {
	for _, seed := range []string{"http://h:1/a?b", "https://[::1]/", "unix:///a:/b", "http://u:p@h", "http://h/ \r\n", "unix://x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		got, err := parseTarget(raw)
		if err != nil {
			return
		}
		if got.address == "" || !isHost(got.host) || got.uri == "" || got.uri[0] != '/' || !isRequestTarget(got.uri) {
			t.Errorf("%q: %+v", raw, got)
		}
	})
}

func TestSecretNeverShowsItself(t *testing.T) {
	secret := Config{BearerToken: "hush", Proxy: "hush", Signing: Signing{Secrets: []Secret{"hush"}}, Basic: Basic{Password: "hush"}, Headers: map[string]Secret{"a": "hush"}}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%10s"} {
		for _, value := range []any{secret, &secret, secret.BearerToken, &secret.BearerToken, []Secret{"hush"}} {
			got := fmt.Sprintf(verb, value)
			if strings.Contains(got, "hush") || strings.Contains(strings.ToLower(got), "68757368") {
				t.Errorf("%s shows %s", verb, got)
			}
		}
		if got := fmt.Sprintf(verb, secret.BearerToken); got != mask {
			t.Errorf("%s: %q, want %q", verb, got, mask)
		}
	}
	if got, err := json.Marshal(secret); err != nil || strings.Contains(string(got), "hush") || !strings.Contains(string(got), `"***"`) {
		t.Errorf("json: %s, %v", got, err)
	}
	text, _ := secret.BearerToken.MarshalText()
	tree, _ := secret.BearerToken.MarshalYAML()
	if string(text) != mask || tree != mask || secret.BearerToken.Reveal() != "hush" {
		t.Errorf("text %q, yaml %v, revealed %q", text, tree, secret.BearerToken.Reveal())
	}
}

func TestEmptySecretShowsThatItIsEmpty(t *testing.T) {
	if got := fmt.Sprintf("%v|%#v|%s", Secret(""), Secret(""), Secret("")); got != "||" {
		t.Errorf("empty: %q", got)
	}
	if got, err := json.Marshal(Secret("")); err != nil || string(got) != `""` {
		t.Errorf("json of an empty one: %s, %v", got, err)
	}
}
