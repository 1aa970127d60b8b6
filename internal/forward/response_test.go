package forward

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retryd/retryd/internal/policy"
)

var discardLog = log.New(io.Discard, "", 0)

func wantOutcome(t *testing.T, got, want policy.Outcome) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("outcome (-want +got):\n%s", diff)
	}
}

func TestSuccessIsTheConfiguredList(t *testing.T) {
	tests := []struct {
		status  int
		success []int
		want    policy.Class
	}{
		{202, []int{200, 202}, policy.ClassNone},
		{409, []int{200, 409}, policy.ClassNone},
		{204, []int{200}, policy.ClassUnknown},
		{503, []int{200}, policy.ClassTransient},
	}
	for _, tt := range tests {
		s := serveWire(t, answering(fmt.Sprintf("HTTP/1.1 %d X\r\nContent-Length: 0\r\n\r\n", tt.status)))
		got := post(t, newClient(t, s.url, func(c *Config) { c.Success = tt.success }), nil)
		if got.Class != tt.want || got.Status != tt.status || got.Delivered() != (got.Error == "") {
			t.Errorf("status %d with success %v: %+v, want class %q", tt.status, tt.success, got, tt.want)
		}
	}
}

func TestResponseIsJudgedByItsStatusAlone(t *testing.T) {
	tests := []struct{ name, response string }{
		{"early hints first", "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n" + ok},
		{"continue first", "HTTP/1.1 100 Continue\r\n\r\n" + ok},
		{"body that breaks off", "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nab"},
		{"chunk that breaks off", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab"},
		{"garbage for a chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz"},
		{"body without length", "HTTP/1.1 200 OK\r\n\r\nab"},
		{"http/1.0", "HTTP/1.0 200 OK\r\n\r\nab"},
		{"something behind it", ok + "HTTP/1.1 503 Next\r\n\r\n"},
		{"compressed garbage", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\nab"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := serveWire(t, answerOnce(tt.response))
			if got := post(t, newClient(t, s.url), []byte("value")); !got.Delivered() || got.Status != 200 || got.Response != nil {
				t.Errorf("outcome %+v, want delivered", got)
			}
		})
	}
}

func TestEndlessBodyIsReadToABound(t *testing.T) {
	for _, status := range []int{200, 503} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			for block := bytes.Repeat([]byte("x"), 4096); ; {
				if _, err := w.Write(block); err != nil {
					return
				}
			}
		}))
		t.Cleanup(server.Close)
		got := post(t, newClient(t, server.URL, timeout(time.Hour)), nil)
		if got.Status != status {
			t.Errorf("outcome %+v, want status %d", got, status)
		}
		if status == 503 && !bytes.Equal(got.Response, bytes.Repeat([]byte("x"), 1024)) {
			t.Errorf("captured %d bytes, want the first 1024", len(got.Response))
		}
	}
}

func TestResponseOfAFailureIsCaptured(t *testing.T) {
	s := serveWire(t, answering("HTTP/1.1 422 X\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nbad\r\n5\r\n loan\r\n0\r\n\r\n"))
	if got := post(t, newClient(t, s.url), nil); string(got.Response) != "bad loan" {
		t.Errorf("captured %q", got.Response)
	}
	off := func(c *Config) { c.CaptureResponse = false }
	if got := post(t, newClient(t, s.url, off), nil); got.Response != nil || got.Status != 422 {
		t.Errorf("captured %q although it is switched off", got.Response)
	}
}

func TestResponseEndsWithoutWhiteSpace(t *testing.T) {
	for body, want := range map[string]string{
		"in maintenance\n":                    "in maintenance",
		" a \n b\t\r\n \n":                    " a \n b",
		"\r\n":                                "",
		strings.Repeat(" ", 1030):             "",
		"x" + strings.Repeat(" ", 1030) + "y": "x",
	} {
		s := serveWire(t, answering(fmt.Sprintf("HTTP/1.1 503 X\r\nContent-Length: %d\r\n\r\n%s", len(body), body)))
		got := post(t, newClient(t, s.url), nil)
		if string(got.Response) != want || (got.Response == nil) != (want == "") {
			t.Errorf("captured %q of %q, want %q", got.Response, body, want)
		}
	}
}

func TestResponseShowsNoCredential(t *testing.T) {
	const token, password, key = "tok-0123456789", "pass-0123456789", "key-0123456789"
	bearer := func(c *Config) {
		c.BearerToken, c.Headers = token, map[string]Secret{"X-Key": key, "X-Tenant": "7"}
	}
	basic := func(c *Config) { c.Basic = Basic{Username: "user", Password: password} }
	tests := []struct {
		name   string
		change func(*Config)
		body   string
		want   string
	}{
		{"bearer", bearer, "you sent Bearer " + token + " and " + key + ", tenant 7", "you sent *** and ***, tenant 7"},
		{"basic", basic, "you sent dXNlcjpwYXNzLTAxMjM0NTY3ODk= or " + password, "you sent *** or ***"},
		{"cut off", bearer, strings.Repeat("x", 1020) + token, strings.Repeat("x", 1020) + "***"},
		{"cut in the mask", bearer, strings.Repeat("x", 1022) + token, strings.Repeat("x", 1022) + "**"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := serveWire(t, answering(fmt.Sprintf("HTTP/1.1 400 X\r\nVersion: %s\r\nContent-Length: %d\r\n\r\n%s", token, len(tt.body), tt.body)))
			got := post(t, newClient(t, s.url, tt.change), nil)
			if string(got.Response) != tt.want {
				t.Errorf("captured %q, want %q", got.Response, tt.want)
			}
		})
	}
}

func TestAppVersionIsBoundedVisibleASCII(t *testing.T) {
	tests := []struct{ name, header, want string }{
		{"plain", "v1.2.3", "v1.2.3"},
		{"absent", "", ""},
		{"long", strings.Repeat("v", 100), strings.Repeat("v", 64)},
		{"blank inside", "v1 beta", ""},
		{"not ascii", "v1\xff", ""},
		{"a credential", "tok-0123456789", "***"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := serveWire(t, answering("HTTP/1.1 200 OK\r\nx-app-VERSION: "+tt.header+"\r\nContent-Length: 0\r\n\r\n"))
			got := post(t, newClient(t, s.url, func(c *Config) {
				c.AppVersionHeader, c.BearerToken = "X-App-Version", "tok-0123456789"
			}), nil)
			if got.AppVersion != tt.want || !got.Delivered() {
				t.Errorf("app version %q, want %q", got.AppVersion, tt.want)
			}
		})
	}
}

func TestKeepAliveTimeout(t *testing.T) {
	tests := []struct {
		value string
		want  time.Duration
		ok    bool
	}{
		{"timeout=5, max=100", 5 * time.Second, true},
		{"max=100,Timeout = 0", 0, true},
		{"timeout=x", 0, false},
		{"timeout=-1", 0, false},
		{"timeout", 0, false},
		{"max=1", 0, false},
		{"", 0, false},
	}
	for _, tt := range tests {
		if got, ok := keepAliveTimeout([]byte(tt.value)); ok != tt.ok || ok && got != tt.want {
			t.Errorf("%q: %s, %v; want %s, %v", tt.value, got, ok, tt.want, tt.ok)
		}
	}
}

func FuzzKeepAliveTimeout(f *testing.F) {
	f.Add([]byte("timeout=5, max=100"))
	f.Add([]byte(",=,timeout=99999999999999999999"))
	f.Fuzz(func(t *testing.T, value []byte) {
		if d, _ := keepAliveTimeout(value); d < 0 {
			t.Errorf("%q: %s", value, d)
		}
	})
}

func TestStatusErrorNamesTheStatus(t *testing.T) {
	for status := range 1000 {
		if got, want := statusError(status), fmt.Sprintf("status %d", status); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
