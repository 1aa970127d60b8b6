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
	e.current.Store(newRun(load.Plan{Status: fasthttp.StatusOK}, nil))
	return e
}

// begin ends the run that is on: what hangs in it is answered. One caller at a time
// calls it.
func (e *endpoint) begin(p load.Plan) {
	before := e.current.Load()
	e.current.Store(newRun(p, before))
	close(before.over)
}

// run is one run. Its counters are those of the requests to /.
type run struct {
	plan    load.Plan
	over    chan struct{} // closed when the next run begins
	reached chan struct{} // closed at the expected request
	pid     atomic.Int64  // of the client; 0: not known yet

	arrived atomic.Int64
	noted   atomic.Int64 // of those that arrived
	repeats atomic.Int64
	missing atomic.Int64   // numbers that have not arrived
	late    []atomic.Int64 // nanoseconds, by order of arrival; of expected requests
	seen    []atomic.Int64 // by number: first arrival, in nanoseconds since the epoch
	retried []atomic.Int64 // the same of the second one; of a plan with Retry

	mu      sync.Mutex
	first   edge
	middle  edge
	last    edge
	headers []string
	problem string
}

// edge is the moment of the first or the last expected request.
type edge struct {
	at  time.Time
	cpu time.Duration // of the client by then
}

// newRun makes a run; before is the one that it may continue.
func newRun(p load.Plan, before *run) *run {
	r := &run{plan: p, over: make(chan struct{}), reached: make(chan struct{})}
	if p.Due {
		r.late = make([]atomic.Int64, p.Expected)
	}
	r.seen = make([]atomic.Int64, p.Numbered)
	if p.Retry > 0 {
		r.retried = make([]atomic.Int64, p.Numbered)
	}
	r.missing.Store(int64(p.Numbered))
	if p.Continue {
		r.know(before)
	}
	return r
}

// know takes the numbers over that arrived before.
func (r *run) know(before *run) {
	for i := range min(len(r.seen), len(before.seen)) {
		if at := before.seen[i].Load(); at != 0 {
			r.seen[i].Store(at)
			r.missing.Add(-1)
		}
	}
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
	ctx.SetStatusCode(r.plan.Status)
	if r.plan.Retry > 0 {
		r.retry(ctx, now)
		return
	}
	if r.note(n, now, ctx.Request.Body()) {
		r.end(now)
	}
	r.answer(ctx)
}

// retry refuses the first request with a number, and notes the second.
func (r *run) retry(ctx *fasthttp.RequestCtx, now time.Time) {
	number := load.Number(ctx.Request.Body())
	switch {
	case number < 0 || number >= int64(len(r.seen)):
	case r.seen[number].CompareAndSwap(0, now.UnixNano()):
		ctx.SetStatusCode(fasthttp.StatusServiceUnavailable)
	case !r.retried[number].CompareAndSwap(0, now.UnixNano()):
		r.repeats.Add(1)
	case r.missing.Add(-1) == 0:
		r.end(now)
	}
}

// note measures request n, the first being 1, and reports whether the run is over.
func (r *run) note(n int, now time.Time, value []byte) (over bool) {
	number := int64(-1)
	if r.plan.Due || len(r.seen) > 0 {
		number = load.Number(value)
	}
	if r.plan.Due && n <= len(r.late) {
		r.late[n-1].Store(now.UnixNano() - number)
	}
	if !r.plan.Due && number >= 0 && number < int64(len(r.seen)) {
		over = r.arrive(number, now)
	}
	noted := int(r.noted.Add(1))
	if noted == r.plan.Middle {
		r.halve(now)
	}
	return noted == r.plan.Expected && !r.plan.Continue || over && r.plan.Continue
}

// arrive notes a number, and reports whether it was the last one that was missing.
func (r *run) arrive(number int64, now time.Time) bool {
	if !r.seen[number].CompareAndSwap(0, now.UnixNano()) {
		r.repeats.Add(1)
		return false
	}
	return r.missing.Add(-1) == 0
}

func (r *run) answer(ctx *fasthttp.RequestCtx) {
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

func (r *run) halve(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.middle = r.edge(now)
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
