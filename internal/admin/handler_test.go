package admin

import (
	"errors"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/retryd/retryd/internal/status"
)

type reply struct {
	status int
	header http.Header
	body   string
}

// do sends one request on a connection of its own.
func do(t *testing.T, req *http.Request) reply {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{res.StatusCode, res.Header, string(body)}
}

func request(t *testing.T, s *Server, method, path string) reply {
	t.Helper()
	req, err := http.NewRequest(method, "http://"+s.Addr()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	return do(t, req)
}

func TestAnswers(t *testing.T) {
	reg := prometheus.NewRegistry()
	up := prometheus.NewGauge(prometheus.GaugeOpts{Name: "up", Help: "Always 1."})
	up.Set(1)
	reg.MustRegister(up)
	s := New(Config{Listen: "127.0.0.1:0"}, reg, fine(), zap.NewNop())
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	defer serve(t, s)()
	metrics := "# HELP up Always 1.\n# TYPE up gauge\nup 1\n"
	tests := []struct {
		method, path string
		status       int
		body         string
	}{
		{"GET", "/healthz", 200, "ok\n"},
		{"HEAD", "/healthz", 200, ""},
		{"GET", "/readyz", 200, "ok\n"},
		{"GET", "/readyz?verbose", 200, "ok\n"},
		{"GET", "/metrics", 200, metrics},
		{"HEAD", "/metrics", 200, ""},
		{"POST", "/healthz", 405, "Method Not Allowed\n"},
		{"DELETE", "/readyz", 405, "Method Not Allowed\n"},
		{"POST", "/metrics", 405, "Method Not Allowed\n"},
		{"POST", "/api/v1/relays", 405, "Method Not Allowed\n"},
		{"GET", "/", 404, "404 page not found\n"},
		{"GET", "/healthz/", 404, "404 page not found\n"},
		{"GET", "/metrics/x", 404, "404 page not found\n"},
		{"GET", "/api/v1/", 404, "404 page not found\n"},
		{"GET", "/debug/pprof/", 404, "404 page not found\n"},
	}
	for _, tt := range tests {
		t.Run(tt.method+" "+tt.path, func(t *testing.T) {
			got := request(t, s, tt.method, tt.path)
			if got.status != tt.status || got.body != tt.body {
				t.Errorf("got %d %q, want %d %q", got.status, got.body, tt.status, tt.body)
			}
			if allow := got.header.Get("Allow"); tt.status == 405 && allow != "GET, HEAD" {
				t.Errorf("Allow: %q", allow)
			}
			if ct := got.header.Get("Content-Type"); !strings.HasPrefix(ct, "text/plain") {
				t.Errorf("Content-Type: %q", ct)
			}
		})
	}
}

// started runs a server that tells s, until the test ends.
func started(t *testing.T, source Source) *Server {
	t.Helper()
	s := New(Config{Listen: "127.0.0.1:0"}, prometheus.NewRegistry(), source, zap.NewNop())
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(serve(t, s))
	return s
}

func TestReadinessIsThatOfTheProcess(t *testing.T) {
	fault := status.Relay{Name: "invoices", Fault: true, Problems: []status.Problem{
		{Text: "main topic invoices does not exist", Blocking: true},
		{Text: "read\nsecond line\x1b[2J"},
	}}
	tests := []struct {
		name    string
		process status.Process
		status  int
		body    string
	}{
		{"ready", status.Process{Ready: true}, 200, "ok\n"},
		{"a relay has a fault", status.Process{Ready: true, Relays: []status.Relay{fault}}, 200,
			"ok\nrelay invoices: main topic invoices does not exist\nrelay invoices: read second line [2J\n"},
		{"not ready", status.Process{
			Problems: []status.Problem{{Text: "no broker of 127.0.0.1:9092 answers", Blocking: true}}, Relays: []status.Relay{fault},
		}, 503, "not ready\nno broker of 127.0.0.1:9092 answers\n" +
			"relay invoices: main topic invoices does not exist\nrelay invoices: read second line [2J\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := started(t, tells(tt.process))
			got := request(t, s, "GET", "/readyz")
			if got.status != tt.status || got.body != tt.body {
				t.Errorf("got %d %q, want %d %q", got.status, got.body, tt.status, tt.body)
			}
			if got := request(t, s, "GET", "/healthz").status; got != 200 {
				t.Errorf("/healthz: %d, want 200 whatever the readiness", got)
			}
		})
	}
}

func TestStalledProcessIsUnhealthy(t *testing.T) {
	source := fine()
	source.Stalled = func() string { return "partition 3 of orders:\nno progress for 2m" }
	got := request(t, started(t, source), "GET", "/healthz")
	if want := "partition 3 of orders: no progress for 2m\n"; got.status != 503 || got.body != want {
		t.Errorf("got %d %q, want 503 %q", got.status, got.body, want)
	}
}

func TestRelaysAreToldAsJSON(t *testing.T) {
	at := time.Date(2026, 11, 5, 12, 0, 0, 0, time.UTC)
	s := started(t, tells(status.Assemble("1.2.3", at, at.Add(time.Second), nil, nil)))
	got := request(t, s, "GET", "/api/v1/relays")
	want := `{
  "version": "1.2.3",
  "time": "2026-11-05T12:00:01Z",
  "since": "2026-11-05T12:00:00Z",
  "ready": false,
  "problems": [],
  "relays": []
}
`
	if got.status != 200 || got.body != want {
		t.Errorf("%d\n%s", got.status, cmp.Diff(want, got.body))
	}
	if ct := got.header.Get("Content-Type"); ct != "application/json" {
		t.Errorf("Content-Type: %s", ct)
	}
	head := request(t, s, "HEAD", "/api/v1/relays")
	if length := head.header.Get("Content-Length"); head.status != 200 || head.body != "" || length != strconv.Itoa(len(want)) {
		t.Errorf("HEAD: %d, length %s, body %q", head.status, length, head.body)
	}
}

func TestStateWithoutJSONIsLoggedAndNotShown(t *testing.T) {
	core, logs := observer.New(zapcore.ErrorLevel)
	p := status.Process{Relays: []status.Relay{{Tiers: []status.Tier{{DelaySeconds: math.NaN()}}}}}
	s := New(Config{Listen: "127.0.0.1:0"}, prometheus.NewRegistry(), tells(p), zap.New(core))
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	defer serve(t, s)()
	got := request(t, s, "GET", "/api/v1/relays")
	if want := "the state of the relays cannot be shown; the log says why\n"; got.status != 500 || got.body != want {
		t.Errorf("got %d %q", got.status, got.body)
	}
	if logs.FilterMessage("state of the relays has no JSON").Len() != 1 {
		t.Errorf("logged %v", logs.All())
	}
}

func TestEveryAnswerIsFreshAndOfItsType(t *testing.T) {
	s := started(t, fine())
	for _, path := range []string{"/healthz", "/readyz", "/metrics", "/api/v1/relays", "/none"} {
		h := request(t, s, "GET", path).header
		if h.Get("Cache-Control") != "no-store" || h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: %v", path, h)
		}
		if got := h.Get("Access-Control-Allow-Origin"); got != "" {
			t.Errorf("%s may be read by pages of %s", path, got)
		}
	}
}

// broken fails to collect.
type broken struct{}

func (broken) Describe(chan<- *prometheus.Desc) {}
func (broken) Collect(ch chan<- prometheus.Metric) {
	ch <- prometheus.NewInvalidMetric(prometheus.NewInvalidDesc(errors.New("lost")), errors.New("lost"))
}

func TestBrokenCollectorIsLoggedAndHidesNothingElse(t *testing.T) {
	core, logs := observer.New(zapcore.WarnLevel)
	reg := prometheus.NewRegistry()
	reg.MustRegister(broken{}, prometheus.NewGauge(prometheus.GaugeOpts{Name: "up", Help: "Always 0."}))
	s := New(Config{Listen: "127.0.0.1:0"}, reg, fine(), zap.New(core))
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	defer serve(t, s)()
	if got := request(t, s, "GET", "/metrics"); got.status != 200 || !strings.Contains(got.body, "up 0\n") || strings.Contains(got.body, "lost") {
		t.Errorf("got %d %q", got.status, got.body)
	}
	if logs.FilterMessage("admin listener").Len() != 1 {
		t.Errorf("logged %v", logs.All())
	}
}

// slow is a collector that waits for the test.
type slow struct{ entered, release chan struct{} }

func (slow) Describe(chan<- *prometheus.Desc) {}
func (s slow) Collect(chan<- prometheus.Metric) {
	s.entered <- struct{}{}
	<-s.release
}

func TestMoreScrapesThanThereIsRoomForAreRefused(t *testing.T) {
	blocked := slow{make(chan struct{}, maxScrapes+1), make(chan struct{})}
	reg := prometheus.NewRegistry()
	reg.MustRegister(blocked)
	s := New(Config{Listen: "127.0.0.1:0"}, reg, fine(), zap.NewNop())
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	defer serve(t, s)()
	codes := make(chan int, maxScrapes+1)
	scrape := func() {
		res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Get("http://" + s.Addr() + "/metrics")
		if err != nil {
			t.Error(err)
			codes <- 0
			return
		}
		res.Body.Close()
		codes <- res.StatusCode
	}
	for range maxScrapes {
		go scrape()
	}
	for range maxScrapes {
		<-blocked.entered
	}
	go scrape()
	select {
	case code := <-codes:
		if code != 503 {
			t.Errorf("scrape %d: %d, want 503", maxScrapes+1, code)
		}
	case <-blocked.entered:
		t.Errorf("scrape %d is let in", maxScrapes+1)
		defer func() { <-codes }()
	}
	if got := request(t, s, "GET", "/healthz").status; got != 200 {
		t.Errorf("/healthz beside them: %d, want 200", got)
	}
	close(blocked.release)
	for range maxScrapes {
		if code := <-codes; code != 200 {
			t.Errorf("a scrape that was let in: %d, want 200", code)
		}
	}
}

func TestPanicIsLoggedAndNotShown(t *testing.T) {
	core, logs := observer.New(zapcore.WarnLevel)
	source := Source{Status: func() status.Process { panic("bug") }, Stalled: fine().Stalled}
	s := New(Config{Listen: "127.0.0.1:0"}, prometheus.NewRegistry(), source, zap.New(core))
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	defer serve(t, s)()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Get("http://" + s.Addr() + "/readyz")
	if err == nil {
		res.Body.Close()
		t.Errorf("got %s", res.Status)
	}
	if got := request(t, s, "GET", "/healthz").status; got != 200 {
		t.Errorf("the listener did not survive: %d", got)
	}
	if logs.FilterMessage("admin listener").Len() != 1 {
		t.Errorf("logged %v", logs.All())
	}
}
