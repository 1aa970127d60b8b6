package forward

import (
	"testing"
	"testing/synctest"
	"time"
)

// run starts attempts as soon as they may, for a minute: attempts of each lane take so
// long, and records of both always wait, or only of one. It returns how many started, and
// the most that were under way.
func runShares(g *gated, took [2]time.Duration, waits [2]bool) (started, most [2]int) {
	type end struct {
		at   time.Time
		pass Pass
	}
	var running []end
	for from := time.Now(); time.Since(from) < time.Minute; time.Sleep(time.Millisecond) {
		rest := running[:0]
		for _, e := range running {
			if time.Now().Before(e.at) {
				rest = append(rest, e)
				continue
			}
			g.Leave(e.pass, Call{Refusals: new(Refusals)}, &accepted, time.Now())
		}
		running = rest
		for {
			p, _, ok := g.TryEnter(time.Now(), waits)
			if !ok {
				break
			}
			started[p.Lane]++
			running = append(running, end{time.Now().Add(took[p.Lane]), p})
			most[p.Lane] = max(most[p.Lane], g.shares.inFlight[p.Lane])
		}
	}
	for _, e := range running {
		g.Leave(e.pass, Call{Refusals: new(Refusals)}, &accepted, time.Now())
	}
	return started, most
}

func TestMainAndRetriesShareTheCapacity(t *testing.T) {
	const fast, slow = 10 * time.Millisecond, 10 * time.Second
	limits := func(share float64, n int) func(*Config) {
		return func(c *Config) { c.RetryShare, c.MaxInFlight = share, n }
	}
	tests := []struct {
		name   string
		change func(*Config)
		took   [2]time.Duration
		waits  [2]bool
		most   [2]int
	}{
		{"half each", limits(0.5, 16), [2]time.Duration{fast, fast}, both, [2]int{8, 8}},
		{"retries that hang", limits(0.5, 16), [2]time.Duration{fast, slow}, both, [2]int{8, 8}},
		{"a main that hangs", limits(0.5, 16), [2]time.Duration{slow, fast}, both, [2]int{8, 8}},
		{"a quarter for retries", limits(0.25, 16), [2]time.Duration{fast, slow}, both, [2]int{12, 4}},
		{"hardly any for retries", limits(0.01, 16), [2]time.Duration{fast, fast}, both, [2]int{15, 1}},
		{"nearly all for retries", limits(0.99, 16), [2]time.Duration{fast, fast}, both, [2]int{1, 15}},
		{"two at a time", limits(0.9, 2), [2]time.Duration{fast, fast}, both, [2]int{1, 1}},
		{"main alone", limits(0.5, 16), [2]time.Duration{fast, fast}, [2]bool{true, false}, [2]int{16, 0}},
		{"retries alone", limits(0.5, 16), [2]time.Duration{fast, fast}, [2]bool{false, true}, [2]int{0, 16}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if _, most := runShares(newGated(t, tt.change), tt.took, tt.waits); most != tt.most {
					t.Errorf("most at a time %v (main, retries), want %v", most, tt.most)
				}
			})
		})
	}
}

func TestOneAttemptAtATimeTakesTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGated(t, func(c *Config) { c.MaxInFlight = 1; c.RetryShare = 0.25 })
		started, _ := runShares(g, [2]time.Duration{9 * time.Millisecond, 9 * time.Millisecond}, both)
		if n := started[LaneMain] + started[LaneRetry]; n < 6000 || started[LaneRetry] != n/4 {
			t.Errorf("started %v (main, retries), want a quarter of them to be retries", started)
		}
	})
}

func TestRateIsSharedAndKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGated(t, func(c *Config) { c.Rate = Rate{PerSecond: 100, Burst: 10} })
		started, _ := runShares(g, [2]time.Duration{time.Millisecond, time.Millisecond}, both)
		if n := started[LaneMain] + started[LaneRetry]; n < 5990 || n > 6010 {
			t.Errorf("%d attempts in a minute at 100 a second and a burst of 10", n)
		}
		if d := started[LaneMain] - started[LaneRetry]; d < -1 || d > 1 {
			t.Errorf("started %v (main, retries), want half each", started)
		}
	})
}

func TestRateSaysWhenToTryAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGated(t, func(c *Config) { c.Rate = Rate{PerSecond: 4, Burst: 1} })
		g.try(true, accepted)
		_, again, ok := g.TryEnter(time.Now(), both)
		if wait := time.Until(again); ok || wait != 250*time.Millisecond {
			t.Errorf("again in %s, want 250ms", wait)
		}
		time.Sleep(250 * time.Millisecond)
		g.try(true, accepted)
	})
}

func TestDeliveryComesBackAlongARamp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGated(t, func(c *Config) { c.MaxInFlight = 20; c.Rate = Rate{PerSecond: 1000} })
		g.first(5, unavailable)
		time.Sleep(time.Second)
		g.try(true, accepted)
		back := time.Now()
		for second := range 11 {
			before := time.Since(back)
			started, most := [2]int{}, 0
			for range 1000 {
				p, _, ok := g.TryEnter(time.Now(), both)
				if ok {
					started[p.Lane]++
					most = max(most, g.shares.total())
					g.Leave(p, Call{Refusals: new(Refusals)}, &accepted, time.Now())
				}
				time.Sleep(time.Millisecond)
			}
			share := min(1, (before+time.Second).Seconds()/10)
			if n := started[0] + started[1]; float64(n) > 1000*share+1 || float64(n) < 500*(share-0.1) {
				t.Errorf("second %d: %d attempts, want at most %v and not much less", second, n, 1000*share)
			}
		}
	})
}

func TestLowRateComesBackAlongARamp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGated(t, func(c *Config) { c.Rate.PerSecond = 1 })
		for range 5 {
			g.first(1, unavailable)
			time.Sleep(10 * time.Second)
		}
		g.try(true, accepted)
		back := time.Now()
		var starts []time.Duration
		for len(starts) < 6 {
			if p, again, ok := g.TryEnter(time.Now(), both); ok {
				starts = append(starts, time.Since(back))
				g.Leave(p, Call{Refusals: new(Refusals)}, &accepted, time.Now())
			} else {
				time.Sleep(time.Until(again))
			}
		}
		if second := starts[1]; second < 4*time.Second || second > 6*time.Second {
			t.Errorf("starts %v: the second is due after about 4.5 s, half way up", starts)
		}
		if late := starts[5] - starts[4]; late > 2*time.Second {
			t.Errorf("starts %v: one a second after the ramp", starts)
		}
	})
}

func TestAttemptsAtATimeGrowAlongARamp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGated(t, func(c *Config) { c.MaxInFlight = 20 })
		g.first(5, unavailable)
		time.Sleep(time.Second)
		g.try(true, accepted)
		back := time.Now()
		var held []Pass
		for len(held) < 20 {
			p, again, ok := g.TryEnter(time.Now(), both)
			if ok {
				held = append(held, p)
				if most := max(1, int(time.Since(back).Seconds()*2)); len(held) > most {
					t.Fatalf("%d attempts at a time after %s, want at most %d", len(held), time.Since(back), most)
				}
				continue
			}
			if again.IsZero() {
				t.Fatal("nobody says when the ramp allows more")
			}
			time.Sleep(time.Until(again))
		}
		if took := time.Since(back); took > 10*time.Second {
			t.Errorf("the full limit after %s, want it after the ramp of 10s", took)
		}
	})
}

// busy is an endpoint with room for so many at a time: what comes on top waits its turn.
type busy struct {
	free  []time.Time // when each place is
	queue []busyCall  // in the order in which they end
}

type busyCall struct {
	ends time.Time
	pass Pass
}

func (b *busy) call(p Pass, work time.Duration) {
	first := 0
	for i := range b.free {
		if b.free[i].Before(b.free[first]) {
			first = i
		}
	}
	begins := time.Now()
	if b.free[first].After(begins) {
		begins = b.free[first]
	}
	b.free[first] = begins.Add(work)
	b.queue = append(b.queue, busyCall{b.free[first], p})
}

func TestAdaptiveLimitFollowsTheLatency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newGated(t, func(c *Config) { c.MaxInFlight = 64; c.Adaptive = true })
		endpoint := busy{free: make([]time.Time, 8)}
		for from := time.Now(); time.Since(from) < 2*time.Minute; time.Sleep(time.Millisecond) {
			for len(endpoint.queue) > 0 && !time.Now().Before(endpoint.queue[0].ends) {
				g.Leave(endpoint.queue[0].pass, Call{Refusals: new(Refusals)}, &accepted, time.Now())
				endpoint.queue = endpoint.queue[1:]
			}
			for p, _, ok := g.TryEnter(time.Now(), both); ok; p, _, ok = g.TryEnter(time.Now(), both) {
				endpoint.call(p, 10*time.Millisecond)
			}
		}
		if limit, _ := g.Limiting(time.Now()); limit < 4 || limit > 32 {
			t.Errorf("the limit is %d at an endpoint with room for 8, want it well below 64", limit)
		}
	})
}
