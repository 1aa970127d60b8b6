package main

import (
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/valyala/fasthttp"

	"github.com/retryd/retryd/bench/load"
)

// started returns an endpoint with a run whose client is this process.
func started(p load.Plan) *endpoint {
	e := newEndpoint()
	begin(e, p)
	return e
}

func begin(e *endpoint, p load.Plan) {
	e.begin(p)
	e.current.Load().pid.Store(int64(os.Getpid()))
}

// send lets the endpoint answer one request to /, and returns the status.
func send(e *endpoint, value []byte) int {
	var ctx fasthttp.RequestCtx
	ctx.Request.SetRequestURI("/")
	ctx.Request.Header.Set("Idempotency-Key", "loan-7")
	ctx.Request.SetBody(value)
	e.serve(&ctx)
	return ctx.Response.StatusCode()
}

func numbered(n int64) []byte { return load.Value(n, 64) }

func TestRunIsOverAtTheExpectedRequest(t *testing.T) {
	e := started(load.Plan{Expected: 2, Status: 503})
	r := e.current.Load()
	if status := send(e, nil); status != 503 {
		t.Errorf("status %d, want 503", status)
	}
	select {
	case <-r.reached:
		t.Fatal("the run is over at the first of two requests")
	default:
	}
	send(e, nil)
	<-r.reached
	got := r.report()
	if got.Problem != "" || got.Arrived != 2 || got.First.After(got.Last) || !cmp.Equal(got.Headers, []string{"Idempotency-Key"}) {
		t.Errorf("report %+v", got)
	}
}

func TestTimeCountsAfterTheWarmup(t *testing.T) {
	e := started(load.Plan{Expected: 3, Warmup: 1, Status: 200})
	r := e.current.Load()
	send(e, nil)
	if got := r.report(); !got.First.IsZero() {
		t.Errorf("time counts from %v on, want it to wait for the warm-up", got.First)
	}
	send(e, nil)
	if got := r.report(); got.First.IsZero() {
		t.Error("time does not count after the warm-up")
	}
	send(e, nil)
	<-r.reached
	if got := r.report(); got.Counted() != 1 {
		t.Errorf("%d requests count, want the last one alone: the one before begins the time", got.Counted())
	}
}

func TestRequestBeforeItsClientIsKnownIsAProblem(t *testing.T) {
	e := newEndpoint()
	e.begin(load.Plan{Expected: 1, Status: 200})
	send(e, nil)
	if got := e.current.Load().report(); got.Problem == "" {
		t.Error("the report says nothing of it")
	}
}

func TestLatenessIsFromDueToArrival(t *testing.T) {
	e := started(load.Plan{Expected: 3, Status: 200, Due: true})
	now := time.Now()
	for _, due := range []time.Time{now.Add(-time.Minute), now.Add(time.Hour), now.Add(-time.Hour)} {
		send(e, numbered(due.UnixNano()))
	}
	got := e.current.Load().report()
	if got.Early != 1 || len(got.Late) != 3 || got.Late[0] > 0 || got.Late[1] < time.Minute || got.Late[2] < time.Hour {
		t.Errorf("%d early, lateness %v; want 1 early, then more than a minute and an hour", got.Early, got.Late)
	}
}

func TestRepeatsAreCountedAcrossRuns(t *testing.T) {
	e := started(load.Plan{Expected: 3, Status: 200, Numbered: 4})
	for _, n := range []int64{0, 1, 1} {
		send(e, numbered(n))
	}
	if got := e.current.Load().report(); got.Repeats != 1 || got.Distinct != 2 || got.LastSecond != 2 {
		t.Errorf("%d repeats of %d numbers, %d in the last second; want 1 of 2, both", got.Repeats, got.Distinct, got.LastSecond)
	}
	begin(e, load.Plan{Status: 200, Numbered: 4, Continue: true})
	r := e.current.Load()
	for _, n := range []int64{0, 2, 3} {
		send(e, numbered(n))
	}
	<-r.reached // every number has arrived
	if got := r.report(); got.Repeats != 1 || got.Distinct != 4 {
		t.Errorf("%d repeats of %d numbers, want 1 of 4", got.Repeats, got.Distinct)
	}
}

func TestWhatIsStuckIsAnsweredWhenTheNextRunBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := started(load.Plan{Status: 200, Stuck: true})
		answered := make(chan struct{})
		go func() {
			send(e, numbered(0))
			close(answered)
		}()
		send(e, numbered(1)) // is not held up
		synctest.Wait()
		select {
		case <-answered:
			t.Error("number 0 was answered")
		default:
		}
		e.begin(load.Plan{Status: 200})
		<-answered
	})
}
