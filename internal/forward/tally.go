package forward

import "time"

// slots is into how many parts the window of a tally is divided: what is older than it goes
// part by part.
const slots = 10

// tally counts calls over a window that rolls. Every call is one of it, so it costs next
// to nothing; the library's breaker, which would count too, is not told of them.
type tally struct {
	width time.Duration // of a slot
	begun time.Time
	slot  int64 // the present one, counted from begun
	calls [slots]struct{ all, failed int }
}

func newTally(window time.Duration, now time.Time) tally {
	return tally{width: max(window/slots, 1), begun: now}
}

// add counts a call.
func (t *tally) add(now time.Time, failed bool) {
	t.roll(now)
	c := &t.calls[t.slot%slots]
	c.all++
	if failed {
		c.failed++
	}
}

// roll empties the slots that have become too old.
func (t *tally) roll(now time.Time) {
	slot := int64(now.Sub(t.begun) / t.width)
	for n := min(slot-t.slot, slots); n > 0; n-- {
		t.slot = slot - n + 1
		t.calls[t.slot%slots] = struct{ all, failed int }{}
	}
}

// sum returns the calls of the window as it was when the last one was counted.
func (t *tally) sum() (all, failed int) {
	for _, c := range t.calls {
		all, failed = all+c.all, failed+c.failed
	}
	return all, failed
}

// clear forgets all of them.
func (t *tally) clear() { t.calls = [slots]struct{ all, failed int }{} }
