package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/retryd/retryd/test/harness"
)

// mode is what the endpoint does: it answers a status, or one of the following.
type mode int

const (
	refused mode = -1 // nobody listens
	hanging mode = -2 // requests are read and never answered
)

const (
	recordsPath = "/records"
	healthPath  = "/health"

	listenBound = 10 * time.Second // until the port is ours again
	closeBound  = time.Second      // for answers that are being written
)

// call is one request, as the endpoint saw it.
type call struct {
	id      string // the event id
	attempt int    // 1-based
	mode    mode   // what it met
	arrived time.Time
	ended   time.Time // answered, or given up by the client; zero: neither
}

func (c call) accepts() bool { return c.mode == http.StatusOK }

// endpoint is a business endpoint that can be switched. It keeps a log of all requests,
// those for its health apart.
type endpoint struct {
	addr   string
	poison func(id string) bool // records that it answers with 500, however well it is

	mu       sync.Mutex
	mode     mode
	calls    []call
	health   []call          // without an id
	accepted map[string]bool // ids

	server *http.Server // nil while connections are refused
	served chan error
}

func startEndpoint() (*endpoint, error) {
	addrs, err := harness.FreeAddrs(1)
	if err != nil {
		return nil, err
	}
	e := &endpoint{addr: addrs[0], mode: http.StatusOK, accepted: map[string]bool{}, poison: func(string) bool { return false }}
	return e, e.listen()
}

func (e *endpoint) url(path string) string { return "http://" + e.addr + path }

// listen serves at the endpoint's address, the same one each time.
func (e *endpoint) listen() error {
	for deadline := time.Now().Add(listenBound); ; time.Sleep(time.Millisecond) {
		ln, err := net.Listen("tcp", e.addr)
		if err != nil && time.Now().Before(deadline) {
			continue
		}
		if err != nil {
			return fmt.Errorf("listen again: %w", err)
		}
		e.server = &http.Server{Handler: e, ReadHeaderTimeout: listenBound}
		e.served = make(chan error, 1)
		go func() { e.served <- e.server.Serve(ln) }()
		return nil
	}
}

// close ends the server: answers that are being written are finished, requests that
// hang are cut off.
func (e *endpoint) close() error {
	if e.server == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeBound)
	defer cancel()
	err := e.server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = e.server.Close()
	}
	if served := <-e.served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	e.server = nil
	return err
}

// become switches the endpoint, and returns when: what arrives from then on meets the
// new mode. One goroutine calls it.
func (e *endpoint) become(m mode) (at time.Time, err error) {
	if m == refused {
		err = e.close()
	}
	at = e.set(m)
	if m != refused && e.server == nil {
		err = e.listen()
	}
	return at, err
}

func (e *endpoint) set(m mode) time.Time {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.mode = m
	return time.Now()
}

// ServeHTTP answers a record or a question for the endpoint's health.
func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == healthPath {
		e.answer(w, r, e.checkup())
		return
	}
	i, m := e.arrive(r)
	_, _ = io.Copy(io.Discard, r.Body)
	e.answer(w, r, m)
	e.end(i)
}

// answer writes a status, or waits until the client has had enough.
func (e *endpoint) answer(w http.ResponseWriter, r *http.Request, m mode) {
	if m == hanging {
		<-r.Context().Done()
		return
	}
	w.WriteHeader(int(m))
}

// checkup logs a question for the endpoint's health, and says what it meets.
func (e *endpoint) checkup() mode {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.health = append(e.health, call{mode: e.mode, arrived: time.Now()})
	return e.mode
}

// arrive logs a request, and says what it meets.
func (e *endpoint) arrive(r *http.Request) (i int, m mode) {
	attempt, _ := strconv.Atoi(r.Header.Get("Retryd-Attempt")) // 0 is found to be wrong
	c := call{id: r.Header.Get("Idempotency-Key"), attempt: attempt}
	e.mu.Lock()
	defer e.mu.Unlock()
	c.arrived, c.mode = time.Now(), e.mode
	if c.mode == http.StatusOK && e.poison(c.id) {
		c.mode = http.StatusInternalServerError
	}
	e.calls = append(e.calls, c)
	return len(e.calls) - 1, c.mode
}

func (e *endpoint) end(i int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.calls[i].ended = time.Now()
	if e.calls[i].accepts() {
		e.accepted[e.calls[i].id] = true
	}
}

// log returns all requests so far, in the order of arrival.
func (e *endpoint) log() (records, health []call) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.calls), slices.Clone(e.health)
}

// delivered returns how many different records were accepted so far.
func (e *endpoint) delivered() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.accepted)
}
