package forward

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/retryd/retryd/internal/policy"
)

// What an endpoint may answer.
var (
	accepted     = policy.Outcome{Verdict: policy.VerdictOf(policy.ClassNone), Status: 200}
	unavailable  = policy.Outcome{Verdict: policy.VerdictOf(policy.ClassTransient), Kind: policy.KindStatus, Status: 503, Error: "status 503"}
	refused      = policy.Outcome{Verdict: policy.VerdictOf(policy.ClassTransient), Kind: policy.KindRefused, Unreached: true, Error: "refused"}
	hanging      = policy.Outcome{Verdict: policy.VerdictOf(policy.ClassTransient), Kind: policy.KindTimeout, Error: "no response within 10s"}
	serverError  = policy.Outcome{Verdict: policy.VerdictOf(policy.ClassUnknown), Kind: policy.KindStatus, Status: 500, Error: "status 500"}
	unauthorized = policy.Outcome{Verdict: policy.VerdictOf(policy.ClassEndpoint), Kind: policy.KindStatus, Status: 401, Error: "status 401"}
	invalid      = policy.Outcome{Verdict: policy.VerdictOf(policy.ClassInvalid), Kind: policy.KindStatus, Status: 422, Error: "status 422"}
	conflict     = policy.Outcome{Verdict: policy.VerdictOf(policy.ClassConflict), Kind: policy.KindStatus, Status: 409, Error: "status 409"}
	tooMany      = policy.Outcome{Verdict: policy.VerdictOf(policy.ClassThrottled), Kind: policy.KindStatus, Status: 429, Error: "status 429"}
	notFound     = doubtful(404)
)

func doubtful(status int) policy.Outcome {
	o := policy.Outcome{Verdict: policy.VerdictOf(policy.ClassEndpoint), Kind: policy.KindStatus, Status: status, Error: "status 404"}
	o.Doubtful = true
	return o
}

// done is an answer that some rule, or the endpoint, calls done.
func done(status int) policy.Outcome {
	return policy.Outcome{Verdict: policy.VerdictOf(policy.ClassNone), Status: status}
}

func ruled(o policy.Outcome, t policy.Treatment) policy.Outcome {
	o.Treatment = t
	return o
}

func spoken(o policy.Outcome) policy.Outcome {
	o.Spoken = true
	return o
}

// gated is a gate with a worker that never waits, in fake time.
type gated struct {
	*Gate
	t      *testing.T
	states []State // as they were announced
	woken  int
	made   int
}

func newGated(t *testing.T, changes ...func(*Config)) *gated {
	c := DefaultConfig()
	for _, change := range changes {
		change(&c)
	}
	g := &gated{t: t}
	g.Gate = NewGate(c, func(s State) { g.states = append(g.states, s) }, func() { g.woken++ })
	return g
}

var both = [2]bool{true, true}

// enter takes a pass that must be there now.
func (g *gated) enter() Pass {
	g.t.Helper()
	p, _, ok := g.TryEnter(time.Now(), both)
	if !ok {
		g.t.Fatalf("no attempt may start in state %+v", g.states)
	}
	return p
}

// try makes an attempt of the next record, its first or a later one.
func (g *gated) try(first bool, o policy.Outcome) Ruling {
	g.t.Helper()
	g.made++
	r, _ := g.Leave(g.enter(), Call{Record: fmt.Sprint(g.made), First: first, Refusals: new(Refusals)}, &o, time.Now())
	return r
}

// first and later make attempts with such an outcome, until the breaker opens.
func (g *gated) first(n int, o policy.Outcome) { g.t.Helper(); g.repeat(n, true, o) }
func (g *gated) later(n int, o policy.Outcome) { g.t.Helper(); g.repeat(n, false, o) }

func (g *gated) repeat(n int, first bool, o policy.Outcome) {
	g.t.Helper()
	for range n {
		if g.Open() {
			return
		}
		g.try(first, o)
	}
}

func (g *gated) wantOpen(fault policy.Fault) {
	g.t.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.state.Phase != policy.PhaseOpen || g.state.Cause != fault || g.breaker.State() == gobreaker.StateClosed {
		g.t.Fatalf("state %+v, want the breaker open for %q", g.state, fault)
	}
}

func (g *gated) wantClosed() {
	g.t.Helper()
	if g.Open() || g.breaker.State() != gobreaker.StateClosed {
		g.t.Fatalf("state %+v, want the breaker closed", g.states)
	}
}

func TestThrottledEndpointIsLeftAloneEverLonger(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGated(t)
		late := g.enter()
		for i, pause := range []int{1, 2, 4, 8, 16, 32, 60, 60} {
			if r := g.try(true, tooMany); r != Judge {
				t.Fatalf("ruling %d, want the record to be moved on", r)
			}
			if i == 0 {
				g.Leave(late, Call{Refusals: new(Refusals)}, &tooMany, time.Now()) // says nothing new
			}
			_, again, ok := g.TryEnter(time.Now(), both)
			if wait := time.Until(again); ok || wait != time.Duration(pause)*time.Second {
				t.Fatalf("left alone for %s, want %d s", wait, pause)
			}
			time.Sleep(time.Until(again))
		}
		g.wantClosed()
		g.try(true, accepted)
		if last := g.states[len(g.states)-1]; last.Paused() {
			t.Errorf("state %+v after an accepted record", last)
		}
		g.try(true, tooMany)
		if _, again, _ := g.TryEnter(time.Now(), both); time.Until(again) != time.Second {
			t.Errorf("the first pause after a success is %s", time.Until(again))
		}
	})
}

func TestHaltedGateLetsNothingStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGated(t)
		early := g.enter()
		g.Halt()
		if _, again, ok := g.TryEnter(time.Now(), both); ok || !again.IsZero() {
			t.Error("an attempt may start")
		}
		if r, _ := g.Leave(early, Call{First: true, Record: "a", Refusals: new(Refusals)}, &unavailable, time.Now()); r != Judge {
			t.Errorf("ruling %d, want what was under way judged", r)
		}
		g.TryEnter(time.Now(), both)
		woken := g.woken
		g.Resume(false)
		if g.woken != woken+1 {
			t.Error("nobody was told of the end")
		}
		g.try(true, accepted)
	})
}

func TestPauseOfA429IsShownNoLongerThanItLasts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGated(t)
		g.try(true, tooMany)
		g.Look(time.Now())
		if !g.states[len(g.states)-1].Paused() {
			t.Fatal("the pause is not shown")
		}
		time.Sleep(time.Second)
		g.Look(time.Now())
		if g.states[len(g.states)-1].Paused() {
			t.Error("a pause is shown that is over")
		}
		g.try(true, tooMany)
		if _, again, _ := g.TryEnter(time.Now(), both); time.Until(again) != 2*time.Second {
			t.Errorf("the pause after it is %s, want it doubled", time.Until(again))
		}
	})
}

func TestPauseOfA429OutlastsAnOpenBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGated(t, func(c *Config) { c.Breaker.Ramp = 0 })
		early := g.enter()
		for range 6 {
			g.try(true, tooMany)
			time.Sleep(time.Until(g.throttle.until))
		}
		g.try(true, tooMany) // a minute
		g.Leave(early, Call{Refusals: new(Refusals)}, &unauthorized, time.Now())
		g.wantOpen(policy.FaultEndpoint)
		if _, again, ok := g.TryEnter(time.Now().Add(time.Second), both); ok || time.Until(again) != time.Minute {
			t.Errorf("a probe after %s, want it after the minute that the endpoint has asked for", time.Until(again))
		}
	})
}

func TestDeliveryComesBackAlongARampAfterAHaltByHand(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, byHand := range []bool{false, true} {
			g := newGated(t)
			g.Halt()
			g.Resume(byHand)
			if limit, _ := g.Limiting(time.Now()); (limit == 1) != byHand {
				t.Errorf("by hand %v: limit %d", byHand, limit)
			}
		}
	})
}

func TestWhoIsRefusedIsWokenOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGated(t, func(c *Config) { c.MaxInFlight = 1 })
		p := g.enter()
		if _, _, ok := g.TryEnter(time.Now(), both); ok {
			t.Fatal("two attempts at a time")
		}
		g.Leave(p, Call{Refusals: new(Refusals)}, &accepted, time.Now())
		g.try(true, accepted)
		if g.woken != 1 {
			t.Errorf("woken %d times, want once: after the pass came back", g.woken)
		}
	})
}

// BenchmarkGate is the way of every attempt through a closed breaker.
func BenchmarkGate(b *testing.B) {
	g := NewGate(DefaultConfig(), func(State) {}, func() {})
	call := Call{Record: "a", First: true, Refusals: new(Refusals)}
	b.ReportAllocs()
	for b.Loop() {
		p, _, _ := g.TryEnter(time.Now(), both)
		g.Leave(p, call, &accepted, time.Now())
	}
}
