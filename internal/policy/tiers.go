package policy

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// The tiers that auto begins with, and the least that it leaves for the last one:
// a tier that is shorter than its predecessor would be no step forward.
const (
	autoFirst  = 5 * time.Second
	autoSecond = 30 * time.Second
	autoLeast  = autoFirst + autoSecond + autoSecond
)

// errNoTiers asks for a decision: no tiers may be meant, but is never assumed.
var errNoTiers = errors.New("tiers: missing; list the delays (tiers: [5s, 30s, 5m]), generate them with backoff, or write tiers: [] to dead-letter a record at its first failure")

// steps makes the tiers from whichever of the three ways c uses.
func (c Config) steps() ([]Step, []error) {
	generated := c.Backoff != Backoff{}
	listed := c.Tiers.Auto || c.Tiers.List != nil
	switch {
	case generated && listed:
		return nil, []error{errors.New("tiers: excludes backoff, which generates them; keep one of the two")}
	case generated:
		return c.Backoff.steps(c.Jitter)
	case c.Tiers.Auto && c.OnExhausted == onExhaustedRepeatLast: // reported as a contradiction
		return nil, nil
	case c.Tiers.Auto:
		return autoSteps(c.Budget, c.Jitter)
	case listed:
		return listSteps(c.Tiers.List, c.Jitter)
	}
	return nil, []error{errNoTiers}
}

func listSteps(tiers []Tier, jitter float64) ([]Step, []error) {
	errs := checkCount("tiers", len(tiers))
	steps := make([]Step, 0, len(tiers))
	for i, t := range tiers {
		key := fmt.Sprintf("tiers[%d]", i)
		step := Step{Delay: t.Delay, Jitter: jitter}
		errs = append(errs, checkDelay(key+".delay", t.Delay)...)
		if t.Jitter != nil {
			step.Jitter = *t.Jitter
			errs = append(errs, checkJitter(key+".jitter", step.Jitter)...)
		}
		steps = append(steps, step)
	}
	return steps, errs
}

// autoSteps spends the whole budget on the waits, so the last one is usually
// shortened by what the attempts took.
func autoSteps(budget time.Duration, jitter float64) ([]Step, []error) {
	switch {
	case budget == 0:
		return nil, []error{fmt.Errorf("tiers: auto makes the tiers from the budget; set budget to at least %v", autoLeast)}
	case budget < 0: // reported as a negative budget
		return nil, nil
	case budget < autoLeast:
		return nil, []error{fmt.Errorf("budget: %v is too short for tiers: auto; set at least %v", budget, autoLeast)}
	}
	rest := budget - autoFirst - autoSecond
	if rest > maxDelay {
		return nil, []error{fmt.Errorf("budget: %v is too long for tiers: auto, whose last delay would be %v; a delay is at most %v (182 days)", budget, rest, maxDelay)}
	}
	return []Step{{autoFirst, jitter}, {autoSecond, jitter}, {rest, jitter}}, nil
}

func (b Backoff) steps(jitter float64) ([]Step, []error) {
	if errs := b.validate(); len(errs) > 0 {
		return nil, errs
	}
	steps := make([]Step, b.Attempts-1)
	for n := range steps {
		steps[n] = Step{Delay: b.delay(n), Jitter: jitter}
	}
	return steps, nil
}

func (b Backoff) validate() []error {
	var errs []error
	switch {
	case b.Base == 0:
		errs = append(errs, errors.New("backoff.base: missing: give the first delay"))
	case b.Base < 0:
		errs = append(errs, fmt.Errorf("backoff.base: %v is not positive; it is the first delay", b.Base))
	}
	switch {
	case b.Factor == 0:
		errs = append(errs, errors.New("backoff.factor: missing: give a number of at least 1; 1 makes all delays equal"))
	case !(b.Factor >= 1) || math.IsInf(b.Factor, 1): // the negation catches NaN
		errs = append(errs, fmt.Errorf("backoff.factor: %v is no number of at least 1; 1 makes all delays equal", b.Factor))
	}
	switch {
	case b.Max == 0:
		errs = append(errs, errors.New("backoff.max: missing: give the longest delay"))
	case b.Max < b.Base:
		errs = append(errs, fmt.Errorf("backoff.max: %v is less than the first delay (base: %v); it is the longest delay", b.Max, b.Base))
	default:
		errs = append(errs, checkDelay("backoff.max", b.Max)...)
	}
	switch {
	case b.Attempts == 0:
		errs = append(errs, errors.New("backoff.attempts: missing: give the number of attempts; the one on the main topic counts"))
	case b.Attempts < 0:
		errs = append(errs, fmt.Errorf("backoff.attempts: %d is less than 1; it counts the attempt on the main topic", b.Attempts))
	}
	return append(errs, checkCount("backoff.attempts", b.Attempts-1)...)
}

// delay returns min(Max, Base × Factor^n). A product too large for a Duration, even
// an infinite one, is more than Max.
func (b Backoff) delay(n int) time.Duration {
	d := float64(b.Base) * math.Pow(b.Factor, float64(n))
	if d >= float64(b.Max) {
		return b.Max
	}
	return time.Duration(math.Round(d))
}
