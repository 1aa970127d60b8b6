package examples

import (
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"sync"
	"testing"
)

var errLost = errors.New("the answer is lost")

// proxy stands between retryd and an example. Of every third event it drops the first
// answer: the example has done its work, and retryd sees a connection that broke.
type proxy struct {
	url string

	mu      sync.Mutex
	answers map[string][]int // the example's statuses, per event id in order of its requests
	lost    map[string]bool  // the events of which an answer was dropped
	arrived map[string]bool  // the events of which retryd has seen an answer
}

func startProxy(t *testing.T, target string) *proxy {
	t.Helper()
	to, err := url.Parse(target)
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{answers: map[string][]int{}, lost: map[string]bool{}, arrived: map[string]bool{}}
	transport := &http.Transport{}
	server := httptest.NewServer(&httputil.ReverseProxy{
		Transport:      transport,
		Rewrite:        func(r *httputil.ProxyRequest) { r.Out.URL = to },
		ModifyResponse: p.note,
		ErrorHandler:   func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) }, // breaks the connection
	})
	t.Cleanup(func() {
		server.Close()
		transport.CloseIdleConnections()
	})
	p.url = server.URL
	return p
}

// note keeps an answer of the example, and loses it if it is one to be lost.
func (p *proxy) note(answer *http.Response) error {
	event := answer.Request.Header.Get("Idempotency-Key")
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answers[event] = append(p.answers[event], answer.StatusCode)
	if len(p.answers)%3 == 0 && len(p.answers[event]) == 1 {
		p.lost[event] = true
		return errLost
	}
	p.arrived[event] = true
	return nil
}

func (p *proxy) count() (arrived int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.arrived)
}

// check requires that every answer was 204, those to repeats too, and that there were
// as many events and lost answers as wanted.
func (p *proxy) check(t *testing.T, events, lost int) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.answers) != events || len(p.lost) != lost {
		t.Errorf("%d event ids and %d lost answers, want %d and %d", len(p.answers), len(p.lost), events, lost)
	}
	for event, statuses := range p.answers {
		if slices.ContainsFunc(statuses, func(s int) bool { return s != http.StatusNoContent }) {
			t.Errorf("event %s was answered %v", event, statuses)
		}
	}
	for event := range maps.Keys(p.lost) {
		if len(p.answers[event]) < 2 {
			t.Errorf("event %s was not repeated", event)
		}
	}
}
