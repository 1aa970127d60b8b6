package forward

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

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
	r, _ := g.Leave(g.enter(), Call{Record: fmt.Sprint(g.made), First: first, Refusals: new(Refusals)}, &o)
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
	if g.state.Phase != policy.PhaseOpen || g.state.Cause != fault {
		g.t.Fatalf("state %+v, want the breaker open for %q", g.state, fault)
	}
}

func (g *gated) wantClosed() {
	g.t.Helper()
	if g.Open() {
		g.t.Fatalf("state %+v, want the breaker closed", g.states[len(g.states)-1])
	}
}

func TestBreakerOpens(t *testing.T) {
	tests := []struct {
		name  string
		drive func(*gated)
		want  policy.Fault // none: it stays closed
	}{
		{"first attempts of five records fail, an hour apart", func(g *gated) {
			for range 5 {
				g.first(1, unavailable)
				time.Sleep(time.Hour)
			}
		}, policy.FaultFailing},
		{"first attempts fail with 500", func(g *gated) { g.first(5, serverError) }, policy.FaultFailing},
		{"first attempts hang", func(g *gated) { g.first(5, hanging) }, policy.FaultFailing},
		{"four records fail", func(g *gated) { g.first(4, unavailable) }, policy.FaultNone},
		{"a success in between", func(g *gated) { g.first(4, unavailable); g.first(1, accepted); g.first(4, unavailable) }, policy.FaultNone},
		{"the success of a retry in between", func(g *gated) { g.first(4, unavailable); g.later(1, accepted); g.first(4, unavailable) }, policy.FaultNone},
		{"later attempts fail", func(g *gated) { g.later(1000, unavailable) }, policy.FaultNone},
		{"later attempts hang", func(g *gated) { g.later(1000, hanging) }, policy.FaultNone},
		{"later attempts are refused", func(g *gated) { g.later(5, refused) }, policy.FaultUnreachable},
		{"later attempts between first ones do not break the row", func(g *gated) {
			for range 5 {
				g.first(1, unavailable)
				g.later(3, serverError)
			}
		}, policy.FaultFailing},
		{"one record fails again and again", func(g *gated) {
			for range 19 {
				g.Leave(g.enter(), Call{Record: "a", First: true, Refusals: new(Refusals)}, &unavailable)
			}
		}, policy.FaultNone},
		{"half of twenty calls within ten seconds fail", func(g *gated) {
			for range 10 {
				g.first(1, unavailable)
				g.later(1, accepted)
			}
			g.first(1, unavailable)
		}, policy.FaultFailing},
		{"half of twenty calls fail over a longer time", func(g *gated) {
			for range 20 {
				g.first(1, unavailable)
				g.later(1, accepted)
				time.Sleep(1500 * time.Millisecond)
			}
		}, policy.FaultNone},
		{"a third of the calls fail", func(g *gated) {
			for range 20 {
				g.first(1, unavailable)
				g.first(2, accepted)
			}
		}, policy.FaultNone},
		{"one answer about the endpoint", func(g *gated) { g.later(1, unauthorized) }, policy.FaultEndpoint},
		{"404 before anything was accepted", func(g *gated) { g.first(1, notFound) }, policy.FaultEndpoint},
		{"404 while others are accepted", func(g *gated) { g.first(1, accepted); g.first(19, notFound) }, policy.FaultNone},
		{"404 when nothing was accepted for twenty calls", func(g *gated) { g.first(1, accepted); g.first(20, notFound) }, policy.FaultEndpoint},
		{"nineteen of twenty first attempts are rejected", func(g *gated) { g.first(1, accepted); g.first(19, invalid) }, policy.FaultRejecting},
		{"eighteen are", func(g *gated) { g.first(2, accepted); g.first(18, invalid); g.first(2, accepted); g.first(18, invalid) }, policy.FaultNone},
		{"retries are rejected", func(g *gated) { g.later(100, invalid) }, policy.FaultNone},
		{"all contradict", func(g *gated) { g.first(100, conflict) }, policy.FaultNone},
		{"answers that are called done break the row", func(g *gated) {
			for _, o := range []policy.Outcome{done(303), spoken(done(500)), done(409)} {
				g.first(4, unavailable)
				g.first(1, o)
			}
		}, policy.FaultNone},
		{"refused, whatever a rule makes of it", func(g *gated) { g.later(5, ruled(refused, policy.TreatDeadLetter)) }, policy.FaultUnreachable},
		{"refused, and called done", func(g *gated) { g.later(5, ruled(refused, policy.TreatDone)) }, policy.FaultUnreachable},
		{"the endpoint says itself what is to be done", func(g *gated) {
			g.first(30, spoken(unavailable))
			g.first(30, spoken(invalid))
		}, policy.FaultNone},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGated(t)
				tt.drive(g)
				if tt.want == policy.FaultNone {
					g.wantClosed()
					return
				}
				g.wantOpen(tt.want)
			})
		})
	}
}

func TestBreakerThatIsOffIsOpenedByAnswersAboutTheEndpointAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGated(t, func(c *Config) { c.Breaker.Enabled = false })
		g.first(100, unavailable)
		g.later(100, refused)
		g.first(100, invalid)
		g.wantClosed()
		g.first(1, unauthorized)
		g.wantOpen(policy.FaultEndpoint)
	})
}

func TestNothingIsJudgedWhileTheBreakerIsOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGated(t)
		call := Call{Record: "late", Refusals: new(Refusals)}
		late := []Pass{g.enter(), g.enter(), g.enter(), g.enter()}
		for i := range 5 {
			if want := [...]Ruling{Judge, Judge, Judge, Judge, Hold}[i]; g.try(true, unavailable) != want {
				t.Errorf("ruling of failure %d is not %d", i+1, want)
			}
		}
		for i, o := range []policy.Outcome{unavailable, invalid, unauthorized} {
			if r, _ := g.Leave(late[i], call, &o); r != Hold {
				t.Errorf("%s of before the opening: ruling %d, want it held", o.Error, r)
			}
		}
		if r, _ := g.Leave(late[3], call, &accepted); r != Judge {
			t.Errorf("an accepted record: ruling %d, want it done", r)
		}
		g.wantOpen(policy.FaultFailing)
		time.Sleep(time.Second)
		if r := g.try(false, serverError); r != Hold {
			t.Errorf("a probe that fails: ruling %d, want it held", r)
		}
		g.wantOpen(policy.FaultFailing)
	})
}

func TestProbesComeAloneAndEverMoreRarely(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGated(t)
		g.first(5, unavailable)
		for _, pause := range []int{1, 2, 4, 8, 16, 32, 60, 60} {
			_, again, ok := g.TryEnter(time.Now(), both)
			if wait := time.Until(again); ok || wait != time.Duration(pause)*time.Second {
				t.Fatalf("the next probe is due in %s, want %d s", wait, pause)
			}
			time.Sleep(time.Until(again))
			probe := g.enter()
			if _, again, ok := g.TryEnter(time.Now(), both); ok || !again.IsZero() {
				t.Fatal("a second attempt may start beside the probe")
			}
			g.Leave(probe, Call{Refusals: new(Refusals)}, &unavailable)
		}
		time.Sleep(time.Minute)
		if g.try(false, accepted) != Judge {
			t.Error("the accepted probe is not done")
		}
		g.wantClosed()
	})
}

func TestProbesPreferMainButTryRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGated(t)
		g.first(5, unavailable)
		var got []Lane
		for range 6 {
			time.Sleep(time.Minute)
			p := g.enter()
			got = append(got, p.Lane)
			g.Leave(p, Call{First: true, Refusals: new(Refusals)}, &unavailable)
		}
		if diff := cmp.Diff([]Lane{LaneMain, LaneMain, LaneRetry, LaneMain, LaneMain, LaneRetry}, got); diff != "" {
			t.Errorf("lanes of the probes (-want +got):\n%s", diff)
		}
		time.Sleep(time.Minute)
		if p, _, ok := g.TryEnter(time.Now(), [2]bool{LaneRetry: true}); !ok || p.Lane != LaneRetry {
			t.Error("no retry is tried although nothing else waits")
		}
	})
}

func TestEndpointThatCouldNotBeReachedIsBackWithAnyAnswerAboutARecord(t *testing.T) {
	for _, tt := range []struct {
		name   string
		first  bool
		o      policy.Outcome
		closes bool
	}{
		{"a later attempt fails", false, serverError, true},
		{"a record is rejected", true, invalid, true},
		{"a later attempt hangs", false, hanging, false},
		{"a later attempt is told that the service is unavailable", false, unavailable, false},
		{"a first attempt fails", true, serverError, false},
		{"still refused", false, refused, false},
		{"unauthorized", false, unauthorized, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGated(t)
				g.later(5, refused)
				time.Sleep(time.Second)
				if r := g.try(tt.first, tt.o); r != Hold {
					t.Errorf("ruling %d, want the probe held", r)
				}
				if g.Open() == tt.closes {
					t.Errorf("open %v", g.Open())
				}
			})
		})
	}
}

func TestEndpointThatFailedIsBackWithAnAnswerThatItHasThoughtAbout(t *testing.T) {
	for _, tt := range []struct {
		name   string
		o      policy.Outcome
		closes bool
	}{
		{"accepted", accepted, true},
		{"accepted by endpoint.success", done(303), true},
		{"rejected", invalid, true},
		{"a conflict", conflict, true},
		{"its own word", spoken(ruled(unavailable, policy.TreatRetry)), true},
		{"its own word, done", spoken(done(500)), true},
		{"a later attempt fails", serverError, false},
		{"asks for time", tooMany, false},
		{"refused", refused, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGated(t)
				g.first(5, unavailable)
				time.Sleep(time.Second)
				if r := g.try(false, tt.o); (r == Judge) != tt.o.Delivered() {
					t.Errorf("ruling %d", r)
				}
				if g.Open() == tt.closes {
					t.Errorf("open %v", g.Open())
				}
			})
		})
	}
}

func TestEndpointThatRejectsEverythingIsNotBackWithAnotherRejection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGated(t)
		g.first(19, invalid)
		time.Sleep(time.Second)
		g.try(true, invalid)
		g.wantOpen(policy.FaultRejecting)
	})
}

func TestPauseIsAsLongAsTheEndpointAsksForUpToTheLongest(t *testing.T) {
	for _, tt := range []struct{ asked, want time.Duration }{
		{0, time.Second}, {500 * time.Millisecond, time.Second}, {30 * time.Second, 30 * time.Second}, {time.Hour, time.Minute},
	} {
		synctest.Test(t, func(t *testing.T) {
			g := newGated(t)
			o := unavailable
			o.Wait = tt.asked
			g.first(5, o)
			if _, again, _ := g.TryEnter(time.Now(), both); time.Until(again) != tt.want {
				t.Errorf("asked for %s: a probe after %s, want %s", tt.asked, time.Until(again), tt.want)
			}
			time.Sleep(tt.want)
			g.try(true, o)
			if _, again, _ := g.TryEnter(time.Now(), both); time.Until(again) != max(tt.want, 2*time.Second) {
				t.Errorf("asked for %s: the next probe after %s", tt.asked, time.Until(again))
			}
		})
	}
}

func TestRecordIsToBlameThatGetsSuchAnswersWhileOthersAreAccepted(t *testing.T) {
	for _, tt := range []struct {
		o    policy.Outcome
		want []Ruling
	}{
		{unauthorized, []Ruling{Hold, Hold, Blame}},
		{notFound, []Ruling{Hold, Blame}},
	} {
		t.Run(tt.o.Error, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGated(t)
				g.first(1, accepted)
				call := Call{Record: "a", Refusals: new(Refusals)}
				for i, want := range tt.want {
					if r, _ := g.Leave(g.enter(), call, &tt.o); r != want {
						t.Errorf("answer %d: ruling %d, want %d", i+1, r, want)
					}
					if i == len(tt.want)-1 {
						break
					}
					time.Sleep(time.Minute)
					if g.Open() { // what proves nothing: the same again before another is accepted
						g.Leave(g.enter(), call, &tt.o)
						time.Sleep(time.Minute)
					} else if r, again := g.Leave(g.enter(), call, &tt.o); r != Hold || again != doubtPause {
						t.Errorf("again without another accepted: ruling %d for %s", r, again)
					}
					g.try(true, accepted)
				}
				g.wantClosed()
			})
		})
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
				g.Leave(late, Call{Refusals: new(Refusals)}, &tooMany) // says nothing new
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
		if r, _ := g.Leave(early, Call{First: true, Record: "a", Refusals: new(Refusals)}, &unavailable); r != Judge {
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

func TestCancelledProbeIsTheNextOnes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGated(t)
		g.first(5, unavailable)
		time.Sleep(time.Second)
		g.Cancel(g.enter())
		probe := g.enter()
		if g.Stale(probe) {
			t.Error("the probe's pass is stale")
		}
		g.Leave(probe, Call{Refusals: new(Refusals)}, &accepted)
		if !g.Stale(probe) {
			t.Error("a pass outlives the change")
		}
		g.wantClosed()
	})
}

func TestHealthDecidesWhereFailuresLeaveItOpen(t *testing.T) {
	withHealth := func(c *Config) { c.Health = "http://127.0.0.1/health" }
	synctest.Test(t, func(t *testing.T) {
		g := newGated(t, withHealth)
		g.later(5, unavailable) // only poison is left, perhaps
		g.wantOpen(policy.FaultFailing)
		time.Sleep(tick)
		ask := g.enter()
		if !ask.Health {
			t.Fatal("a record is tried, although health can be asked for")
		}
		g.LeaveHealth(ask, nil)
		g.wantClosed()
		if limit, _ := g.Limiting(time.Now()); limit != DefaultConfig().MaxInFlight {
			t.Errorf("limit %d after a false alarm, want no ramp", limit)
		}
		if g.Outages() != 0 {
			t.Errorf("%d outages after a false alarm", g.Outages())
		}
		g.later(100, unavailable) // poison: health is not asked for again at once
		g.first(100, unavailable)
		g.wantClosed()
		time.Sleep(time.Second)

		g.later(5, unavailable)
		for _, pause := range []int{0, 1, 2, 4} {
			_, again, _ := g.TryEnter(time.Now().Add(-1), both)
			if wait := time.Until(again); wait != time.Duration(pause)*time.Second {
				t.Fatalf("health is asked for after %s, want %d s", wait, pause)
			}
			time.Sleep(time.Until(again) + tick)
			g.LeaveHealth(g.enter(), fmt.Errorf("status 503"))
		}
		time.Sleep(time.Minute)
		g.LeaveHealth(g.enter(), nil)
		g.wantClosed()
		if limit, by := g.Limiting(time.Now()); limit != 1 {
			t.Errorf("limit %d (%s) after an outage, want a ramp", limit, by)
		}
		if g.Outages() != 1 {
			t.Errorf("%d outages, want one", g.Outages())
		}

		g.first(1, unauthorized) // of which health knows nothing
		time.Sleep(time.Second)
		if p := g.enter(); p.Health {
			t.Error("health is asked for although the credentials are wrong")
		}
	})
}

func TestPoisonWithHealthIsTriedAtNearlyFullRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGated(t, func(c *Config) { c.Health = "http://127.0.0.1/health" })
		judged, asked := 0, 0
		for range 10_000 {
			p, again, ok := g.TryEnter(time.Now(), both)
			switch {
			case !ok:
				time.Sleep(time.Until(again))
			case p.Health:
				asked++
				g.LeaveHealth(p, nil)
			default:
				g.made++
				if r, _ := g.Leave(p, Call{Record: fmt.Sprint(g.made), Refusals: new(Refusals)}, &unavailable); r == Judge {
					judged++
				}
				time.Sleep(10 * time.Millisecond)
			}
		}
		if asked > 110 || judged < 9500 {
			t.Errorf("%d of 10000 failures of poison were judged, health was asked for %d times in 100 s; want nearly all, and once a second", judged, asked)
		}
	})
}

func TestReachableEndpointIsBackThoughFirstAttemptsFailToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGated(t)
		g.later(5, refused)
		time.Sleep(time.Second)
		g.try(true, serverError) // poison, fresh
		g.wantOpen(policy.FaultFailing)
		time.Sleep(time.Minute)
		g.try(false, serverError)
		g.wantClosed()
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
		g.Leave(early, Call{Refusals: new(Refusals)}, &unauthorized)
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

func TestFailuresInARowCostNoMoreThanFive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGated(t, func(c *Config) { c.Breaker.Enabled = false })
		g.first(100, unavailable)
		if n := len(g.evidence.streak); n != maxStreak {
			t.Errorf("%d records are remembered, want %d", n, maxStreak)
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
		g.Leave(p, Call{Refusals: new(Refusals)}, &accepted)
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
		g.Leave(p, call, &accepted)
	}
}
