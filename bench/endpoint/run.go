package main

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/retryd/retryd/bench/load"
	"github.com/retryd/retryd/bench/procfs"
)

// slowness is the delay of /slow.
const slowness = 100 * time.Millisecond

// endpoint answers requests by the plan of the run that is on.
type endpoint struct {
	current atomic.Pointer[run]
}

func newEndpoint() *endpoint {
	e := &endpoint{}
	e.current.Store(newRun(load.Plan{Status: fasthttp.StatusOK}))
	return e
}

// begin ends the run that is on: what hangs in it is answered.
func (e *endpoint) begin(p load.Plan) { close(e.current.Swap(newRun(p)).over) }

// run is one run. Its counters are those of the requests to /.
type run struct {
	plan    load.Plan
	over    chan struct{} // closed when the next run begins
	reached chan struct{} // closed at the expected request
	pid     atomic.Int64  // of the client; 0: not known yet

	arrived atomic.Int64
	noted   atomic.Int64 // of those that arrived
	repeats atomic.Int64
	late    []atomic.Int64 // nanoseconds, by order of arrival; of expected requests
	seen    []atomic.Int64 // by number: first arrival, in nanoseconds since the epoch

	mu      sync.Mutex
	first   edge
	last    edge
	headers []string
	problem string
}

// edge is the moment of the first or the last expected request.
type edge struct {
	at  time.Time
	cpu time.Duration // of the client by then
}

func newRun(p load.Plan) *run {
	r := &run{plan: p, over: make(chan struct{}), reached: make(chan struct{})}
	if p.Due {
		r.late = make([]atomic.Int64, p.Expected)
	}
	r.seen = make([]atomic.Int64, p.Numbered)
	return r
}

func (e *endpoint) serve(ctx *fasthttp.RequestCtx) {
	now := time.Now()
	r := e.current.Load()
	switch uri := ctx.Request.Header.RequestURI(); string(uri) {
	case "/hang":
		<-r.over
		return
	case "/slow":
		time.Sleep(slowness)
		return
	}
	n := int(r.arrived.Add(1))
	if n == 1 {
		r.begin(now, &ctx.Request.Header)
	}
	r.note(n, now, ctx.Request.Body())
	if int(r.noted.Add(1)) == r.plan.Expected {
		r.end(now)
	}
	r.answer(ctx)
}

// note measures request n, the first being 1.
func (r *run) note(n int, now time.Time, value []byte) {
	switch number := load.Number(value); {
	case r.plan.Due && n <= len(r.late):
		r.late[n-1].Store(now.UnixNano() - number)
	case number < 0 || number >= int64(len(r.seen)):
	case !r.seen[number].CompareAndSwap(0, now.UnixNano()):
		r.repeats.Add(1)
	}
}

func (r *run) answer(ctx *fasthttp.RequestCtx) {
	ctx.SetStatusCode(r.plan.Status)
	if r.plan.Delay > 0 {
		time.Sleep(r.plan.Delay)
	}
	if r.plan.Stuck && load.Number(ctx.Request.Body()) == 0 {
		<-r.over
	}
}

func (r *run) begin(now time.Time, h *fasthttp.RequestHeader) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.first = r.edge(now)
	for name := range h.All() {
		r.headers = append(r.headers, string(name))
	}
	slices.Sort(r.headers)
}

func (r *run) end(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = r.edge(now)
	close(r.reached)
}

// edge reads the client's processor time. The caller holds r.mu.
func (r *run) edge(now time.Time) edge {
	pid := int(r.pid.Load())
	if pid == 0 {
		r.problem = "a request came before the client's process was known"
		return edge{at: now}
	}
	cpu, err := procfs.CPU(pid)
	if err != nil {
		r.problem = fmt.Sprintf("processor time of the client: %v", err)
	}
	return edge{at: now, cpu: cpu}
}
