package forward

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func healthAt(url string) func(*Config) { return func(c *Config) { c.Health = url } }

func TestHealthIsOneGETWithTheCredentials(t *testing.T) {
	var seen []string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		seen = append(seen, fmt.Sprint(r.Method, " ", r.RequestURI, " ", r.Header, " ", r.ContentLength))
	}))
	c := newClient(t, server.URL+"/loans", healthAt(server.URL+"/health?a=b"), signing(signingSecret(1, 32)),
		func(c *Config) { c.BearerToken, c.Headers = "tok", map[string]Secret{"X-A": "b"} })
	if err := c.Healthy(t.Context()); err != nil {
		t.Error(err)
	}
	server.Close() // waits for the handlers
	want := []string{"GET /health?a=b map[Authorization:[Bearer tok] Connection:[close] Content-Length:[0] User-Agent:[retryd/1.2.3 (library)] X-A:[b]] 0"}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestHealthJudgesByTheStatus(t *testing.T) {
	for answer, want := range map[string]string{
		ok:                                "",
		"HTTP/1.1 204 No Content\r\n\r\n": "",
		"HTTP/1.1 299 X\r\nContent-Length: 0\r\n\r\n":                 "",
		"HTTP/1.1 200 X\r\nContent-Length: 9\r\n\r\nshort":            "", // its status is whole
		"HTTP/1.1 301 X\r\nLocation: /a\r\nContent-Length: 0\r\n\r\n": "status 301",
		"HTTP/1.1 500 X\r\nContent-Length: 0\r\n\r\n":                 "status 500",
		"HTTP/1.1 503 X\r\nContent-Length: 6\r\n\r\nsecret":           "status 503",
		"":          "connection closed before a response",
		"garbage\n": "response is not valid HTTP/1.1",
	} {
		s := serveWire(t, answerOnce(answer))
		err := newClient(t, "http://h/", healthAt(s.url+"health?secret")).Healthy(t.Context())
		switch {
		case want == "" && err != nil:
			t.Errorf("%q: %v", answer, err)
		case want != "" && (err == nil || err.Error() != "GET "+s.url+"health: "+want):
			t.Errorf("%q: %v, want %s", answer, err, want)
		}
		if connections, requests := s.seen(); connections != 1 || requests != 1 {
			t.Errorf("%q: %d connections, %d requests, want one", answer, connections, requests)
		}
	}
}

func TestHealthReadsAnEndlessBodyToABound(t *testing.T) {
	wrote := make(chan error, 1)
	s := serveWire(t, func(s *wireServer, nc net.Conn, r *bufio.Reader) {
		s.read(r)
		_, err := io.WriteString(nc, "HTTP/1.1 200 OK\r\n\r\n")
		for chunk := strings.Repeat("x", 1<<16); err == nil; {
			_, err = io.WriteString(nc, chunk)
		}
		wrote <- err
	})
	if err := newClient(t, s.url, healthAt(s.url)).Healthy(t.Context()); err != nil {
		t.Error(err)
	}
	<-wrote // its connection is closed
}

func TestHealthIsBoundedInTime(t *testing.T) {
	for limit, want := range map[time.Duration]time.Duration{time.Second: time.Second, time.Hour: maxHealth} {
		synctest.Test(t, func(t *testing.T) {
			c := newClient(t, "http://h/", timeout(limit), healthAt("http://h/health"))
			c.health.dial = func(context.Context) (*conn, *failure) {
				ours, theirs := net.Pipe()
				go func() {
					_, _ = io.Copy(io.Discard, theirs)
					theirs.Close()
				}()
				return newConn(ours), nil
			}
			start := time.Now()
			err := c.Healthy(t.Context())
			if took := time.Since(start); err == nil || took != want || err.Error() != fmt.Sprintf("GET http://h/health: no response within %s", want) {
				t.Errorf("%v after %s, want %s", err, took, want)
			}
			ctx, cancel := context.WithTimeout(t.Context(), want/2)
			defer cancel()
			start = time.Now()
			err = c.Healthy(ctx)
			if took := time.Since(start); err == nil || took != want/2 || !strings.HasSuffix(err.Error(), "stopped before a response") {
				t.Errorf("%v after %s, want %s", err, took, want/2)
			}
		})
	}
}

func TestHealthOfAnotherServerGetsNoCredentials(t *testing.T) {
	var seen []http.Header
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen = append(seen, r.Header.Clone()) }))
	t.Cleanup(server.Close)
	c := newClient(t, "http://127.0.0.1:1/", healthAt(server.URL), func(c *Config) { c.BearerToken = "tok" })
	if err := c.Healthy(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(seen) != 1 || seen[0].Get("Authorization") != "" {
		t.Errorf("headers %v", seen)
	}
	a, hour := newAuthority(t), time.Now().Add(time.Hour)
	m, files := serveMutual(t, a, a.issue(t, hour)), a.files(t, a.issue(t, hour))
	if err := newClient(t, m.url, withTLS(files), healthAt(m.url+"/health")).Healthy(t.Context()); err != nil {
		t.Errorf("same server: %v", err)
	}
	err := newClient(t, "https://127.0.0.1:1/", withTLS(files), healthAt(m.url)).Healthy(t.Context())
	if err == nil || !strings.HasSuffix(err.Error(), "tls: certificate required") { // its authority is trusted all the same
		t.Errorf("another server: %v", err)
	}
}

func TestSameServer(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"http://h/a", "http://H:80/b?c", true},
		{"https://h:443/", "https://h/", true},
		{"http://h:443/", "https://h/", false},
		{"http://h/", "http://h:81/", false},
		{"http://h/", "http://i/", false},
		{"unix:///a:/b", "unix:///a:/c", true},
		{"unix:///a:/b", "unix:///b:/b", false},
		{"unix:///a:/b", "http://localhost/b", false},
	} {
		a, _ := parseTarget(tt.a)
		b, _ := parseTarget(tt.b)
		if a.sameServer(b) != tt.want || b.sameServer(a) != tt.want {
			t.Errorf("%s and %s: want %v", tt.a, tt.b, tt.want)
		}
	}
}

func TestHealthGoesByTheWayOfTheEndpoint(t *testing.T) {
	s, p := serveWire(t, answering(ok)), serveProxy(t)
	if err := newClient(t, "http://127.0.0.1:1/", through(p.url), healthAt(s.url)).Healthy(t.Context()); err != nil {
		t.Error(err)
	}
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &httptest.Server{Listener: listener, Config: &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})}}
	server.Start()
	t.Cleanup(server.Close)
	if err := newClient(t, "http://127.0.0.1:1/", through(p.url), healthAt("unix://"+socket+":/health")).Healthy(t.Context()); err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff([]string{"CONNECT " + address(s.url)}, p.asked); diff != "" {
		t.Errorf("the proxy was asked (-want +got):\n%s", diff)
	}
	if err := newClient(t, s.url).Healthy(t.Context()); err != errNoHealth {
		t.Errorf("without endpoint.health: %v", err)
	}
}
