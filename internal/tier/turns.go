package tier

import (
	"sync"
	"time"

	"github.com/retryd/retryd/internal/forward"
)

// turns is the order in which a relay's workers serve its claims. The gate says when one
// may start and for main or a retry; of the claims on that lane the one that has waited
// for longest gets one record taken and goes to the end. So each is served in its turn,
// however much the others have. It is safe for concurrent use.
type turns struct {
	gate *forward.Gate

	mu    sync.Mutex
	free  sync.Cond // with mu; signalled when one more worker may get something to do
	lanes [2]line   // by forward.Lane
	timer *time.Timer
	wakes time.Time // when timer does; zero: it does not
	count int       // claims that have a turn
	owed  int       // of these, those whose signal woke a worker that the gate then refused
	over  bool
}

// line is the claims of a lane that have a turn.
type line struct{ first, last *claim }

func newTurns() *turns {
	t := &turns{}
	t.free.L = &t.mu
	return t
}

// add gives a claim its turn after those that have one, unless it has one already.
func (t *turns) add(c *claim) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.hasTurn {
		return
	}
	c.hasTurn = true
	t.count++
	l := &t.lanes[c.lane()]
	if l.first == nil {
		l.first = c
	} else {
		l.last.behind = c
	}
	l.last = c
	t.free.Signal()
}

// pop takes the claim whose turn it is. The caller holds mu and knows that there is one.
func (t *turns) pop(lane forward.Lane) *claim {
	l := &t.lanes[lane]
	c := l.first
	l.first, c.behind = c.behind, nil
	c.hasTurn = false
	t.count--
	return c
}

// next waits until the gate lets an attempt start for which a record is due, and takes
// it; or, with no record, until the endpoint's health is to be asked for. ok is false
// once turns are over. The pass must be handed back to the gate.
func (t *turns) next() (j *job, pass forward.Pass, ok bool) {
	for {
		c, pass, ok := t.wait()
		if !ok || pass.Health {
			return nil, pass, ok
		}
		j, more := c.takeDue()
		if more {
			t.add(c)
		}
		if j != nil {
			return j, pass, true
		}
		t.gate.Cancel(pass)
	}
}

// wait takes the claim whose turn it is, once the gate gives a pass for it.
func (t *turns) wait() (c *claim, pass forward.Pass, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for !t.over {
		if t.count > 0 {
			pass, again, ok := t.gate.TryEnter(time.Now(), t.waits())
			if ok {
				return t.serve(pass), pass, true
			}
			t.owed = min(t.owed+1, t.count)
			t.wakeAt(again)
		}
		t.free.Wait()
	}
	return nil, forward.Pass{}, false
}

// serve takes the claim that a pass is for, and has another worker see to one that was
// refused before. The caller holds mu.
func (t *turns) serve(pass forward.Pass) *claim {
	var c *claim
	if !pass.Health {
		c = t.pop(pass.Lane)
	}
	if t.owed = min(t.owed, t.count); t.owed > 0 {
		t.owed--
		t.free.Signal()
	}
	return c
}

func (t *turns) waits() [2]bool { return [2]bool{t.lanes[0].first != nil, t.lanes[1].first != nil} }

// wakeAt has a worker try again at a time, zero for never. The caller holds mu.
func (t *turns) wakeAt(at time.Time) {
	if at.IsZero() || !t.wakes.IsZero() && !at.Before(t.wakes) {
		return
	}
	t.wakes = at
	if t.timer == nil {
		t.timer = time.AfterFunc(time.Until(at), t.wake)
		return
	}
	t.timer.Reset(time.Until(at))
}

// wake has a worker that waits look again.
func (t *turns) wake() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wakes = time.Time{}
	t.free.Signal()
}

// keptBack reports whether a record is due that nobody takes.
func (t *turns) keptBack() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.count > 0
}

// end lets nobody wait any more.
func (t *turns) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.over = true
	if t.timer != nil {
		t.timer.Stop()
	}
	t.free.Broadcast()
}
