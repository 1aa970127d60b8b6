package tier

import (
	"cmp"
	"slices"
	"time"

	"github.com/retryd/retryd/internal/metrics"
	"github.com/retryd/retryd/internal/policy"
)

// Re-parking: what waits for too long is moved to the tail of a topic, so that it neither
// fills the window nor holds the watermark. A sweep looks at everything that is held and
// chooses; what is chosen stays held, apart, until its turn to be written comes.
//
// Invariant: what is chosen is delivered when it is due, if it is not written before.

const (
	// sweepInterval is how often a claim looks for records to move, unless something
	// presses. A sweep over 50,000 takes some milliseconds.
	sweepInterval = 10 * time.Second
	// pressingShare is how much of the room is used when records are moved to make some.
	pressingShare = 0.75
	// maxParking bounds the moves for re-parking that are not acknowledged.
	maxParking = 64
)

// sweep chooses the records that are moved, from time to time; each tick while something
// presses, unless there was nothing to move for that.
func (c *claim) sweep(now time.Time) {
	if c.consumer.source.main() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	pressing, interval := c.pressing(), sweepInterval
	if pressing != policy.CauseNone && pressing != c.vain {
		interval = tickInterval
	}
	if c.window.Len() == 0 || now.Sub(c.swept) < interval {
		return
	}
	c.swept, c.vain = now, policy.CauseNone
	if c.choose(pressing, now) == 0 {
		c.vain = pressing
		return
	}
	for _, j := range c.window.Take(func(j *job) bool { return j.chosen }) {
		j.chosen = false
		c.parking.Push(j.due, j.record.Offset, j)
	}
}

// pressing says what three quarters are used of. Where reading has paused for want of
// room, that presses until reading goes on, or what is due behind would wait. The caller
// holds mu.
func (c *claim) pressing() policy.Cause {
	switch {
	case c.setUsed >= pressingShare, c.paused == metrics.PauseCompleted:
		return policy.CauseOffsets
	case c.offsets.Pending() >= int(float64(c.relay.deps.Window.Records)*pressingShare),
		c.paused == metrics.PauseRecords, !c.share.Roomy():
		return policy.CauseWindow
	}
	return policy.CauseNone
}

// choose marks the held records that are to be moved, and counts them: all that wait for
// too long or may be lost, and as many more as are to end what presses. The caller holds
// mu.
func (c *claim) choose(pressing policy.Cause, now time.Time) int {
	var chosen, spare []*job // spare: could be moved to end what presses
	for _, j := range c.window.All() {
		switch d := c.relay.decideRepark(j, now, pressing); {
		case d.Action != policy.ActionRepark:
		case d.Cause == pressing:
			spare = append(spare, j)
		default:
			chosen = append(chosen, j)
		}
	}
	chosen = append(chosen, c.relieve(spare, pressing)...)
	for _, j := range chosen {
		j.chosen, j.pressed = true, pressing
	}
	return len(chosen)
}

// relieve returns those of the records that could be moved whose moving helps most: of a
// window that is nearly full the furthest due, a third; of a set of completed offsets
// those that hold up its lowest quarter. The caller holds mu.
func (c *claim) relieve(spare []*job, pressing policy.Cause) []*job {
	if pressing == policy.CauseOffsets {
		low := c.offsets.Low()
		quarter := low + (c.unread-low)/4
		return slices.DeleteFunc(spare, func(j *job) bool { return j.record.Offset > quarter })
	}
	slices.SortFunc(spare, func(a, b *job) int { return cmp.Compare(b.due, a.due) })
	return spare[:min(len(spare), c.window.Len()/3)]
}

// park writes what was chosen to the tail of its topic, as far as moves may be
// unacknowledged.
func (c *claim) park() {
	for {
		j := c.takeParking()
		if j == nil {
			return
		}
		c.relay.send(j)
	}
}

// takeParking lets a record out that is to be moved now, or returns nil. Like an attempt,
// a move needs a lease: the partition's next owner has the same record, and a copy of it
// would be delivered beside that. It holds again what fits nowhere any more: it is due
// soon, most often.
func (c *claim) takeParking() *job {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now() // for each: the process may sleep between two
	for c.reparking < maxParking && c.parking.Len() > 0 {
		if !c.session.leased(now) {
			c.session.requestRenewal() // its acknowledgement nudges run
			return nil
		}
		j, _ := c.parking.Pop()
		m := c.relay.repark(j, now, j.pressed)
		if m == nil {
			c.hold(j)
			continue
		}
		c.note(j)
		c.startMove(j, m)
		return j
	}
	return nil
}
