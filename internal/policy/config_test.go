package policy

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const timeout = 10 * time.Second

func list(delays ...time.Duration) Tiers {
	tiers := make([]Tier, len(delays))
	for i, d := range delays {
		tiers[i].Delay = d
	}
	return Tiers{List: tiers}
}

// config returns the defaults with a change.
func config(change func(*Config)) Config {
	c := DefaultConfig()
	c.Tiers = list(5*time.Second, 30*time.Second, 5*time.Minute)
	change(&c)
	return c
}

func backoff(base time.Duration, factor float64, limit time.Duration, attempts int) func(*Config) {
	return func(c *Config) {
		c.Tiers = Tiers{}
		c.Backoff = Backoff{Base: base, Factor: factor, Max: limit, Attempts: attempts}
	}
}

func auto(budget time.Duration) func(*Config) {
	return func(c *Config) { c.Tiers, c.Budget = Tiers{Auto: true}, budget }
}

func TestScheduleMakesSteps(t *testing.T) {
	exact := 0.0
	tests := []struct {
		name   string
		change func(*Config)
		steps  []Step
		budget time.Duration
	}{
		{
			name:   "list",
			change: func(*Config) {},
			steps:  []Step{{5 * time.Second, 0.2}, {30 * time.Second, 0.2}, {5 * time.Minute, 0.2}},
			budget: 6*time.Second + 36*time.Second + 6*time.Minute + 3*timeout,
		},
		{
			name: "list with a tier's own jitter and a budget",
			change: func(c *Config) {
				c.Budget = 10 * time.Minute
				c.Tiers.List[1].Jitter = &exact
			},
			steps:  []Step{{5 * time.Second, 0.2}, {30 * time.Second, 0}, {5 * time.Minute, 0.2}},
			budget: 10 * time.Minute,
		},
		{
			name:   "default budget uses each tier's jitter",
			change: func(c *Config) { c.Tiers.List[2].Jitter = &exact },
			steps:  []Step{{5 * time.Second, 0.2}, {30 * time.Second, 0.2}, {5 * time.Minute, 0}},
			budget: 6*time.Second + 36*time.Second + 5*time.Minute + 3*timeout,
		},
		{
			name:   "no tiers",
			change: func(c *Config) { c.Tiers = list() },
			steps:  []Step{},
		},
		{
			name:   "delays of zero",
			change: func(c *Config) { c.Tiers = list(0, 0) },
			steps:  []Step{{0, 0.2}, {0, 0.2}},
			budget: 2 * timeout,
		},
		{
			name:   "backoff",
			change: backoff(time.Second, 2, 5*time.Second, 6),
			steps: []Step{
				{time.Second, 0.2}, {2 * time.Second, 0.2}, {4 * time.Second, 0.2}, {5 * time.Second, 0.2}, {5 * time.Second, 0.2},
			},
			budget: 17*time.Second*12/10 + 5*timeout,
		},
		{
			name:   "backoff with a fraction as factor",
			change: backoff(time.Second, 1.7, time.Hour, 4),
			steps:  []Step{{time.Second, 0.2}, {1700 * time.Millisecond, 0.2}, {2890 * time.Millisecond, 0.2}},
			budget: 5590*time.Millisecond*12/10 + 3*timeout,
		},
		{
			name:   "backoff whose product overflows",
			change: backoff(time.Second, math.MaxFloat64, time.Hour, 4),
			steps:  []Step{{time.Second, 0.2}, {time.Hour, 0.2}, {time.Hour, 0.2}},
			budget: (2*time.Hour+time.Second)*12/10 + 3*timeout,
		},
		{
			name:   "backoff with one attempt has no tiers",
			change: backoff(time.Second, 2, time.Minute, 1),
			steps:  []Step{},
		},
		{
			name:   "auto",
			change: auto(5 * time.Minute),
			steps:  []Step{{5 * time.Second, 0.2}, {30 * time.Second, 0.2}, {4*time.Minute + 25*time.Second, 0.2}},
			budget: 5 * time.Minute,
		},
		{
			name:   "auto with the least budget",
			change: auto(65 * time.Second),
			steps:  []Step{{5 * time.Second, 0.2}, {30 * time.Second, 0.2}, {30 * time.Second, 0.2}},
			budget: 65 * time.Second,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, errs := config(tt.change).Schedule(timeout, 3)
			if len(errs) > 0 {
				t.Fatalf("errors %v", errs)
			}
			want := Schedule{
				Steps: tt.steps, Budget: tt.budget, Lifetime: 72 * time.Hour, LimitedAttempts: 3,
				InPlace: InPlace{Attempts: 1, Delay: 200 * time.Millisecond}, MaxReplays: 10,
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("schedule (-want +got):\n%s", diff)
			}
		})
	}
}

func TestScheduleAcceptsTheLimits(t *testing.T) {
	zero, one := 0.0, 1.0
	for name, change := range map[string]func(*Config){
		"14 tiers":           func(c *Config) { c.Tiers = list(make([]time.Duration, MaxSteps)...) },
		"15 attempts":        backoff(time.Second, 1, time.Second, MaxSteps+1),
		"jitter of 0 and 1":  func(c *Config) { c.Jitter, c.Tiers.List[0].Jitter = zero, &one },
		"half a first delay": func(c *Config) { c.Budget = 2500 * time.Millisecond },
		"longest delay":      func(c *Config) { c.Tiers = list(maxDelay) },
	} {
		t.Run(name, func(t *testing.T) {
			if _, errs := config(change).Schedule(timeout, 3); len(errs) > 0 {
				t.Errorf("errors %v", errs)
			}
		})
	}
}

func TestScheduleReportsWhatIsWrong(t *testing.T) {
	tooMuch := 1.5
	tests := []struct {
		name   string
		change func(*Config)
		want   []string
	}{
		{
			name:   "no tiers key",
			change: func(c *Config) { c.Tiers = Tiers{} },
			want:   []string{"tiers: missing; list the delays (tiers: [5s, 30s, 5m]), generate them with backoff, or write tiers: [] to dead-letter a record at its first failure"},
		},
		{
			name:   "tiers and backoff",
			change: func(c *Config) { c.Backoff.Base = time.Second },
			want:   []string{"tiers: excludes backoff, which generates them; keep one of the two"},
		},
		{
			name:   "auto and backoff",
			change: func(c *Config) { c.Tiers, c.Backoff.Attempts = Tiers{Auto: true}, 3 },
			want:   []string{"tiers: excludes backoff, which generates them; keep one of the two"},
		},
		{
			name:   "too many tiers",
			change: func(c *Config) { c.Tiers = list(make([]time.Duration, 15)...) },
			want:   []string{"tiers: 15 tiers are too many; a schedule has at most 14"},
		},
		{
			name:   "negative delay",
			change: func(c *Config) { c.Tiers.List[1].Delay = -time.Second },
			want:   []string{"tiers[1].delay: -1s is negative; 0s means at once"},
		},
		{
			name:   "too long a delay",
			change: func(c *Config) { c.Tiers.List[2].Delay = 200 * 24 * time.Hour },
			want:   []string{"tiers[2].delay: 4800h0m0s is too long; a delay is at most 4368h0m0s (182 days)"},
		},
		{
			name:   "jitter of a tier",
			change: func(c *Config) { c.Tiers.List[1].Jitter = &tooMuch },
			want:   []string{"tiers[1].jitter: 1.5 is outside 0 to 1; it is the share of the delay that a wait may be shorter or longer"},
		},
		{
			name:   "jitter that is no number",
			change: func(c *Config) { c.Jitter = math.NaN() },
			want:   []string{"jitter: NaN is outside 0 to 1; it is the share of the delay that a wait may be shorter or longer"},
		},
		{
			name:   "empty backoff values",
			change: backoff(0, 0, 0, -1),
			want: []string{
				"backoff.base: missing: give the first delay",
				"backoff.factor: missing: give a number of at least 1; 1 makes all delays equal",
				"backoff.max: missing: give the longest delay",
				"backoff.attempts: -1 is less than 1; it counts the attempt on the main topic",
			},
		},
		{
			name:   "backoff without attempts",
			change: backoff(-time.Second, .5, time.Second, 0),
			want: []string{
				"backoff.base: -1s is not positive; it is the first delay",
				"backoff.factor: 0.5 is no number of at least 1; 1 makes all delays equal",
				"backoff.attempts: missing: give the number of attempts; the one on the main topic counts",
			},
		},
		{
			name:   "backoff out of range",
			change: backoff(time.Second, math.Inf(1), 200*24*time.Hour, 2_000_000_000),
			want: []string{
				"backoff.factor: +Inf is no number of at least 1; 1 makes all delays equal",
				"backoff.max: 4800h0m0s is too long; a delay is at most 4368h0m0s (182 days)",
				"backoff.attempts: 1999999999 tiers are too many; a schedule has at most 14",
			},
		},
		{
			name:   "backoff whose max is below its base",
			change: backoff(time.Minute, 2, time.Second, 3),
			want:   []string{"backoff.max: 1s is less than the first delay (base: 1m0s); it is the longest delay"},
		},
		{
			name:   "auto without a budget",
			change: auto(0),
			want:   []string{"tiers: auto makes the tiers from the budget; set budget to at least 1m5s"},
		},
		{
			name:   "auto with too short a budget",
			change: auto(64 * time.Second),
			want:   []string{"budget: 1m4s is too short for tiers: auto; set at least 1m5s"},
		},
		{
			name:   "auto with too long a budget",
			change: auto(maxDelay + time.Minute),
			want:   []string{"budget: 4368h1m0s is too long for tiers: auto, whose last delay would be 4368h0m25s; a delay is at most 4368h0m0s (182 days)"},
		},
		{
			name:   "auto with a negative budget",
			change: auto(-time.Second),
			want:   []string{"budget: -1s is negative; leave it out for the sum of the waits and timeouts"},
		},
		{
			name:   "budget that allows no retry",
			change: func(c *Config) { c.Budget = 2 * time.Second },
			want:   []string{"budget: 2s is less than half of the first delay (5s), so no record would ever be retried; set at least 2.5s"},
		},
		{
			name: "everything at once",
			change: func(c *Config) {
				c.Tiers = list(-time.Second)
				c.Jitter, c.Budget, c.Lifetime, c.ExpireAfter = -0.1, -time.Second, 0, -time.Second
			},
			want: []string{
				"tiers[0].delay: -1s is negative; 0s means at once",
				"jitter: -0.1 is outside 0 to 1; it is the share of the delay that a wait may be shorter or longer",
				"budget: -1s is negative; leave it out for the sum of the waits and timeouts",
				"lifetime: 0s is not positive; the default is 72h0m0s",
				"expire_after: -1s is negative; 0s means never",
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, errs := config(tt.change).Schedule(timeout, 3)
			var got []string
			for _, err := range errs {
				got = append(got, err.Error())
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(Schedule{}, s); diff != "" {
				t.Errorf("a schedule came with the errors:\n%s", diff)
			}
		})
	}
}

func TestDefaultBudgetStopsAtTheLongestDuration(t *testing.T) {
	c := config(func(*Config) {})
	s, errs := c.Schedule(math.MaxInt64, 3)
	if len(errs) > 0 || s.Budget != math.MaxInt64 {
		t.Errorf("budget %v, errors %v", s.Budget, errs)
	}
}

func TestTierTopicIsConfiguredOrNamedByStep(t *testing.T) {
	tiers := list(time.Second, time.Minute)
	tiers.List[1].Topic = "slow"
	got := []string{tiers.Topic("loans", 1), tiers.Topic("loans", 2), tiers.Topic("loans", 3), Tiers{Auto: true}.Topic("loans", 1)}
	want := []string{"loans.retry.1", "slow", "loans.retry.3", "loans.retry.1"}
	if !slices.Equal(got, want) {
		t.Errorf("topics %q, want %q", got, want)
	}
}
