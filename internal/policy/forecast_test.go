package policy

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/retryd/retryd/internal/record"
)

func TestForecast(t *testing.T) {
	const s, m = time.Second, time.Minute
	tests := []struct {
		name    string
		change  func(*Schedule)
		from    int
		timeout time.Duration
		want    []Foreseen
		end     time.Duration
	}{
		{
			name: "no tiers", change: func(s *Schedule) { s.Steps = nil }, timeout: 10 * s,
			want: []Foreseen{{}},
		},
		{
			name:   "waits and timeouts add up",
			change: func(c *Schedule) { c.Steps, c.Budget = []Step{{5 * s, 0.2}, {30 * s, 0.1}}, 10*m }, timeout: 10 * s,
			want: []Foreseen{
				{},
				{Step: 1, Shortest: 4 * s, Longest: 6 * s, Earliest: 4 * s, Latest: 6 * s},
				{Step: 2, Shortest: 27 * s, Longest: 33 * s, Earliest: 31 * s, Latest: 49 * s},
			},
			end: 59 * s,
		},
		{
			name: "the budget always shortens the last wait", timeout: 0,
			change: func(c *Schedule) { c.Budget = 50 * s },
			want: []Foreseen{
				{},
				{Step: 1, Shortest: 10 * s, Longest: 10 * s, Earliest: 10 * s, Latest: 10 * s},
				{Step: 2, Shortest: 20 * s, Longest: 20 * s, Earliest: 30 * s, Latest: 30 * s},
				{Step: 3, Shortest: 40 * s, Longest: 40 * s, Earliest: 50 * s, Latest: 50 * s, Shortened: true},
			},
			end: 50 * s,
		},
		{
			name: "the budget may shorten and may forbid", timeout: 10 * s,
			change: func(c *Schedule) { c.Budget = 60 * s },
			want: []Foreseen{
				{},
				{Step: 1, Shortest: 10 * s, Longest: 10 * s, Earliest: 10 * s, Latest: 10 * s},
				{Step: 2, Shortest: 20 * s, Longest: 20 * s, Earliest: 30 * s, Latest: 40 * s},
				{Step: 3, Shortest: 40 * s, Longest: 40 * s, Earliest: 60 * s, Latest: 60 * s, Shortened: true, Budget: true},
			},
			end: 70 * s,
		},
		{
			name: "what the budget never allows", timeout: 0,
			change: func(c *Schedule) { c.Budget = 45 * s },
			want: []Foreseen{
				{},
				{Step: 1, Shortest: 10 * s, Longest: 10 * s, Earliest: 10 * s, Latest: 10 * s},
				{Step: 2, Shortest: 20 * s, Longest: 20 * s, Earliest: 30 * s, Latest: 30 * s},
				{Step: 3, Shortest: 40 * s, Longest: 40 * s, Budget: true, Never: true},
			},
			end: 30 * s,
		},
		{
			name: "a lifetime that a slow endpoint reaches", timeout: 10 * s,
			change: func(c *Schedule) { c.Budget, c.Lifetime = time.Hour, 45*s },
			want: []Foreseen{
				{},
				{Step: 1, Shortest: 10 * s, Longest: 10 * s, Earliest: 10 * s, Latest: 10 * s},
				{Step: 2, Shortest: 20 * s, Longest: 20 * s, Earliest: 30 * s, Latest: 40 * s},
				{Step: 3, Shortest: 40 * s, Longest: 40 * s, Earliest: 70 * s, Latest: 85*s - 1, Lifetime: true},
			},
			end: 95*s - 1,
		},
		{
			name: "nothing behind what is never reached", timeout: 0,
			change: func(c *Schedule) { c.Lifetime, c.Steps[2] = 10*s, Step{s, 0} },
			want: []Foreseen{
				{},
				{Step: 1, Shortest: 10 * s, Longest: 10 * s, Earliest: 10 * s, Latest: 10 * s},
				{Step: 2, Shortest: 20 * s, Longest: 20 * s, Lifetime: true, Never: true},
				{Step: 3, Shortest: s, Longest: s, Never: true},
			},
			end: 10 * s,
		},
		{
			name: "a short wait behind one that the budget never allows", timeout: 0,
			change: func(c *Schedule) { c.Budget, c.Steps = 20*s, []Step{{10 * s, 0}, {40 * s, 0}, {s, 0}} },
			want: []Foreseen{
				{},
				{Step: 1, Shortest: 10 * s, Longest: 10 * s, Earliest: 10 * s, Latest: 10 * s},
				{Step: 2, Shortest: 40 * s, Longest: 40 * s, Budget: true, Never: true},
				{Step: 3, Shortest: s, Longest: s, Never: true},
			},
			end: 10 * s,
		},
		{
			name: "the last attempt is not the latest end", timeout: 0,
			change: func(c *Schedule) {
				c.Budget, c.Lifetime, c.Steps = time.Hour, 50*s, []Step{{100 * s, 1}, {10 * s, 0}}
			},
			want: []Foreseen{
				{},
				{Step: 1, Shortest: 0, Longest: 200 * s, Earliest: 0, Latest: 200 * s},
				{Step: 2, Shortest: 10 * s, Longest: 10 * s, Earliest: 10 * s, Latest: 60*s - 1, Lifetime: true},
			},
			end: 200 * s,
		},
		{
			name: "what is always too old when it is due", timeout: 10 * s,
			change: func(c *Schedule) { c.Budget, c.ExpireAfter = time.Hour, 30*s },
			want: []Foreseen{
				{},
				{Step: 1, Shortest: 10 * s, Longest: 10 * s, Earliest: 10 * s, Latest: 10 * s},
				{Step: 2, Shortest: 20 * s, Longest: 20 * s, Expiry: true, Never: true},
				{Step: 3, Shortest: 40 * s, Longest: 40 * s, Never: true},
			},
			end: 40 * s,
		},
		{
			name: "what is too old after a slow answer", timeout: 10 * s,
			change: func(c *Schedule) { c.Budget, c.ExpireAfter = time.Hour, 35*s },
			want: []Foreseen{
				{},
				{Step: 1, Shortest: 10 * s, Longest: 10 * s, Earliest: 10 * s, Latest: 10 * s},
				{Step: 2, Shortest: 20 * s, Longest: 20 * s, Earliest: 30 * s, Latest: 35*s - 1, Expiry: true},
				{Step: 3, Shortest: 40 * s, Longest: 40 * s, Expiry: true, Never: true},
			},
			end: 85*s - 1,
		},
		{
			name: "what is too old after a slow first answer", timeout: 10 * s,
			change: func(c *Schedule) { c.Budget, c.ExpireAfter, c.Steps = time.Hour, 20*s, c.Steps[:1] },
			want: []Foreseen{
				{},
				{Step: 1, Shortest: 10 * s, Longest: 10 * s, Earliest: 10 * s, Latest: 10 * s, Expiry: true},
			},
			end: 20 * s,
		},
		{
			name: "what is never too old", timeout: 10 * s,
			change: func(c *Schedule) { c.Budget, c.ExpireAfter, c.Steps = time.Hour, 20*s+1, c.Steps[:1] },
			want: []Foreseen{
				{},
				{Step: 1, Shortest: 10 * s, Longest: 10 * s, Earliest: 10 * s, Latest: 10 * s},
			},
			end: 20 * s,
		},
		{
			name: "what the budget never allows does not expire", timeout: 0,
			change: func(c *Schedule) { c.Budget, c.ExpireAfter = 45*s, 40*s },
			want: []Foreseen{
				{},
				{Step: 1, Shortest: 10 * s, Longest: 10 * s, Earliest: 10 * s, Latest: 10 * s},
				{Step: 2, Shortest: 20 * s, Longest: 20 * s, Earliest: 30 * s, Latest: 30 * s},
				{Step: 3, Shortest: 40 * s, Longest: 40 * s, Budget: true, Never: true},
			},
			end: 30 * s,
		},
		{
			name: "records that expire behind the tier in which they come", from: 1, timeout: 0,
			change: func(c *Schedule) { c.ExpireAfter = 30 * s },
			want: []Foreseen{
				{Step: 1, Shortest: 10 * s, Longest: 10 * s},
				{Step: 2, Shortest: 20 * s, Longest: 20 * s, Expiry: true, Never: true},
				{Step: 3, Shortest: 40 * s, Longest: 40 * s, Never: true},
			},
			end: 20 * s,
		},
		{
			name: "records that expire in the tier in which they come", from: 1, timeout: 10 * s,
			change: func(c *Schedule) { c.ExpireAfter = 10 * s },
			want: []Foreseen{
				{Step: 1, Shortest: 10 * s, Longest: 10 * s, Expiry: true, Never: true},
				{Step: 2, Shortest: 20 * s, Longest: 20 * s, Never: true},
				{Step: 3, Shortest: 40 * s, Longest: 40 * s, Never: true},
			},
		},
		{
			name: "records that come in the first tier", from: 1, timeout: 10 * s,
			change: func(c *Schedule) { c.Steps, c.Budget = []Step{{5 * s, 0.2}, {30 * s, 0.1}, {60 * s, 0}}, 60*s },
			want: []Foreseen{
				{Step: 1, Shortest: 5 * s, Longest: 5 * s},
				{Step: 2, Shortest: 27 * s, Longest: 33 * s, Earliest: 27 * s, Latest: 33 * s},
				{Step: 3, Shortest: 60 * s, Longest: 60 * s, Earliest: 60 * s, Latest: 60 * s, Shortened: true, Budget: true},
			},
			end: 70 * s,
		},
		{
			name: "records that come in the last tier", from: 3, timeout: 10 * s,
			want: []Foreseen{{Step: 3, Shortest: 40 * s, Longest: 40 * s}},
		},
		{
			name: "records that come in a tier that is not there", from: 1, timeout: 10 * s,
			change: func(c *Schedule) { c.Steps = nil },
		},
		{
			name: "durations that no clock holds", timeout: math.MaxInt64,
			change: func(c *Schedule) { c.Steps, c.Budget = []Step{{maxDelay, 0}, {0, 0}}, math.MaxInt64 },
			want: []Foreseen{
				{},
				{Step: 1, Shortest: maxDelay, Longest: maxDelay, Earliest: maxDelay, Latest: maxDelay},
				{Step: 2, Lifetime: true, Never: true},
			},
			end: math.MaxInt64,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := schedule()
			if tt.change != nil {
				tt.change(&c)
			}
			got, end := c.Forecast(tt.from, tt.timeout)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("forecast (-want +got):\n%s", diff)
			}
			if end != tt.end {
				t.Errorf("end %v, want %v", end, tt.end)
			}
		})
	}
}

// rounding is more than what the milliseconds of headers add to a whole walk.
const rounding = (MaxSteps + 2) * time.Millisecond

// drawShortSchedule may have a budget, a lifetime and an expiry that cut into it. Half of a
// delay is much more than the rounding, and each wait without chance a whole number of
// milliseconds.
func drawShortSchedule(t *rapid.T) Schedule {
	step := rapid.Custom(func(t *rapid.T) Step {
		return Step{
			Delay:  drawDuration(t, 100*time.Millisecond, time.Minute, "delay").Truncate(100 * time.Millisecond),
			Jitter: rapid.SampledFrom([]float64{0, 0.25, 1}).Draw(t, "jitter"),
		}
	})
	s := Schedule{Steps: rapid.SliceOfN(step, 0, MaxSteps).Draw(t, "steps"), LimitedAttempts: math.MaxInt}
	longest := max(defaultBudget(s.Steps, time.Minute), time.Second)
	s.Budget, s.Lifetime = longest, 2*longest
	if rapid.Bool().Draw(t, "has a budget") {
		s.Budget = drawDuration(t, 1, longest, "budget")
	}
	if rapid.Bool().Draw(t, "has a lifetime") {
		s.Lifetime = drawDuration(t, 1, 2*longest, "lifetime")
	}
	if rapid.Bool().Draw(t, "expires") {
		s.ExpireAfter = drawDuration(t, 3*rounding, longest, "expire after")
	}
	return s
}

// attempted is one attempt of a walk: when it began and what came of it. The record
// may have expired before.
type attempted struct {
	began time.Duration // since the first failure; less than 0 is the first attempt
	Decision
}

// chance returns what the jitter draws for a wait, and how long the next attempt takes.
type chance struct {
	uniform func() float64
	taken   func() time.Duration
}

// drawChance has attempts of up to timeout.
func drawChance(t *rapid.T, timeout time.Duration) chance {
	uniform := rapid.OneOf(rapid.Just(0.0), rapid.Just(math.Nextafter(1, 0)), rapid.Float64Range(0, math.Nextafter(1, 0)))
	taken := rapid.OneOf(rapid.Just(int64(0)), rapid.Just(int64(timeout)), rapid.Int64Range(0, int64(timeout)))
	return chance{
		uniform: func() float64 { return uniform.Draw(t, "uniform") },
		taken:   func() time.Duration { return time.Duration(taken.Draw(t, "duration")) },
	}
}

// failAll walks a record through a schedule from a step on; every attempt fails, the
// first one at a time, and none begins late. The last decision is the dead letter's.
func failAll(s Schedule, from int, first time.Time, c chance) []attempted {
	var walk []attempted
	state := record.State{Attempt: from}
	o := Outcome{Verdict: VerdictOf(ClassTransient)}
	at := first
	begin := at.Add(-c.taken())
	written := begin
	if from > 0 {
		written = begin.Add(-s.Steps[from-1].Delay)
	}
	for {
		if Expired(s, written, begin) {
			return append(walk, attempted{begin.Sub(first), Decision{Action: ActionDeadLetter, Reason: ReasonExpired}})
		}
		d := Decide(s, state, o, at, c.uniform())
		walk = append(walk, attempted{begin.Sub(first), d})
		if d.Action != ActionForward {
			return walk
		}
		state = Advance(state, o, d, "loans.retry", at)
		begin = d.NotBefore
		at = begin.Add(c.taken())
	}
}

func TestEveryWalkLiesInItsForecast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawShortSchedule(t)
		from := rapid.IntRange(0, min(1, len(s.Steps))).Draw(t, "from")
		timeout := drawDuration(t, 0, time.Minute, "timeout")
		foreseen, end := s.Forecast(from, timeout)
		last := time.Duration(0)
		for i, a := range failAll(s, from, now, drawChance(t, timeout)) {
			f := foreseen[i]
			if i > 0 && a.Reason != ReasonExpired && (a.began < f.Earliest-rounding || a.began > f.Latest+rounding) {
				t.Fatalf("attempt %d began after %v: %+v", from+i+1, a.began, f)
			}
			last = max(last, a.began)
		}
		if last > end+rounding {
			t.Fatalf("the walk ends after %v, want %v", last, end)
		}
	})
}

// alike returns a schedule with each of its limits a little narrower and wider.
func alike(s Schedule) []Schedule {
	schedules := []Schedule{s}
	vary := func(limit func(*Schedule) *time.Duration) {
		var varied []Schedule
		for _, s := range schedules {
			for _, slack := range []time.Duration{-2 * rounding, -rounding, 0, rounding} {
				other := s
				*limit(&other) += slack
				varied = append(varied, other)
			}
		}
		schedules = varied
	}
	vary(func(s *Schedule) *time.Duration { return &s.Budget })
	vary(func(s *Schedule) *time.Duration { return &s.Lifetime })
	if s.ExpireAfter > 0 {
		vary(func(s *Schedule) *time.Duration { return &s.ExpireAfter })
	}
	return schedules
}

// TestTheShortestWalkComesAsFarAsForeseen: if any walk makes an attempt, the one with
// the shortest waits and answers at once does. In whole milliseconds nothing is rounded.
func TestTheShortestWalkComesAsFarAsForeseen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawShortSchedule(t)
		from := rapid.IntRange(0, min(1, len(s.Steps))).Draw(t, "from")
		for _, limit := range []*time.Duration{&s.Budget, &s.Lifetime, &s.ExpireAfter} {
			*limit = limit.Round(time.Millisecond)
		}
		foreseen, _ := s.Forecast(from, drawDuration(t, 0, time.Minute, "timeout"))
		walk := failAll(s, from, milli(now), chance{func() float64 { return 0 }, func() time.Duration { return 0 }})
		made := slices.DeleteFunc(walk, func(a attempted) bool { return a.Reason == ReasonExpired })
		want := slices.DeleteFunc(foreseen, func(f Foreseen) bool { return f.Never })
		if len(made) != len(want) {
			t.Fatalf("%d attempts are made, %d foreseen", len(made), len(want))
		}
		for i, a := range made {
			if a.began != want[i].Earliest {
				t.Fatalf("attempt %d began after %v, want %v", from+i+1, a.began, want[i].Earliest)
			}
		}
	})
}

// TestMarksOfAForecastAreTheOnlyOnes: what is not marked does not happen, save
// within the rounding of times: schedules that are alike have a say too.
func TestMarksOfAForecastAreTheOnlyOnes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawShortSchedule(t)
		from := rapid.IntRange(0, min(1, len(s.Steps))).Draw(t, "from")
		timeout := drawDuration(t, 0, time.Minute, "timeout")
		marked := func(i int, mark func(Foreseen) bool) bool {
			for _, similar := range alike(s) {
				if foreseen, _ := similar.Forecast(from, timeout); mark(foreseen[i]) {
					return true
				}
			}
			return false
		}
		for i, a := range failAll(s, from, now, drawChance(t, timeout)) {
			if a.Reason == ReasonExpired {
				if !marked(i, func(f Foreseen) bool { return f.Expiry || f.Never }) {
					t.Fatalf("attempt %d is too late", from+i+1)
				}
				return
			}
			if !marked(i, func(f Foreseen) bool { return !f.Never }) {
				t.Fatalf("attempt %d is made", from+i+1)
			}
			switch {
			case a.Reason == ReasonBudget && !marked(i+1, func(f Foreseen) bool { return f.Budget || f.Never }),
				a.Reason == ReasonLifetime && !marked(i+1, func(f Foreseen) bool { return f.Lifetime || f.Never }):
				t.Fatalf("attempt %d is forbidden: %s", from+i+2, a.Reason)
			case a.Action == ActionForward && a.Delay < s.Steps[from+i].wait(0) && !marked(i+1, func(f Foreseen) bool { return f.Shortened || f.Never }):
				t.Fatalf("the wait of attempt %d is shortened to %v", from+i+2, a.Delay)
			}
		}
	})
}
