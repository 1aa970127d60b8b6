package forward

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retryd/retryd/internal/policy"
)

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
			g.Leave(probe, Call{Refusals: new(Refusals)}, &unavailable, time.Now())
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
			g.Leave(p, Call{First: true, Refusals: new(Refusals)}, &unavailable, time.Now())
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

func TestEndpointThatCouldNotBeReachedIsBackWithAnAnswerAboutARecord(t *testing.T) {
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
		g.Leave(probe, Call{Refusals: new(Refusals)}, &accepted, time.Now())
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
				if r, _ := g.Leave(p, Call{Record: fmt.Sprint(g.made), Refusals: new(Refusals)}, &unavailable, time.Now()); r == Judge {
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
