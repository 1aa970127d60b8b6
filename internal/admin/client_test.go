package admin

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/retryd/retryd/internal/status"
)

func TestFetchReturnsWhatTheProcessTells(t *testing.T) {
	at := time.Date(2026, 11, 5, 12, 0, 0, 0, time.UTC)
	age, records := 1.5, int64(7)
	want := status.Assemble("1.2.3", at, at.Add(time.Hour), nil, []status.Relay{{
		Name: "loans", Ready: true,
		Tiers: []status.Tier{{Name: "main", Topic: "loans", Partitions: []int32{0, 2}, Due: new(int64(3)), Held: new(int64), OldestDue: &age, Furthest: &at}},
		DLT:   status.DLT{Topic: "loans.DLT", Records: &records},
	}})
	s := started(t, tells(want))
	got, err := Fetch(t.Context(), s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAskedWhereItListens(t *testing.T) {
	tests := []struct{ listen, want, err string }{
		{"127.0.0.1:9464", "127.0.0.1:9464", ""},
		{"relay.example:9464", "relay.example:9464", ""},
		{":9464", "127.0.0.1:9464", ""},
		{"0.0.0.0:9464", "127.0.0.1:9464", ""},
		{"[::]:9464", "[::1]:9464", ""},
		{"[::1]:9464", "[::1]:9464", ""},
		{"192.168.1.5:80", "192.168.1.5:80", ""},
		{"", "", "admin.listen is empty, so retryd listens nowhere: set it, as to 127.0.0.1:9464, and start retryd anew"},
		{"127.0.0.1", "", `"127.0.0.1" is no address to ask: say host:port, as in 127.0.0.1:9464`},
		{"127.0.0.1:http", "", `"127.0.0.1:http" is no address to ask: say host:port, as in 127.0.0.1:9464`},
		{"http://127.0.0.1:9464", "", `"http://127.0.0.1:9464" is no address to ask: say host:port, as in 127.0.0.1:9464`},
		{"127.0.0.1:0", "", `127.0.0.1:0 stands for any free port: ask the address in retryd's log line "admin listener started"`},
		{":00", "", `:00 stands for any free port: ask the address in retryd's log line "admin listener started"`},
	}
	for _, tt := range tests {
		t.Run(tt.listen, func(t *testing.T) {
			got, err := dialable(tt.listen)
			if got != tt.want || text(err) != tt.err {
				t.Errorf("got %q, %v, want %q, %s", got, err, tt.want, tt.err)
			}
		})
	}
}

// foreign is a server that is not retryd.
func foreign(t *testing.T, h http.HandlerFunc) (addr string) {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

func says(code int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

func TestFetchExplainsWhoAnswers(t *testing.T) {
	tests := []struct {
		name   string
		answer http.HandlerFunc
		want   string // ADDR: the address
	}{
		{"a page", says(200, "<html>"),
			"what listens at ADDR is another program: its /api/v1/relays is not the state of a retryd: invalid character '<' looking for beginning of value"},
		{"nothing", says(200, ""),
			"what listens at ADDR is another program: its /api/v1/relays is not the state of a retryd: unexpected end of JSON input"},
		{"another program's JSON", says(200, `{"version": "9", "uptime": 1}`),
			"what listens at ADDR is another program: its /api/v1/relays has no version, time or relays"},
		{"much alike JSON", says(200, `{"version": "9", "time": "2026-11-05T12:00:00Z", "services": []}`),
			"what listens at ADDR is another program: its /api/v1/relays has no version, time or relays"},
		{"no such page", http.NotFound,
			"what listens at ADDR has no /api/v1/relays: it is another program, or an older retryd"},
		{"refused", says(403, "only over loopback.\nAsk there.\n"),
			"ADDR tells its state over loopback only: ask 127.0.0.1 on its host, or go through ssh -L; it says: only over loopback. Ask there."},
		{"a broken process", says(500, "out\x1b[2J of order"), "ADDR answers 500 Internal Server Error: out [2J of order"},
		{"a long complaint", says(503, strings.Repeat("x", 1000)), "ADDR answers 503 Service Unavailable: " + strings.Repeat("x", 300) + "..."},
		{"elsewhere", func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != relaysPath {
				t.Errorf("followed to %s", r.URL)
			}
			w.Header().Set("Location", "/other")
			w.WriteHeader(http.StatusFound)
		}, "ADDR answers 302 Found: "},
		{"without end", func(w http.ResponseWriter, _ *http.Request) {
			for block := make([]byte, 1<<20); ; {
				if _, err := w.Write(block); err != nil {
					return
				}
			}
		}, "the answer of ADDR exceeds 16 MiB: is it retryd that listens there?"},
		{"a broken connection", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "10")
			_, _ = io.WriteString(w, "half")
		}, "ask ADDR, where retryd should listen: unexpected EOF"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			addr := foreign(t, tt.answer)
			_, err := Fetch(t.Context(), addr)
			if got, want := text(err), strings.ReplaceAll(tt.want, "ADDR", addr); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

func TestFetchTellsThatNobodyListens(t *testing.T) {
	s := listening(t, "127.0.0.1:0")
	serve(t, s)()
	_, err := Fetch(t.Context(), s.Addr())
	if want := "nobody listens at " + s.Addr() + ": is retryd running, and is admin.listen the same?"; text(err) != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// mute accepts connections, answers a request with text and says no more.
func mute(t *testing.T, answer string) (addr string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			defer c.Close()
			if _, err := c.Read(make([]byte, 1<<10)); err == nil {
				_ = send(c, answer)
			}
		}
	}()
	t.Cleanup(func() { ln.Close(); <-done })
	return ln.Addr().String()
}

func TestFetchWaitsOnlySoLong(t *testing.T) {
	for name, answer := range map[string]string{
		"no answer":     "",
		"half a header": "HTTP/1.1 200 OK\r\nContent-",
		"half a body":   "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf",
	} {
		t.Run(name, func(t *testing.T) {
			addr := mute(t, answer)
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			_, err := Fetch(ctx, addr)
			want := addr + " does not answer in time: does retryd listen there, and does its host have time for it?"
			if text(err) != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
		})
	}
}

func TestFetchOfAnotherProtocol(t *testing.T) {
	addr := mute(t, "SSH-2.0-OpenSSH_9.9\r\n")
	_, err := Fetch(t.Context(), addr)
	want := "ask " + addr + `, where retryd should listen: net/http: HTTP/1.x transport connection broken: malformed HTTP response "SSH-2.0-OpenSSH_9.9"`
	if text(err) != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestFetchOffLoopbackIsRefused(t *testing.T) {
	s := New(Config{Listen: "127.0.0.1:0"}, prometheus.NewRegistry(), fine(), zap.NewNop())
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	s.ln = elsewhere{s.ln}
	defer serve(t, s)()
	_, err := Fetch(t.Context(), s.Addr())
	want := s.Addr() + " tells its state over loopback only: ask 127.0.0.1 on its host, or go through ssh -L; it says: only connections over loopback"
	if !strings.HasPrefix(text(err), want) {
		t.Errorf("got  %v\nwant %s...", err, want)
	}
}

func TestProbeTellsWhetherRetrydIsWell(t *testing.T) {
	trouble := []status.Problem{{Text: "waiting for Kafka", Blocking: true}, {Text: "log lines cannot be written"}}
	loans := []status.Relay{{Name: "loans", Ready: true}}
	unready := started(t, tells(status.Assemble("1", time.Time{}, time.Time{}, trouble, loans))).Addr()
	warned := started(t, tells(status.Assemble("1", time.Time{}, time.Time{}, trouble[1:], loans))).Addr()
	long := []status.Problem{{Text: strings.Repeat("x", 1000), Blocking: true}}
	talkative := started(t, tells(status.Assemble("1", time.Time{}, time.Time{}, long, loans))).Addr()
	elsewhere := foreign(t, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/ok", http.StatusFound) })
	tests := []struct {
		name, addr, page, want string // ADDR: the address
	}{
		{"healthy", unready, "/healthz", ""},
		{"ready with a problem that does not block", warned, "/readyz", ""},
		{"not ready", unready, "/readyz", "/readyz of ADDR answers 503: not ready; waiting for Kafka; log lines cannot be written"},
		{"a long text", talkative, "/readyz", "/readyz of ADDR answers 503: not ready; " + strings.Repeat("x", 289) + "..."},
		{"a page of another program", foreign(t, says(404, "<html>\r\n    <body>no\n\n")), "/healthz", "/healthz of ADDR answers 404: <html>; <body>no"},
		{"no such page", unready, "/none", "/none of ADDR answers 404: 404 page not found"},
		{"a redirect", elsewhere, "/healthz", `/healthz of ADDR answers 302: <a href="/ok">Found</a>.`},
		{"another program", foreign(t, says(200, "<html>ok")), "/healthz", "what listens at ADDR is another program: its /healthz answers 200 without the word ok"},
		{"another program that says much alike", foreign(t, says(200, "okay\n")), "/healthz", "what listens at ADDR is another program: its /healthz answers 200 without the word ok"},
		{"another program that says nothing", foreign(t, says(200, "")), "/readyz", "what listens at ADDR is another program: its /readyz answers 200 without the word ok"},
		{"no listener", "", "/healthz", "admin.listen is empty, so retryd listens nowhere: set it, as to 127.0.0.1:9464, and start retryd anew"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want := strings.ReplaceAll(tt.want, "ADDR", tt.addr)
			if got := text(Probe(t.Context(), tt.addr, tt.page)); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

// FuzzState holds against an answer that is taken for a process and is none.
func FuzzState(f *testing.F) {
	f.Add([]byte(`{"version":"1","time":"2026-11-05T12:00:00Z","relays":[]}`))
	f.Add([]byte(`{"version":"1","relays":null}`))
	f.Add([]byte(`[]`))
	f.Add([]byte(`{"relays":[{"tiers":[{"due":1e400}]}]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		p, err := decode("127.0.0.1:9464", body)
		if err == nil && (p.Version == "" || p.Relays == nil) {
			t.Errorf("%q is taken for %+v", body, p)
		}
		for _, r := range quote(body) {
			if r == '\n' || r == 0x1b {
				t.Errorf("%q is quoted as %q", body, quote(body))
			}
		}
	})
}
