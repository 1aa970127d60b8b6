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

func TestLatenessOfARetryIsFromItsFirstRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := started(load.Plan{Numbered: 2, Warmup: 1, Status: 200, Retry: 5 * time.Second})
		r := e.current.Load()
		for n := range int64(2) {
			if status := send(e, numbered(n)); status != 503 {
				t.Errorf("status %d of a first request, want 503", status)
			}
		}
		time.Sleep(4 * time.Second)
		send(e, numbered(0)) // early, but only warms up
		time.Sleep(3 * time.Second)
		if status := send(e, numbered(1)); status != 200 {
			t.Errorf("status %d of a second request, want 200", status)
		}
		<-r.reached
		got := r.report()
		if diff := cmp.Diff([]time.Duration{2 * time.Second}, got.Late); diff != "" || got.Early != 0 || got.Repeats != 0 {
			t.Errorf("%d early, %d repeats, lateness (-want +got):\n%s", got.Early, got.Repeats, diff)
		}
	})
}

func TestMiddleIsBetweenTheHalves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := started(load.Plan{Expected: 3, Middle: 2, Status: 200})
		for range 3 {
			time.Sleep(time.Second)
			send(e, nil)
		}
		r := e.current.Load().report()
		if cold, warm := r.Middle.Sub(r.First), r.Last.Sub(r.Middle); cold != time.Second || warm != time.Second {
			t.Errorf("%v to the middle, %v from there on; want 1 s each", cold, warm)
		}
	})
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
