package admin

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
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

func ask(t *testing.T, s *Server, method, path string) reply {
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
	s := New(Config{Listen: "127.0.0.1:0"}, reg, ready, zap.NewNop())
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
		{"GET", "/", 404, "404 page not found\n"},
		{"GET", "/healthz/", 404, "404 page not found\n"},
		{"GET", "/metrics/x", 404, "404 page not found\n"},
		{"GET", "/debug/pprof/", 404, "404 page not found\n"},
	}
	for _, tt := range tests {
		t.Run(tt.method+" "+tt.path, func(t *testing.T) {
			got := ask(t, s, tt.method, tt.path)
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

func TestReadyTellsOfARelayWithAFault(t *testing.T) {
	problems := []Problem{{"invoices", "main topic invoices does not exist"}}
	s := New(Config{Listen: "127.0.0.1:0"}, prometheus.NewRegistry(), func() (bool, []Problem) { return true, problems }, zap.NewNop())
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	defer serve(t, s)()
	got := ask(t, s, "GET", "/readyz")
	want := reply{200, got.header, "ok\nrelay invoices: main topic invoices does not exist\n"}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(reply{})); diff != "" {
		t.Error(diff)
	}
}

func TestNotReadyTellsOneLinePerProblem(t *testing.T) {
	problems := []Problem{
		{"library.loan.overdue", "topic library.loan.overdue.DLT is missing"},
		{"invoices", "read\nsecond line\x1b[2J"},
		{"", "no broker of 127.0.0.1:9092 answers"},
	}
	s := New(Config{Listen: "127.0.0.1:0"}, prometheus.NewRegistry(), func() (bool, []Problem) { return false, problems }, zap.NewNop())
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	defer serve(t, s)()
	got := ask(t, s, "GET", "/readyz")
	want := reply{503, got.header, "relay library.loan.overdue: topic library.loan.overdue.DLT is missing\n" +
		"relay invoices: read second line [2J\n" +
		"no broker of 127.0.0.1:9092 answers\n"}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(reply{})); diff != "" {
		t.Error(diff)
	}
	if got := ask(t, s, "GET", "/healthz").status; got != 200 {
		t.Errorf("a process that is not ready is unhealthy: %d", got)
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
	s := New(Config{Listen: "127.0.0.1:0"}, reg, ready, zap.New(core))
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	defer serve(t, s)()
	if got := ask(t, s, "GET", "/metrics"); got.status != 200 || !strings.Contains(got.body, "up 0\n") || strings.Contains(got.body, "lost") {
		t.Errorf("got %d %q", got.status, got.body)
	}
	if logs.FilterMessage("admin listener").Len() != 1 {
		t.Errorf("logged %v", logs.All())
	}
}

func TestPanicIsLoggedAndNotShown(t *testing.T) {
	core, logs := observer.New(zapcore.WarnLevel)
	s := New(Config{Listen: "127.0.0.1:0"}, prometheus.NewRegistry(), func() (bool, []Problem) { panic("bug") }, zap.New(core))
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
	if got := ask(t, s, "GET", "/healthz").status; got != 200 {
		t.Errorf("the listener did not survive: %d", got)
	}
	if logs.FilterMessage("admin listener").Len() != 1 {
		t.Errorf("logged %v", logs.All())
	}
}
