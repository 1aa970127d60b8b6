package forward

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/retryd/retryd/internal/policy"
)

// The shortest and the longest pause of a gate; in between it doubles.
const (
	minPause = time.Second
	maxPause = time.Minute
)

// Gate pauses a relay while its endpoint refuses everything: an outcome of class
// endpoint or throttled closes it, for 1 s at first. After a pause one attempt is
// let through as a probe. If that fails in the same way the next pause is twice as
// long, up to 60 s; whatever else comes of it opens the gate.
//
// Whoever enters must hand the Pass back, by Leave or by Cancel, or a probe would
// be waited for without end. A Gate starts no goroutine.
type Gate struct {
	onChange func(paused time.Duration, cause policy.Class)

	// generation counts openings and closings; it is odd while the gate is closed.
	// A pass of an earlier generation tells nothing about the present one. It is
	// written under mu, and read without it by passes through the open gate.
	generation atomic.Uint64

	mu      sync.Mutex
	pause   time.Duration // the present or last one; 0 if the gate is open
	until   time.Time     // end of the pause
	probing bool          // the probe is under way
	changed chan struct{} // closed when waiters have to look again
}

// Pass is the right to make one attempt.
type Pass struct {
	generation uint64
	probe      bool
}

// NewGate returns an open gate. onChange is told of every pause and of the class of
// outcome that caused it, and of the opening as 0, in their order; it must not be nil. It is called with the gate locked: it
// must return at once, and must not call the gate.
func NewGate(onChange func(paused time.Duration, cause policy.Class)) *Gate {
	return &Gate{onChange: onChange, changed: make(chan struct{})}
}

// Enter waits until an attempt may be made, or until ctx ends and its error is
// returned. Through an open gate it takes no lock, and does not look at ctx.
func (g *Gate) Enter(ctx context.Context) (Pass, error) {
	for {
		if generation := g.generation.Load(); !isClosed(generation) {
			return Pass{generation: generation}, nil
		}
		pass, changed, wait := g.tryEnter()
		if changed == nil {
			return pass, nil
		}
		if err := waitFor(ctx, changed, wait); err != nil {
			return Pass{}, err
		}
	}
}

// tryEnter returns a pass if the gate is open by now, and the probe's pass if the
// pause is over and there is no probe yet. Otherwise it returns what to wait for: a
// change, and the end of the pause if that is still to come.
func (g *Gate) tryEnter() (pass Pass, changed <-chan struct{}, wait time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	generation := g.generation.Load()
	switch wait = time.Until(g.until); {
	case !isClosed(generation):
		return Pass{generation: generation}, nil, 0
	case g.probing:
		return Pass{}, g.changed, 0
	case wait > 0:
		return Pass{}, g.changed, wait
	}
	g.probing = true
	return Pass{generation: generation, probe: true}, nil, 0
}

// waitFor waits for changed, for ctx, and for the time if it is positive.
func waitFor(ctx context.Context, changed <-chan struct{}, wait time.Duration) error {
	var over <-chan time.Time
	if wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		over = timer.C
	}
	select {
	case <-changed:
	case <-over:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// Stale reports whether the gate has closed or opened since the pass was given: an
// attempt with it would not be the one that was allowed.
func (g *Gate) Stale(p Pass) bool { return p.generation != g.generation.Load() }

// Leave hands a pass back with the class of what came of the attempt.
func (g *Gate) Leave(p Pass, class policy.Class) {
	refused := class == policy.ClassEndpoint || class == policy.ClassThrottled
	if !refused && !p.probe {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case p.generation != g.generation.Load():
		// It tells of a time before the last change.
	case refused:
		g.close(class)
	default:
		g.open()
	}
}

// Cancel hands back a pass with which no attempt was made. After a probe's the next
// caller is the probe.
func (g *Gate) Cancel(p Pass) {
	if !p.probe {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if p.generation == g.generation.Load() {
		g.probing = false
		g.wake()
	}
}

// close begins a pause, twice as long as the one that a probe has just ended.
func (g *Gate) close(cause policy.Class) {
	generation := g.generation.Load()
	g.generation.Store(generation + 1 + generation&1) // the next odd one
	g.pause = min(max(minPause, 2*g.pause), maxPause)
	g.until = time.Now().Add(g.pause)
	g.probing = false
	g.wake()
	g.onChange(g.pause, cause)
}

// open ends the pause.
func (g *Gate) open() {
	g.generation.Add(1)
	g.pause = 0
	g.probing = false
	g.wake()
	g.onChange(0, policy.ClassNone)
}

// wake lets every waiter look again.
func (g *Gate) wake() {
	close(g.changed)
	g.changed = make(chan struct{})
}

func isClosed(generation uint64) bool { return generation&1 == 1 }
