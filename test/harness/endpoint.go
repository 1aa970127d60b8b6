package harness

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"
)

// Endpoint is a business endpoint on 127.0.0.1 that answers as its plan says and
// records every request and what became of it. Its methods are safe for
// concurrent use, except Down and Up, which belong to one goroutine.
type Endpoint struct {
	plan Plan
	addr string

	mu       sync.Mutex
	down     chan struct{} // closed by Down, made anew by Up
	calls    []Call        // in the order of arrival
	accepted []int         // indexes into calls, in the order of acceptance
	handlers sync.WaitGroup

	server *http.Server
	served chan error // what Serve returned
}

// StartEndpoint runs an endpoint until the end of the test. A nil plan accepts
// everything with 200.
func StartEndpoint(t testing.TB, plan Plan) *Endpoint {
	t.Helper()
	if plan == nil {
		plan = func(Request) Answer { return Answer{Status: http.StatusOK} }
	}
	listener, err := listenLoopback()
	if err != nil {
		t.Fatal(err)
	}
	e := &Endpoint{plan: plan, addr: listener.Addr().String()}
	e.serve(listener)
	t.Cleanup(func() {
		if err := e.Down(); err != nil {
			t.Error(err)
		}
	})
	return e
}

// URL returns http://host:port followed by path.
func (e *Endpoint) URL(path string) string { return "http://" + e.addr + path }

// Down closes the port and all connections: requests that are still unanswered
// stay so, new connections are refused. Being down already is no error.
func (e *Endpoint) Down() error {
	if e.server == nil {
		return nil
	}
	e.mu.Lock()
	close(e.down)
	e.mu.Unlock()
	err := e.server.Close()
	if served := <-e.served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	e.handlers.Wait()
	e.server = nil
	return err
}

// Up listens again at the same port after Down.
func (e *Endpoint) Up() error {
	listener, err := net.Listen("tcp", e.addr)
	if err != nil {
		return fmt.Errorf("bring the endpoint back: %w", err)
	}
	e.serve(listener)
	return nil
}

func (e *Endpoint) serve(listener net.Listener) {
	e.mu.Lock()
	e.down = make(chan struct{})
	e.mu.Unlock()
	e.served = make(chan error, 1)
	e.server = &http.Server{Handler: e, ErrorLog: log.New(io.Discard, "", 0)}
	go func(server *http.Server, served chan<- error) { served <- server.Serve(listener) }(e.server, e.served)
}

// ServeHTTP handles one request.
func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	arrived := time.Now()
	body, err := io.ReadAll(r.Body)
	request := newRequest(arrived, r, body)
	i, down, open := e.record(request)
	if !open {
		panic(http.ErrAbortHandler) // closes the connection without a response
	}
	defer e.handlers.Done()
	if err != nil {
		panic(http.ErrAbortHandler) // the client left in the middle of its body
	}
	answer := e.plan(request)
	if !waitBefore(answer, r.Context().Done(), down) {
		panic(http.ErrAbortHandler)
	}
	e.answer(w, i, answer)
}

// record adds a request; open is false when the endpoint is going down.
func (e *Endpoint) record(r Request) (i int, down <-chan struct{}, open bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	select {
	case <-e.down:
		return 0, nil, false
	default:
	}
	e.handlers.Add(1)
	e.calls = append(e.calls, Call{Request: r})
	return len(e.calls) - 1, e.down, true
}

// waitBefore waits as the answer asks for, and reports whether it is to be given:
// not after the client left or the endpoint went down.
func waitBefore(a Answer, left, down <-chan struct{}) bool {
	var over <-chan time.Time // never, for an answer that hangs
	switch {
	case a.Hang:
	case a.Delay > 0:
		timer := time.NewTimer(a.Delay)
		defer timer.Stop()
		over = timer.C
	default:
		return true
	}
	select {
	case <-over:
		return true
	case <-left:
	case <-down:
	}
	return false
}

// answer notes what is answered to call i, then answers it: a test that sees the
// effect of an answer finds it recorded.
func (e *Endpoint) answer(w http.ResponseWriter, i int, a Answer) {
	e.mu.Lock()
	e.calls[i].Answer, e.calls[i].Answered = a, time.Now()
	if a.accepts() {
		e.accepted = append(e.accepted, i)
	}
	e.mu.Unlock()
	a.write(w)
}

// Requests returns all requests so far, in the order of arrival.
func (e *Endpoint) Requests() []Call {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.calls)
}

// Accepted returns the requests that were accepted so far, in the order of
// acceptance.
func (e *Endpoint) Accepted() []Call { return e.acceptedFrom(0) }

// acceptedFrom returns the accepted requests from number first (0-based) on.
func (e *Endpoint) acceptedFrom(first int) []Call {
	e.mu.Lock()
	defer e.mu.Unlock()
	calls := make([]Call, 0, len(e.accepted)-first)
	for _, i := range e.accepted[first:] {
		calls = append(calls, e.calls[i])
	}
	return calls
}

// Counts returns the number of requests and of accepted ones so far.
func (e *Endpoint) Counts() (requests, accepted int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.calls), len(e.accepted)
}
