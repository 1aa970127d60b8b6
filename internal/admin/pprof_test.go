package admin

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
)

// profiled runs a server with profiles, until the test ends.
func profiled(t *testing.T, change func(*Server)) *Server {
	t.Helper()
	s := New(Config{Listen: "127.0.0.1:0", Pprof: true}, prometheus.NewRegistry(), fine(), zap.NewNop())
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	change(s)
	t.Cleanup(serve(t, s))
	return s
}

func TestProfilesAreForThisHostAlone(t *testing.T) {
	paths := []string{"/debug/pprof/", "/debug/pprof/heap", "/debug/pprof/cmdline", "/debug/pprof/symbol", "/debug/pprof/trace?seconds=0.001"}
	here := profiled(t, func(*Server) {})
	there := profiled(t, func(s *Server) { s.ln = elsewhere{s.ln} })
	for _, path := range paths {
		if got := request(t, here, "GET", path); got.status != 200 || got.body == "" {
			t.Errorf("%s: got %d %q, want 200", path, got.status, got.body)
		}
		if got := request(t, here, "POST", path); got.status != 405 {
			t.Errorf("POST %s: got %d, want 405", path, got.status)
		}
		if got := request(t, there, "GET", path); got.status != 403 || !strings.HasPrefix(got.body, "only connections over loopback") {
			t.Errorf("%s from elsewhere: got %d %q, want 403", path, got.status, got.body)
		}
		req, err := http.NewRequest(http.MethodGet, "http://"+here.Addr()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = "evil.example:9464"
		if got := do(t, req); got.status != 421 {
			t.Errorf("%s as another host: got %d, want 421", path, got.status)
		}
	}
}

// The time limits of the other pages are shorter than a profile of 30 s. The limit is what
// a profile has to be written in, once it was taken.
func TestProfileTakesAsLongAsItIsAskedTo(t *testing.T) {
	s := profiled(t, func(s *Server) {
		s.http.ReadTimeout, s.http.WriteTimeout = 2900*time.Millisecond, 2900*time.Millisecond
	})
	for _, path := range []string{"/debug/pprof/profile?seconds=3", "/debug/pprof/trace?seconds=3", "/debug/pprof/allocs?seconds=3"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			got := request(t, s, "GET", path)
			if took := time.Since(began); got.status != 200 || got.body == "" || took < 3*time.Second {
				t.Errorf("%d with %d bytes after %v, want 200 after 3 s", got.status, len(got.body), took)
			}
		})
	}
}

func TestProfileHasAnEnd(t *testing.T) {
	s := profiled(t, func(*Server) {})
	for path, want := range map[string]string{
		"/debug/pprof/profile?seconds=121":     "seconds must be a number up to 120, not \"121\"\n",
		"/debug/pprof/trace?seconds=Inf":       "seconds must be a number up to 120, not \"Inf\"\n",
		"/debug/pprof/heap?seconds=9999999999": "seconds must be a number up to 120, not \"9999999999\"\n",
		"/debug/pprof/profile?seconds=long":    "seconds must be a number up to 120, not \"long\"\n",
	} {
		if got := request(t, s, "GET", path); got.status != 400 || got.body != want {
			t.Errorf("%s: got %d %q, want 400 %q", path, got.status, got.body, want)
		}
	}
}
