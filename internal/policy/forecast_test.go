package policy

import (
	"math"
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

// drawShortSchedule has budgets and lifetimes that cut into it. Half of a delay is
// none, or much more than the rounding.
func drawShortSchedule(t *rapid.T) Schedule {
	step := rapid.Custom(func(t *rapid.T) Step {
		return Step{
			Delay:  drawDuration(t, 0, time.Minute, "delay").Truncate(100 * time.Millisecond),
			Jitter: rapid.SampledFrom([]float64{0, 0.2, 1}).Draw(t, "jitter"),
		}
	})
	s := Schedule{Steps: rapid.SliceOfN(step, 0, MaxSteps).Draw(t, "steps"), LimitedAttempts: math.MaxInt}
	longest := max(defaultBudget(s.Steps, time.Minute), time.Second)
	s.Budget = drawDuration(t, 1, longest, "budget")
	s.Lifetime = drawDuration(t, 1, 2*longest, "lifetime")
	return s
}

// attempted is one attempt of a walk: when it began and what came of it.
type attempted struct {
	began time.Duration // since the first failure
	Decision
}

// failAll walks a record through a schedule from a step on; every attempt fails after
// up to timeout, and none begins late. The last decision is the dead letter's.
func failAll(t *rapid.T, s Schedule, from int, timeout time.Duration) []attempted {
	var walk []attempted
	state := record.State{Attempt: from}
	o := Outcome{Class: ClassTransient}
	uniform := rapid.OneOf(rapid.Just(0.0), rapid.Just(math.Nextafter(1, 0)), rapid.Float64Range(0, math.Nextafter(1, 0)))
	taken := rapid.OneOf(rapid.Just(int64(0)), rapid.Just(int64(timeout)), rapid.Int64Range(0, int64(timeout)))
	for began, at := time.Duration(0), now; ; {
		d := Decide(s, state, o, at, uniform.Draw(t, "uniform"))
		walk = append(walk, attempted{began, d})
		if d.Action != ActionForward {
			return walk
		}
		state = Advance(state, o, d, "loans.retry", at)
		began = d.NotBefore.Sub(now)
		at = d.NotBefore.Add(time.Duration(taken.Draw(t, "duration")))
	}
}

func TestEveryWalkLiesInItsForecast(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawShortSchedule(t)
		from := rapid.IntRange(0, min(1, len(s.Steps))).Draw(t, "from")
		timeout := drawDuration(t, 0, time.Minute, "timeout")
		foreseen, end := s.Forecast(from, timeout)
		last := time.Duration(0)
		for i, a := range failAll(t, s, from, timeout) {
			f := foreseen[i]
			if a.began < f.Earliest-rounding || a.began > f.Latest+rounding {
				t.Fatalf("attempt %d began after %v: %+v", from+i+1, a.began, f)
			}
			last = max(last, a.began)
		}
		if last > end+rounding {
			t.Fatalf("the walk ends after %v, want %v", last, end)
		}
	})
}

// TestMarksOfAForecastAreTheOnlyOnes: what is not marked does not happen, save
// within the rounding of times: limits a little narrower and wider have a say too.
func TestMarksOfAForecastAreTheOnlyOnes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawShortSchedule(t)
		from := rapid.IntRange(0, min(1, len(s.Steps))).Draw(t, "from")
		timeout := drawDuration(t, 0, time.Minute, "timeout")
		marked := func(i int, mark func(Foreseen) bool) bool {
			for _, slack := range []time.Duration{-2 * rounding, -rounding, 0, rounding} {
				other := s
				other.Budget += slack
				other.Lifetime += slack
				if foreseen, _ := other.Forecast(from, timeout); mark(foreseen[i]) {
					return true
				}
			}
			return false
		}
		for i, a := range failAll(t, s, from, timeout) {
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
