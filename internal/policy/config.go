package policy

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// maxDelay bounds one delay. With a jitter of 1 a wait can be twice as long, and a
// not-before of more than 366 days ahead counts as malformed where it is read.
const maxDelay = 182 * 24 * time.Hour

// Config is the schedule part of a relay's configuration.
type Config struct {
	Tiers       Tiers         `mapstructure:"tiers"`
	Backoff     Backoff       `mapstructure:"backoff"`      // generates the tiers; excludes Tiers
	Park        []Park        `mapstructure:"park"`         // topics for longer waits, in any order
	Jitter      float64       `mapstructure:"jitter"`       // symmetric share of the delay, 0 to 1
	Budget      time.Duration `mapstructure:"budget"`       // 0: sum of delays × (1 + jitter) + N × endpoint.timeout
	Lifetime    time.Duration `mapstructure:"lifetime"`     // from the first failure, absolute
	ExpireAfter time.Duration `mapstructure:"expire_after"` // from the record's own timestamp; 0 is never

	InPlace       InPlace `mapstructure:"in_place"`
	OnExhausted   string  `mapstructure:"on_exhausted"`   // dead_letter, or repeat_last: the last tier again, without an end
	MaxUnfinished int     `mapstructure:"max_unfinished"` // with repeat_last: of a partition of the last tier, 1 to 1,000,000
	MaxReplays    int     `mapstructure:"max_replays"`    // a record that was replayed so often ends at its next failure; 0 to 1000
}

// Tiers is the configured list of tiers, or "auto", which makes them from the
// budget. A nil List is a missing one, which is an error; an empty one means that
// a failed record goes straight to the dead-letter topic.
type Tiers struct {
	Auto bool
	List []Tier
}

// Tier is one configured tier: a duration, or a mapping.
type Tier struct {
	Delay  time.Duration `mapstructure:"delay"`
	Topic  string        `mapstructure:"topic"`  // default <prefix>.retry.<i>
	Jitter *float64      `mapstructure:"jitter"` // default the relay's
}

// Backoff generates tiers: delay n is min(Max, Base × Factor^n). Attempts counts
// main's, so there are Attempts - 1 tiers.
type Backoff struct {
	Base     time.Duration `mapstructure:"base"`
	Factor   float64       `mapstructure:"factor"`
	Max      time.Duration `mapstructure:"max"`
	Attempts int           `mapstructure:"attempts"`
}

// DefaultConfig returns the defaults of all keys that have one; the tiers have
// none.
func DefaultConfig() Config {
	return Config{
		Jitter: 0.2, Lifetime: 72 * time.Hour,
		InPlace:     InPlace{Attempts: 1, Delay: 200 * time.Millisecond},
		OnExhausted: onExhaustedDeadLetter, MaxReplays: 10,
	}
}

// Topic returns the name of a tier's topic: the configured one, else
// <prefix>.retry.<step>. step is 1-based.
func (t Tiers) Topic(prefix string, step int) string {
	if step >= 1 && step <= len(t.List) && t.List[step-1].Topic != "" {
		return t.List[step-1].Topic
	}
	return prefix + ".retry." + strconv.Itoa(step)
}

// Schedule returns the schedule that c describes. timeout is that of one attempt
// and serves the default budget; limited is how many failures of class unknown a
// record may have. The errors are all that is wrong with c, each beginning with
// its key path relative to the relay; the schedule is zero if there are any.
func (c Config) Schedule(timeout time.Duration, limited int) (Schedule, []error) {
	steps, errs := c.steps()
	if errs = append(errs, c.validate(steps)...); len(errs) > 0 {
		return Schedule{}, errs
	}
	s := Schedule{
		Steps:           steps,
		Park:            c.parkDelays(),
		Budget:          c.Budget,
		Lifetime:        c.Lifetime,
		ExpireAfter:     c.ExpireAfter,
		LimitedAttempts: limited,
		InPlace:         c.InPlace,
		MaxReplays:      c.MaxReplays,
		RepeatLast:      c.OnExhausted == onExhaustedRepeatLast,
		MaxUnfinished:   c.MaxUnfinished,
	}
	if s.RepeatLast {
		s.Budget, s.Lifetime = math.MaxInt64, math.MaxInt64
		return s, nil
	}
	if s.Budget == 0 {
		s.Budget = defaultBudget(steps, timeout)
	}
	return s, nil
}

// validate reports what is wrong with the keys that are not about single tiers. steps is
// nil if the tiers are wrong.
func (c Config) validate(steps []Step) []error {
	errs := append(c.checkPark(), checkJitter("jitter", c.Jitter)...)
	switch {
	case c.Budget < 0:
		errs = append(errs, fmt.Errorf("budget: %v is negative; leave it out for the sum of the waits and timeouts", c.Budget))
	case c.Budget > 0 && len(steps) > 0 && c.Budget < steps[0].Delay/2:
		errs = append(errs, fmt.Errorf("budget: %v is less than half of the first delay (%v), so no record would ever be retried; set at least %v",
			c.Budget, steps[0].Delay, steps[0].Delay/2))
	}
	if c.Lifetime <= 0 {
		errs = append(errs, fmt.Errorf("lifetime: %v is not positive; the default is %v", c.Lifetime, DefaultConfig().Lifetime))
	}
	if c.ExpireAfter < 0 {
		errs = append(errs, fmt.Errorf("expire_after: %v is negative; 0s means never", c.ExpireAfter))
	}
	return append(append(errs, c.InPlace.validate()...), c.checkEnd(steps)...)
}

// defaultBudget is what a record needs that waits the longest in every tier and
// times out in every attempt. It stops at the longest Duration.
func defaultBudget(steps []Step, timeout time.Duration) time.Duration {
	total := float64(len(steps)) * float64(timeout)
	for _, s := range steps {
		total += float64(s.Delay) * (1 + s.Jitter)
	}
	if total >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(math.Round(total))
}

func checkJitter(key string, j float64) []error {
	if j >= 0 && j <= 1 { // false for NaN
		return nil
	}
	return []error{fmt.Errorf("%s: %v is outside 0 to 1; it is the share of the delay that a wait may be shorter or longer", key, j)}
}

func checkDelay(key string, d time.Duration) []error {
	switch {
	case d < 0:
		return []error{fmt.Errorf("%s: %v is negative; 0s means at once", key, d)}
	case d > maxDelay:
		return []error{fmt.Errorf("%s: %v is too long; a delay is at most %v (182 days)", key, d, maxDelay)}
	}
	return nil
}

func checkCount(key string, tiers int) []error {
	if tiers <= MaxSteps {
		return nil
	}
	return []error{fmt.Errorf("%s: %d tiers are too many; a schedule has at most %d", key, tiers, MaxSteps)}
}
