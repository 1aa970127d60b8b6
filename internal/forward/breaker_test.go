package forward

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/retryd/retryd/internal/policy"
)

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
				g.Leave(g.enter(), Call{Record: "a", First: true, Refusals: new(Refusals)}, &unavailable, time.Now())
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
			if r, _ := g.Leave(late[i], call, &o, time.Now()); r != Hold {
				t.Errorf("%s of before the opening: ruling %d, want it held", o.Error, r)
			}
		}
		if r, _ := g.Leave(late[3], call, &accepted, time.Now()); r != Judge {
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

func TestEndpointThatRejectsEverythingIsNotBackWithAnotherRejection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGated(t)
		g.first(19, invalid)
		time.Sleep(time.Second)
		g.try(true, invalid)
		g.wantOpen(policy.FaultRejecting)
	})
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
					if r, _ := g.Leave(g.enter(), call, &tt.o, time.Now()); r != want {
						t.Errorf("answer %d: ruling %d, want %d", i+1, r, want)
					}
					if i == len(tt.want)-1 {
						break
					}
					time.Sleep(time.Minute)
					if g.Open() { // what proves nothing: the same again before another is accepted
						g.Leave(g.enter(), call, &tt.o, time.Now())
						time.Sleep(time.Minute)
					} else if r, again := g.Leave(g.enter(), call, &tt.o, time.Now()); r != Hold || again != doubtPause {
						t.Errorf("again without another accepted: ruling %d for %s", r, again)
					}
					g.try(true, accepted)
				}
				g.wantClosed()
			})
		})
	}
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
