package forward

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/retryd/retryd/internal/policy"
)

func TestAttemptClassifiesEveryStatus(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, _ := strconv.Atoi(r.URL.Query().Get("status"))
		w.WriteHeader(status)
	}))
	t.Cleanup(server.Close)
	for class, statuses := range map[policy.Class][]int{
		policy.ClassNone:      {200, 201, 202, 204, 299},
		policy.ClassTransient: {408, 425, 502, 503, 504},
		policy.ClassThrottled: {429},
		policy.ClassInvalid:   {400, 402, 410, 413, 422, 431, 451},
		policy.ClassConflict:  {409, 412},
		policy.ClassEndpoint:  {300, 301, 304, 307, 401, 403, 404, 405, 407, 415},
		policy.ClassUnknown:   {500, 501, 505, 599},
	} {
		for _, status := range statuses {
			got := post(t, newClient(t, server.URL+"?status="+strconv.Itoa(status)), nil)
			want := policy.Outcome{Verdict: policy.VerdictOf(class), Status: status, Duration: got.Duration}
			if class != policy.ClassNone {
				want.Kind, want.Error = policy.KindStatus, "status "+strconv.Itoa(status)
				want.Doubtful = status == 404 || status == 405 || status == 415
			}
			wantOutcome(t, got, want)
		}
	}
}

func TestAttemptClassifiesWhatIsNoResponse(t *testing.T) {
	hang := func(s *wireServer, _ net.Conn, r *bufio.Reader) {
		for s.read(r) {
		}
	}
	tests := []struct {
		name   string
		handle func(*wireServer, net.Conn, *bufio.Reader)
		change func(*Config)
		kind   policy.Kind
		text   string // ADDR stands for the server's address
	}{
		{name: "no answer", handle: hang, change: timeout(time.Second),
			kind: policy.KindTimeout, text: "no response within 1s"},
		{name: "half a header, then silence", change: timeout(time.Second),
			handle: func(s *wireServer, nc net.Conn, r *bufio.Reader) {
				s.read(r)
				_, _ = io.WriteString(nc, "HTTP/1.1 200 OK\r\nContent-")
				hang(s, nc, r)
			},
			kind: policy.KindTimeout, text: "no response within 1s"},
		{name: "tls handshake without answer", handle: func(_ *wireServer, nc net.Conn, _ *bufio.Reader) { _, _ = io.Copy(io.Discard, nc) },
			change: func(c *Config) { useTLS(c); c.Timeout = time.Second },
			kind:   policy.KindTimeout, text: "tls handshake with ADDR: no answer in time"},
		{name: "closed", handle: answerOnce(""),
			kind: policy.KindReset, text: "connection closed before a response"},
		{name: "closed in the header", handle: answerOnce("HTTP/1.1 200 OK\r\nContent-Le"),
			kind: policy.KindReset, text: "connection closed before a response"},
		{name: "reset", handle: func(s *wireServer, nc net.Conn, r *bufio.Reader) {
			s.read(r)
			_ = nc.(*net.TCPConn).SetLinger(0)
		}, kind: policy.KindReset, text: "connection broken before a response: connection reset by peer"},
		{name: "closed in the tls handshake", handle: func(_ *wireServer, nc net.Conn, r *bufio.Reader) { _, _ = r.ReadByte() },
			change: useTLS, kind: policy.KindReset, text: "tls handshake with ADDR: connection closed"},
		{name: "not tls", handle: func(_ *wireServer, nc net.Conn, r *bufio.Reader) {
			_, _ = io.WriteString(nc, "HTTP/1.1 400 Bad Request\r\n\r\n")
			_, _ = io.Copy(io.Discard, r)
		}, change: useTLS, kind: policy.KindTLS, text: "tls handshake with ADDR: the answer is not TLS"},
		{name: "not http", handle: answerOnce("SSH-2.0-OpenSSH_9.9\r\n"),
			kind: policy.KindProtocol, text: "response is not valid HTTP/1.1"},
		{name: "no status", handle: answerOnce("HTTP/1.1 OK\r\n\r\n"),
			kind: policy.KindProtocol, text: "response is not valid HTTP/1.1"},
		{name: "a header without end", handle: answerOnce("HTTP/1.1 200 OK\r\n" + strings.Repeat("X-Pad: 0123456789\r\n", 4096)),
			kind: policy.KindProtocol, text: "header of the response exceeds 16384 bytes"},
		{name: "interim responses without end", handle: answerOnce(strings.Repeat("HTTP/1.1 103 Early Hints\r\n\r\n", 1000)),
			kind: policy.KindProtocol, text: "response is not valid HTTP/1.1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := serveWire(t, tt.handle)
			var changes []func(*Config)
			if tt.change != nil {
				changes = append(changes, tt.change)
			}
			got := post(t, newClient(t, s.url, changes...), []byte("value"))
			address := strings.TrimSuffix(strings.TrimPrefix(s.url, "http://"), "/")
			wantOutcome(t, got, policy.Outcome{
				Verdict: policy.VerdictOf(policy.Classify(0, tt.kind)), Kind: tt.kind, Duration: got.Duration,
				Unreached: tt.kind == policy.KindReset || strings.HasPrefix(tt.text, "tls "),
				Error:     strings.ReplaceAll(tt.text, "ADDR", address),
			})
			if connections, _ := s.seen(); connections != 1 {
				t.Errorf("%d connections for one attempt", connections)
			}
		})
	}
}

func useTLS(c *Config) { c.URL = strings.Replace(c.URL, "http:", "https:", 1) }

func TestAttemptWithoutConnection(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	free := listener.Addr().String()
	_ = listener.Close()
	socket := filepath.Join(t.TempDir(), "s")
	tests := []struct {
		name, url string
		kind      policy.Kind
		text      string
	}{
		{"refused", "http://" + free + "/a?token=secret", policy.KindRefused, "connect " + free + ": connection refused"},
		{"no socket", "unix://" + socket + ":/a", policy.KindRefused, "connect " + socket + ": no such file or directory"},
		{"no such name", "http://a..b/", policy.KindDNS, "look up a..b: no such host"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := post(t, newClient(t, tt.url), nil)
			wantOutcome(t, got, policy.Outcome{
				Verdict: policy.VerdictOf(policy.ClassTransient), Kind: tt.kind, Unreached: true, Error: tt.text, Duration: got.Duration,
			})
		})
	}
}

func TestAttemptTimesOutWhileConnecting(t *testing.T) {
	target, err := parseTarget("http://192.0.2.1/") // TEST-NET-1: nobody answers
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Nanosecond)
	defer cancel()
	_, f := route{target: target}.dial(ctx)
	if f == nil || f.kind != policy.KindTimeout || f.text != "connect 192.0.2.1:80: no answer in time" {
		t.Errorf("dial past its deadline: %+v", f)
	}
}

func TestAttemptVerifiesCertificates(t *testing.T) {
	var connections atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			connections.Add(1)
		}
	}
	server.Config.ErrorLog = discardLog
	server.StartTLS()
	t.Cleanup(server.Close)
	c := newClient(t, server.URL)
	got := post(t, c, nil)
	if got.Class != policy.ClassEndpoint || got.Kind != policy.KindTLS || !strings.Contains(got.Error, "unknown authority") {
		t.Errorf("unknown CA: %+v", got)
	}

	trusting(c, server.Client().Transport.(*http.Transport).TLSClientConfig)
	connections.Store(0)
	for range 3 {
		if got := post(t, c, []byte("value")); !got.Delivered() {
			t.Errorf("known CA: %+v", got)
		}
	}
	if n := connections.Load(); n != 1 {
		t.Errorf("%d TLS connections for 3 attempts, want 1", n)
	}
}

func TestAttemptWithoutTheCertificateThatTheServerWants(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	server.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	server.Config.ErrorLog = discardLog
	server.StartTLS()
	t.Cleanup(server.Close)
	c := newClient(t, server.URL)
	trusting(c, server.Client().Transport.(*http.Transport).TLSClientConfig)
	got := post(t, c, nil)
	wantOutcome(t, got, policy.Outcome{Verdict: policy.VerdictOf(policy.ClassEndpoint), Kind: policy.KindTLS, Unreached: true,
		Error: "tls: remote error: tls: certificate required", Duration: got.Duration})
}

func TestErrorIsOneShortLine(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"what does not print", "a\r\nb\x00ü", "a  b  "},
		{"as long as it may be", strings.Repeat("x", maxError), strings.Repeat("x", maxError)},
		{"one word", strings.Repeat("x", 300), strings.Repeat("x", 253) + "..."},
		{"words", strings.Repeat("certificate ", 30), strings.Repeat("certificate ", 21) + "..."},
		{"a short word and a long one", "a " + strings.Repeat("x", 300), "a " + strings.Repeat("x", 251) + "..."},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := oneLine(tt.text, maxError); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

func TestAttemptOverUnixSocket(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host != "localhost" || r.RequestURI != "/loans/overdue?a=b" {
			w.WriteHeader(http.StatusBadRequest)
		}
	}))
	server.Listener = listener
	server.Start()
	t.Cleanup(server.Close)
	if got := post(t, newClient(t, "unix://"+socket+":/loans/overdue?a=b"), nil); !got.Delivered() {
		t.Errorf("outcome %+v", got)
	}
}

func TestAttemptFollowsNoRedirect(t *testing.T) {
	var followed atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/elsewhere" {
			followed.Store(true)
		}
		http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
	}))
	t.Cleanup(server.Close)
	if got := post(t, newClient(t, server.URL), nil); got.Status != 307 || got.Class != policy.ClassEndpoint || followed.Load() {
		t.Errorf("outcome %+v, followed: %v", got, followed.Load())
	}
}

func TestAttemptDoesNothingOnceItsContextHasEnded(t *testing.T) {
	s := serveWire(t, answering(ok))
	c := newClient(t, s.url)
	post(t, c, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 10 {
		got := c.Attempt(ctx, fullRequest())
		if got.Delivered() || got.Error != "stopped before a response" {
			t.Fatalf("outcome %+v", got)
		}
	}
	if _, requests := s.seen(); requests != 1 {
		t.Errorf("%d requests reached the endpoint, want the first alone", requests)
	}
}
