package policy

import (
	"errors"
	"fmt"
	"time"
)

// The values of on_exhausted: what follows a failure in the last step.
const (
	onExhaustedDeadLetter = "dead_letter"
	onExhaustedRepeatLast = "repeat_last"
)

const (
	leastRepeat   = time.Second // between two attempts of a record that repeats, but for the jitter
	maxUnfinished = 1_000_000   // of max_unfinished
	maxReplays    = 1000        // of max_replays
)

// Bound returns what becomes of d where it repeats the last step: a dead letter if more
// records of its partition are unfinished than may be. unfinished counts this one.
func (d Decision) Bound(s Schedule, unfinished int64, now time.Time) Decision {
	if d.Repeat && unfinished > int64(s.MaxUnfinished) {
		return deadLetter(ReasonExhausted, d.spent(), now)
	}
	return d
}

// checkEnd reports what is wrong with the keys that say how a walk ends.
func (c Config) checkEnd(steps []Step) []error {
	var errs []error
	if c.MaxReplays < 0 || c.MaxReplays > maxReplays {
		errs = append(errs, fmt.Errorf("max_replays: %d is outside 0 to %d", c.MaxReplays, maxReplays))
	}
	switch c.OnExhausted {
	case onExhaustedRepeatLast:
		return append(errs, c.checkEndless(steps)...)
	case onExhaustedDeadLetter:
		if c.MaxUnfinished != 0 {
			errs = append(errs, errors.New("max_unfinished: bounds on_exhausted: repeat_last and has no meaning without; remove it, or set that"))
		}
	default:
		errs = append(errs, fmt.Errorf("on_exhausted: %q is neither %s nor %s", c.OnExhausted, onExhaustedDeadLetter, onExhaustedRepeatLast))
	}
	return errs
}

// checkEndless reports what contradicts a walk without an end, which must say itself how
// many records may be on it.
func (c Config) checkEndless(steps []Step) []error {
	var errs []error
	switch {
	case c.MaxUnfinished == 0:
		errs = append(errs, fmt.Errorf("max_unfinished: missing: on_exhausted: repeat_last has no end; say at how many unfinished records of a partition of the last tier the next one that fails there is dead-lettered, 1 to %d", maxUnfinished))
	case c.MaxUnfinished < 0 || c.MaxUnfinished > maxUnfinished:
		errs = append(errs, fmt.Errorf("max_unfinished: %d is outside 1 to %d", c.MaxUnfinished, maxUnfinished))
	}
	switch {
	case c.Tiers.Auto:
		errs = append(errs, errors.New("tiers: auto makes the tiers from the budget, and on_exhausted: repeat_last has none; list the tiers and leave budget out (tiers: [5s, 30s, 5m])"))
	case c.Budget > 0:
		errs = append(errs, fmt.Errorf("budget: %v would end what on_exhausted: repeat_last repeats without an end; remove one of the two", c.Budget))
	}
	if standard := DefaultConfig().Lifetime; c.Lifetime > 0 && c.Lifetime != standard {
		errs = append(errs, fmt.Errorf("lifetime: %v would end what on_exhausted: repeat_last repeats without an end; remove one of the two", c.Lifetime))
	}
	return append(errs, c.checkRepeated(steps)...)
}

// checkRepeated looks at the step that is repeated. A wrong delay is reported elsewhere.
func (c Config) checkRepeated(steps []Step) []error {
	if steps == nil {
		return nil
	}
	last := len(steps) - 1
	if last < 0 {
		return []error{errors.New("on_exhausted: repeat_last has no last tier to repeat with tiers: []; add a tier, or use dead_letter")}
	}
	d := steps[last].Delay
	if d < 0 || d >= leastRepeat {
		return nil
	}
	key := fmt.Sprintf("tiers[%d].delay", last)
	if c.Tiers.List == nil {
		key = "the last delay of backoff"
	}
	return []error{fmt.Errorf("on_exhausted: repeat_last would attempt a failing record again after %v, without an end; raise %s to at least %v", d, key, leastRepeat)}
}
