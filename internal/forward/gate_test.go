package forward

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retryd/retryd/internal/policy"
)

// gateProbe is a gate with its start and the pauses that it announced.
type gateProbe struct {
	*Gate
	start  time.Time
	pauses []time.Duration // written with the gate locked, like cause
	cause  policy.Class    // of the last pause
}

func newGateProbe() *gateProbe {
	p := &gateProbe{start: time.Now()}
	p.Gate = NewGate(func(d time.Duration, cause policy.Class) {
		p.pauses = append(p.pauses, d)
		p.cause = cause
	})
	return p
}

// enter enters and requires success.
func (p *gateProbe) enter(t *testing.T) Pass {
	t.Helper()
	pass, err := p.Enter(t.Context())
	if err != nil {
		t.Fatalf("Enter: %v", err)
	}
	return pass
}

func (p *gateProbe) wantElapsed(t *testing.T, want time.Duration) {
	t.Helper()
	if got := time.Since(p.start); got != want {
		t.Fatalf("entered after %s, want %s", got, want)
	}
}

func (p *gateProbe) wantPauses(t *testing.T, want ...time.Duration) {
	t.Helper()
	if !slices.Equal(p.pauses, want) {
		t.Fatalf("announced %v, want %v", p.pauses, want)
	}
}

func TestGateClosesOnlyForOutcomesAboutTheEndpoint(t *testing.T) {
	for _, class := range append(policy.Classes(), policy.ClassNone) {
		t.Run(string(class), func(t *testing.T) {
			g := newGateProbe()
			g.Leave(g.enter(t), class)
			closes := class == policy.ClassEndpoint || class == policy.ClassThrottled
			if got := g.state(); got.Paused != closes || closes && g.cause != class {
				t.Errorf("after %q the state is %+v, the cause %q", class, got, g.cause)
			}
		})
	}
}

func TestGateDoublesItsPauseUpToAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateProbe()
		elapsed := time.Duration(0)
		for _, seconds := range []int{0, 1, 2, 4, 8, 16, 32, 60, 60} {
			elapsed += time.Duration(seconds) * time.Second
			pass := g.enter(t)
			g.wantElapsed(t, elapsed)
			g.Leave(pass, policy.ClassEndpoint)
		}
		if got, want := g.state().Until, g.start.Add(elapsed+time.Minute); !got.Equal(want) {
			t.Errorf("paused until %s, want %s", got, want)
		}
	})
}

func TestGateOpensAndStartsAgainAtASecond(t *testing.T) {
	for _, class := range []policy.Class{policy.ClassNone, policy.ClassTransient, policy.ClassInvalid, policy.ClassUnknown} {
		t.Run(string(class), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := newGateProbe()
				g.Leave(g.enter(t), policy.ClassEndpoint)
				g.Leave(g.enter(t), policy.ClassThrottled)
				g.Leave(g.enter(t), class)
				if got := g.state(); got != (gateState{}) {
					t.Errorf("state is %+v, want open", got)
				}
				first, second := g.enter(t), g.enter(t)
				g.wantElapsed(t, 3*time.Second)
				g.Leave(first, policy.ClassEndpoint)
				g.Leave(second, policy.ClassNone)
				g.wantPauses(t, time.Second, 2*time.Second, 0, time.Second)
			})
		})
	}
}

func TestGatePausesOnceForManyFailuresAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateProbe()
		var passes []Pass
		for range 16 {
			passes = append(passes, g.enter(t))
		}
		var workers sync.WaitGroup
		for _, pass := range passes {
			workers.Go(func() { g.Leave(pass, policy.ClassEndpoint) })
		}
		workers.Wait()
		g.wantPauses(t, time.Second)
		g.Leave(g.enter(t), policy.ClassNone)
		g.wantElapsed(t, time.Second)
	})
}

func TestGateLetsOneProbeThroughAndTheRestWaitForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateProbe()
		g.Leave(g.enter(t), policy.ClassEndpoint)
		entered := make(chan Pass, 16)
		for range 16 {
			go func() {
				pass, err := g.Enter(t.Context())
				if err != nil {
					t.Errorf("Enter: %v", err)
				}
				entered <- pass
			}()
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if len(entered) != 1 || !g.state().Probing {
			t.Fatalf("%d entered, state %+v; want the probe alone", len(entered), g.state())
		}
		g.Leave(<-entered, policy.ClassNone)
		synctest.Wait()
		if len(entered) != 15 {
			t.Errorf("%d entered after the probe, want 15", len(entered))
		}
	})
}

func TestGateIgnoresResultsFromBeforeTheLastChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateProbe()
		late := []Pass{g.enter(t), g.enter(t), g.enter(t)}
		g.Leave(g.enter(t), policy.ClassEndpoint)
		g.Leave(late[0], policy.ClassNone)     // does not open it
		g.Leave(late[1], policy.ClassEndpoint) // does not double the pause
		g.wantPauses(t, time.Second)

		probe := g.enter(t)
		g.Leave(probe, policy.ClassNone)
		g.Leave(late[2], policy.ClassEndpoint) // does not close it again
		g.Leave(probe, policy.ClassEndpoint)   // nor does a second result of one pass
		g.wantPauses(t, time.Second, 0)
	})
}

func TestGateCancelledProbeLetsTheNextOneIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateProbe()
		g.Cancel(g.enter(t)) // of an open gate: nothing
		g.Leave(g.enter(t), policy.ClassThrottled)
		first := g.enter(t)
		second := make(chan Pass)
		go func() {
			pass, _ := g.Enter(t.Context())
			second <- pass
		}()
		synctest.Wait()
		g.Cancel(first)
		pass := <-second
		g.wantElapsed(t, time.Second)
		g.Cancel(first) // again: it is no longer the probe
		if !g.state().Paused {
			t.Error("a cancelled probe opened the gate")
		}
		g.Leave(pass, policy.ClassThrottled)
		g.Cancel(pass)
		g.wantPauses(t, time.Second, 2*time.Second)
	})
}

func TestGatePassGoesStaleWithTheNextChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateProbe()
		early := g.enter(t)
		if g.Stale(early) {
			t.Error("a pass of the open gate is stale at once")
		}
		g.Leave(g.enter(t), policy.ClassEndpoint)
		probe := g.enter(t)
		if !g.Stale(early) || g.Stale(probe) {
			t.Errorf("paused: stale early pass %v, stale probe %v", g.Stale(early), g.Stale(probe))
		}
		g.Leave(probe, policy.ClassNone)
		if !g.Stale(early) || !g.Stale(probe) {
			t.Error("a pass outlives the opening")
		}
	})
}

func TestGateWaitEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateProbe()
		g.Leave(g.enter(t), policy.ClassEndpoint)
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		defer cancel()
		if _, err := g.Enter(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Enter while paused: %v, want the context's error", err)
		}
		g.wantElapsed(t, 300*time.Millisecond)

		g.enter(t) // the probe, which does not come back
		ctx, cancel = context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := g.Enter(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Enter during the probe: %v, want the context's error", err)
		}
	})
}

func TestGateOpenWithoutAllocation(t *testing.T) {
	g := newGateProbe()
	allocs := testing.AllocsPerRun(100, func() {
		pass, _ := g.Enter(context.Background())
		g.Leave(pass, policy.ClassTransient)
	})
	if allocs != 0 {
		t.Errorf("%v allocations to pass an open gate, want 0", allocs)
	}
}

// BenchmarkGateOpen is the way of every attempt through an open gate.
func BenchmarkGateOpen(b *testing.B) {
	g := newGateProbe()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			pass, _ := g.Enter(context.Background())
			g.Leave(pass, policy.ClassNone)
		}
	})
}

func TestGateChangeMakesEarlierPassesStale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGateProbe()
		waiting, failing := g.enter(t), g.enter(t)
		if g.Stale(waiting) {
			t.Error("a pass is stale although nothing changed")
		}
		g.Leave(failing, policy.ClassEndpoint)
		if !g.Stale(waiting) {
			t.Error("a pass of the open gate still counts while the endpoint is left alone")
		}
		time.Sleep(minPause)
		probe := g.enter(t)
		if g.Stale(probe) {
			t.Error("the probe's pass is stale")
		}
		g.Leave(probe, policy.ClassNone)
		if !g.Stale(waiting) {
			t.Error("a pass counts again after two changes")
		}
	})
}

// gateState is what can be seen of a gate.
type gateState struct {
	Paused  bool
	Until   time.Time // end of the pause; with Probing it has passed
	Probing bool      // one attempt finds out whether the endpoint is back
}

func (g *Gate) state() gateState {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !isClosed(g.generation.Load()) {
		return gateState{}
	}
	return gateState{Paused: true, Until: g.until, Probing: g.probing}
}
