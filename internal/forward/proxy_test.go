package forward

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retryd/retryd/internal/policy"
)

// tunneller is a proxy that does what it is asked, and notes it.
type tunneller struct {
	*wireServer
	mu    sync.Mutex
	asked []string // method, target and credentials
}

func serveProxy(t *testing.T) *tunneller {
	t.Helper()
	p := &tunneller{}
	p.wireServer = serveWire(t, func(_ *wireServer, nc net.Conn, r *bufio.Reader) {
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		p.mu.Lock()
		p.asked = append(p.asked, strings.TrimSpace(req.Method+" "+req.RequestURI+" "+req.Header.Get("Proxy-Authorization")))
		p.mu.Unlock()
		endpoint, err := net.Dial("tcp", req.RequestURI)
		if err != nil {
			_, _ = io.WriteString(nc, "HTTP/1.1 502 Bad Gateway\r\n\r\n")
			return
		}
		defer endpoint.Close()
		_, _ = io.WriteString(nc, "HTTP/1.1 200 Connection established\r\nX-Proxy: a\r\n\r\n")
		go func() {
			_, _ = io.Copy(nc, endpoint)
			nc.Close()
		}()
		_, _ = io.Copy(endpoint, r)
	})
	return p
}

func through(proxy string) func(*Config) { return func(c *Config) { c.Proxy = Secret(proxy) } }

func TestProxyIsAskedForHTTPAndHTTPSAlike(t *testing.T) {
	a, hour := newAuthority(t), time.Now().Add(time.Hour)
	client := a.issue(t, hour)
	secure, plain := serveMutual(t, a, a.issue(t, hour)), serveWire(t, answering(ok))
	for url, change := range map[string]func(*Config){secure.url: withTLS(a.files(t, client)), plain.url: func(*Config) {}} {
		p := serveProxy(t)
		c := newClient(t, url, change, through("http://user:p%40ss@"+address(p.url)+"/"), func(c *Config) { c.IdleTimeout = time.Hour })
		for range 3 {
			if got := post(t, c, []byte("value")); !got.Delivered() {
				t.Errorf("%s: %+v", url, got)
			}
		}
		if err := c.Reach(t.Context()); err != nil {
			t.Errorf("%s: reach: %v", url, err)
		}
		c.Close()
		want := "CONNECT " + address(url) + " Basic dXNlcjpwQHNz"
		if diff := cmp.Diff([]string{want, want}, p.asked); diff != "" { // one for three attempts, one for Reach
			t.Errorf("%s (-want +got):\n%s", url, diff)
		}
	}
}

func TestProxyOfTheEnvironmentIsNotUsed(t *testing.T) {
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "ALL_PROXY"} {
		t.Setenv(name, "http://127.0.0.1:1")
	}
	s := serveWire(t, answering(ok))
	if got := post(t, newClient(t, s.url), nil); !got.Delivered() {
		t.Errorf("outcome %+v", got)
	}
}

func TestProxyThatOpensNoConnection(t *testing.T) {
	answer := func(text string) string { return address(serveWire(t, answerOnce(text)).url) }
	tests := []struct {
		name, proxy string
		kind        policy.Kind
		class       policy.Class
		status      int
		want        string // behind the proxy's address
	}{
		{"refuses", answer("HTTP/1.1 403 No\r\nContent-Length: 6\r\n\r\nsecret"), policy.KindRefused, policy.ClassTransient, 0, "refuses a connection to library.example:80: status 403"},
		{"cannot", answer("HTTP/1.1 502 No\r\n\r\n"), policy.KindRefused, policy.ClassTransient, 0, "refuses a connection to library.example:80: status 502"},
		{"redirects", answer("HTTP/1.1 302 No\r\nLocation: http://h/\r\n\r\n"), policy.KindRefused, policy.ClassTransient, 0, "refuses a connection to library.example:80: status 302"},
		{"wants credentials", answer("HTTP/1.1 407 No\r\n\r\n"), policy.KindStatus, policy.ClassEndpoint, 407, "status 407: it wants other credentials than endpoint.proxy has"},
		{"closes", answer(""), policy.KindReset, policy.ClassTransient, 0, "connection closed before an answer"},
		{"breaks off", answer("HTTP/1.1 200 O"), policy.KindReset, policy.ClassTransient, 0, "connection closed before an answer"},
		{"speaks otherwise", answer("SSH-2.0-x\r\n\r\n"), policy.KindRefused, policy.ClassTransient, 0, "the answer is not valid HTTP/1.1"},
		{"talks without end", answer("HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 2*maxHeader)), policy.KindRefused, policy.ClassTransient, 0, "the answer is not valid HTTP/1.1"},
		{"answers for the endpoint", answer("HTTP/1.1 200 OK\r\n\r\n" + ok), policy.KindRefused, policy.ClassTransient, 0, "more came than the answer to CONNECT"},
		{"is not there", "127.0.0.1:1", policy.KindRefused, policy.ClassTransient, 0, "connect 127.0.0.1:1: connection refused"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := newClient(t, "http://library.example/a?token=secret", through("http://user:secret@"+tt.proxy))
			got := post(t, c, nil)
			prefix := "proxy " + tt.proxy + ": "
			if tt.name == "is not there" {
				prefix = "proxy: "
			}
			wantOutcome(t, got, policy.Outcome{Verdict: policy.VerdictOf(tt.class), Kind: tt.kind, Status: tt.status, Unreached: true,
				Error: prefix + tt.want, Duration: got.Duration})
			want := prefix + tt.want + "; is endpoint.proxy right, does the proxy run, and may it connect to the endpoint?"
			if err := c.Reach(t.Context()); err == nil || err.Error() != want {
				t.Errorf("reach: %v, want %s", err, want)
			}
		})
	}
}

// A rule is about what the endpoint answers: the record has not reached it.
func TestRuleIsNotAboutTheStatusOfAProxy(t *testing.T) {
	s := serveWire(t, answerOnce("HTTP/1.1 407 No\r\n\r\n"))
	c := newClient(t, "http://library.example/", through(s.url), func(c *Config) {
		c.Rules = []policy.Rule{{Status: []policy.Statuses{"4xx"}, Action: policy.TreatDone}}
	})
	if got := post(t, c, nil); got.Delivered() || got.Treatment != policy.TreatHold {
		t.Errorf("outcome %+v", got)
	}
}

func TestProxyThatSaysNothingIsGivenUp(t *testing.T) {
	begun := make(chan struct{}, 3)
	silent := serveWire(t, func(_ *wireServer, _ net.Conn, r *bufio.Reader) {
		_, _ = r.Peek(1)
		begun <- struct{}{}
		_, _ = io.Copy(io.Discard, r)
	})
	want := "proxy " + address(silent.url) + ": no answer in time"
	if got := post(t, newClient(t, "http://h/", through(silent.url), timeout(20*time.Millisecond)), nil); got.Kind != policy.KindTimeout || got.Error != want {
		t.Errorf("outcome %+v, want %s", got, want)
	}
	<-begun
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-begun
		cancel()
	}()
	c := newClient(t, "http://h/", through(silent.url), timeout(time.Hour))
	if got := c.Attempt(ctx, smallRequest(nil)); got.Error != "stopped before a response" {
		t.Errorf("outcome %+v", got)
	}
}

func TestParseProxy(t *testing.T) {
	for raw, want := range map[string]proxy{
		"http://proxy:3128":            {address: "proxy:3128"},
		"http://proxy/":                {address: "proxy:80"},
		"http://[::1]:3128":            {address: "[::1]:3128"},
		"http://user:p%3Aw@proxy:3128": {address: "proxy:3128", authorization: "Basic dXNlcjpwOnc=", password: "p:w"},
		"http://user@proxy:3128":       {address: "proxy:3128", authorization: "Basic dXNlcjo="},
	} {
		if got, err := parseProxy(raw); err != nil || *got != want {
			t.Errorf("%s: %+v, %v", raw, got, err)
		}
	}
	for _, raw := range []string{"proxy:3128", "https://proxy:3128", "socks5://proxy:1080", "http://", "http://proxy:x", "http://proxy:0", "http://proxy:",
		"http://proxy/path", "http://proxy?secret", "http://proxy#secret", "http://:secret@proxy", "http://us%3Aer:secret@proxy", "http://user:sec ret@proxy",
		"http://prö:3128", "http://proxy:3128\r\nX: y"} {
		if got, err := parseProxy(raw); err != errProxy {
			t.Errorf("%q: %+v, %v", raw, got, err)
		}
	}
}

func FuzzParseProxy(f *testing.F) {
	for _, seed := range []string{"http://u:p@proxy:3128", "http://[::1]/", "http://a%0d%0a:b@c"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		p, err := parseProxy(raw)
		if err != nil || p == nil {
			return
		}
		if _, _, err := net.SplitHostPort(p.address); err != nil || !isHost(p.address) || !isFieldValue(p.authorization) {
			t.Errorf("%q: %+v, %v", raw, p, err)
		}
	})
}
