package tier

import (
	"time"

	"github.com/retryd/retryd/internal/window"
)

// What a claim holds, and when it may leave.

// hold keeps a job until it is due. The caller holds mu.
func (c *claim) hold(j *job) {
	if j.move != nil {
		c.unwritten.Push(j.due, j.record.Offset, j)
		return
	}
	c.window.Push(j.due, j.record.Offset, j)
}

// heaps are all that hold jobs.
func (c *claim) heaps() [3]*window.Heap[*job] {
	return [3]*window.Heap[*job]{&c.window, &c.unwritten, &c.parking}
}

// takeDue lets the record out that has been due for longest, if any may leave. more tells
// whether another one may.
func (c *claim) takeDue() (j *job, more bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now() // run may have had the lock for some milliseconds
	from := c.ready(now)
	if from == nil {
		return nil, false
	}
	j, _ = from.Pop()
	c.note(j)
	more = c.isDue(now)
	if !more {
		c.sleep(now) // run saw only what was due first
	}
	return j, more
}

// ready returns where the record is held that is due first, nil if none is or may be
// attempted. What keeps it back gives the claim its turn when it is over. The caller
// holds mu.
func (c *claim) ready(now time.Time) *window.Heap[*job] {
	due, from := c.first()
	switch {
	case from == nil:
		return nil
	case due > now.UnixMilli():
		c.renewAhead(due, now)
		return nil
	case c.moving >= maxMoving:
		c.blocked = true // until the next acknowledgement
		return nil
	case !c.session.leased(now):
		c.session.requestRenewal() // its acknowledgement nudges run
		return nil
	}
	return from
}

// first returns when the first record is due and where it is held, nil if none is. What
// was chosen to be re-parked is due as it was. The caller holds mu.
func (c *claim) first() (due int64, from *window.Heap[*job]) {
	due, held, ok := c.window.Top()
	at, chosen, moves := c.parking.Top()
	switch {
	case moves && (!ok || at < due || at == due && chosen.record.Offset < held.record.Offset):
		return at, &c.parking
	case ok:
		return due, &c.window
	}
	return 0, nil
}

// isDue reports whether a record is due. The caller holds mu.
func (c *claim) isDue(now time.Time) bool {
	due, from := c.first()
	return from != nil && due <= now.UnixMilli()
}

// renewAhead asks for a lease in good time, so that the next record leaves when it
// is due. The caller holds mu.
func (c *claim) renewAhead(due int64, now time.Time) {
	wait := time.UnixMilli(due).Sub(now)
	lead := min(tickInterval, c.relay.deps.Kafka.SessionTimeout/4) // less than a lease lasts
	if wait <= lead && !c.session.leased(now.Add(wait)) {
		c.session.requestRenewal()
	}
}

// sleep has run wake when the next record is due, after a tick at most. The caller holds
// mu.
func (c *claim) sleep(now time.Time) {
	wait := tickInterval
	for _, heap := range c.heaps() {
		if due, _, ok := heap.Top(); ok && due > now.UnixMilli() {
			wait = min(wait, time.UnixMilli(due).Sub(now))
		}
	}
	c.timer.Reset(wait)
}

// resend writes again what is judged and could not be written; that needs neither
// a worker nor the endpoint. Nor does it need a lease: the record was in flight, so
// the partition's next owner repeats it in any case.
func (c *claim) resend(now time.Time) {
	for {
		j := c.takeUnwritten(now)
		if j == nil {
			return
		}
		c.relay.sendHeld(j)
	}
}

// takeUnwritten lets a record out that is to be written again now, or returns nil.
func (c *claim) takeUnwritten(now time.Time) *job {
	c.mu.Lock()
	defer c.mu.Unlock()
	due, j, ok := c.unwritten.Top()
	if !ok || due > now.UnixMilli() {
		return nil
	}
	c.unwritten.Pop()
	c.note(j)
	return j
}

// noticeClockStep dates anew what was dated by a wall clock that has been set back
// since: what is due in the order of its arrival, and not by a header, must not wait
// until the clock is where it was.
func (c *claim) noticeClockStep(now time.Time) {
	before := c.clock
	c.clock = now.UnixMilli()
	if c.clock >= before {
		return
	}
	if c.newest.After(now) {
		c.newest = now.Round(0)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var held []*job
	for _, heap := range c.heaps() {
		for j, ok := heap.Pop(); ok; j, ok = heap.Pop() {
			held = append(held, j)
		}
	}
	for _, j := range held {
		j.due = max(j.notBefore(), min(j.due, c.clock))
		c.hold(j)
	}
}
