package forward

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/retryd/retryd/internal/policy"
)

// Gate guards one endpoint: it says which attempt may start now, and what its outcome may
// be taken for. It has a circuit breaker, pauses by hand and by the endpoint's own word
// (429), limits for attempts at a time and for their rate, a ramp after each pause, and
// fair shares for main and retries.
//
// Invariants:
//   - while the breaker is open nothing starts but one probe at a time, and nothing is
//     judged: neither a probe nor what was under way when it opened;
//   - a pass is handed back exactly once, by Leave, LeaveHealth or Cancel;
//   - whoever was refused is told by wake when another try is worth it, or was given the
//     time.
//
// It starts no goroutine and never blocks.
type Gate struct {
	limited   int  // refusals that make it a matter of the record
	judges    bool // failures open the breaker
	asks      bool // the endpoint's health can be asked for
	minCalls  int
	share     float64       // of failures that opens the breaker
	probeWait time.Duration // the first, and the longest
	mostWait  time.Duration
	onChange  func(State)
	wake      func()
	breaker   *gobreaker.TwoStepCircuitBreaker[struct{}]

	// generation counts openings and closings of the breaker. A pass of an earlier one tells
	// nothing about the present. outages counts the openings that were no false alarm. Both
	// are written under mu.
	generation, outages atomic.Uint64

	mu       sync.Mutex
	evidence evidence
	calls    tally // that are evidence
	state    State
	origin   policy.Fault  // what the breaker opened for, whatever it is open for by now
	interval time.Duration // between the last probe and the next
	probes   int           // since it opened
	trusted  time.Time     // until then the endpoint's health is known to be well
	ramped   time.Time     // where the ramp was when the breaker opened
	shares   shares
	limits   limits
	throttle throttle
	halted   bool
	refused  bool // somebody waits for wake
}

// State is what a gate tells of itself.
type State struct {
	Phase policy.Phase
	Cause policy.Fault // why it is open, or policy.FaultThrottled while a closed one pauses
	Until time.Time    // of the pause, if it is one: when an attempt is made again
	Error string       // what the endpoint said last, or how it failed
}

// Paused reports whether delivery pauses.
func (s State) Paused() bool { return s.Cause != policy.FaultNone }

// Pass is the right to make one attempt, or to ask for the endpoint's health.
type Pass struct {
	Lane       Lane   // whose record is to be attempted
	Health     bool   // no attempt: ask for the endpoint's health, and LeaveHealth
	Probe      bool   // while the breaker is open: the attempt is not judged
	Outages    uint64 // when it was given, see Gate.Outages
	generation uint64
	started    time.Time
	done       func(error) // of a probe
	limited    held
}

// NewGate returns a gate whose breaker is closed. onChange is told of each change of its
// state, in order, with the gate locked: it must return at once and not call the gate.
// wake is told that somebody who was refused may try again; it is called without the lock.
func NewGate(c Config, onChange func(State), wake func()) *Gate {
	g := &Gate{
		limited: c.LimitedAttempts, judges: c.Breaker.Enabled, asks: c.Health != "",
		probeWait: c.Breaker.ProbeInterval, mostWait: c.Breaker.MaxProbeInterval,
		onChange: onChange, wake: wake,
		minCalls: c.Breaker.MinCalls, share: c.Breaker.FailureShare, calls: newTally(c.Breaker.Window, time.Now()),
		state:  State{Phase: policy.PhaseClosed},
		shares: shares{retry: c.RetryShare},
		limits: newLimits(c),
	}
	g.breaker = newBreaker()
	return g
}

// TryEnter returns a pass for one of the lanes in which a record waits. Without one, ok
// is false and again is when to try again; zero: when wake says so.
func (g *Gate) TryEnter(now time.Time, waits [lanes]bool) (p Pass, again time.Time, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.halted || g.state.Phase == policy.PhaseHalfOpen:
	case g.state.Phase == policy.PhaseOpen && now.Before(g.state.Until):
		again = g.state.Until
	case now.Before(g.throttle.until):
		again = g.throttle.until
	case g.state.Phase == policy.PhaseOpen:
		p, again, ok = g.enterProbe(now, waits)
	default:
		p, again, ok = g.enter(now, waits)
	}
	g.refused = g.refused || !ok
	return p, again, ok
}

// enter gives a pass through the closed breaker, under the limits.
func (g *Gate) enter(now time.Time, waits [lanes]bool) (p Pass, again time.Time, ok bool) {
	limited, limit, again, ok := g.limits.take(now, g.shares.total())
	if !ok {
		return Pass{}, again, false
	}
	p = Pass{
		Lane: g.shares.pick(waits, limit), generation: g.generation.Load(), Outages: g.outages.Load(),
		started: now, limited: limited,
	}
	g.shares.inFlight[p.Lane]++
	return p, time.Time{}, true
}

// Outages counts how often the breaker has opened, false alarms left out: see
// Config.Health.
func (g *Gate) Outages() uint64 { return g.outages.Load() }

// Stale reports whether the breaker has opened or closed since the pass was given: an
// attempt with it would not be the one that was allowed.
func (g *Gate) Stale(p Pass) bool { return p.generation != g.generation.Load() }

// Cancel hands back a pass with which no attempt was made. After a probe's the next
// attempt is the probe.
func (g *Gate) Cancel(p Pass) {
	g.mu.Lock()
	g.release(p, true)
	if p.Probe && !g.Stale(p) {
		p.done(errNoEvidence)
		g.change(State{Phase: policy.PhaseOpen, Cause: g.state.Cause, Until: time.Now(), Error: g.state.Error})
	}
	g.unlock()
}

// Look ends what the passing of time ends: that a pause is shown, which an endpoint has
// asked for. It is called about once a second.
func (g *Gate) Look(now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.state.Cause == policy.FaultThrottled && !now.Before(g.state.Until) {
		g.change(State{Phase: policy.PhaseClosed})
	}
}

// Open reports whether the breaker is open, or a probe under way.
func (g *Gate) Open() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.state.Phase != policy.PhaseClosed
}

// Halt lets nothing start until Resume, whatever the endpoint does. What is under way
// goes on and is judged.
func (g *Gate) Halt() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.halted = true
}

// Resume ends Halt. Delivery comes back along a ramp if it is to.
func (g *Gate) Resume(ramp bool) {
	g.mu.Lock()
	if g.halted && ramp {
		g.limits.ramp.from = time.Now()
		g.ramped = g.limits.ramp.from
	}
	g.halted = false
	g.unlock()
}

// release gives back what a pass has of the limits. mu is held.
func (g *Gate) release(p Pass, unused bool) {
	if !p.Health {
		g.shares.inFlight[p.Lane]--
	}
	if unused {
		p.limited.drop()
		return
	}
	p.limited.record()
}

// unlock unlocks mu and wakes who was refused.
func (g *Gate) unlock() {
	wake := g.refused
	g.refused = false
	g.mu.Unlock()
	if wake {
		g.wake()
	}
}

// change makes a state known. mu is held.
func (g *Gate) change(s State) {
	g.state = s
	g.onChange(s)
}

// throttle has the endpoint left alone because it asked for that.
type throttle struct {
	pause time.Duration // the present or last one; 0: none
	until time.Time
}

// note429 begins a pause, twice as long as the one before if that helped nothing. What
// was under way when one began says nothing new. mu is held.
func (g *Gate) note429(p Pass, o *policy.Outcome, now time.Time) {
	if o.Treatment != policy.TreatThrottle {
		if g.throttle.pause > 0 && !p.started.Before(g.throttle.until) {
			g.throttle = throttle{}
			if g.state.Paused() {
				g.change(State{Phase: policy.PhaseClosed})
			}
		}
		return
	}
	if p.started.Before(g.throttle.until) {
		return
	}
	g.throttle.pause = min(max(minPause, 2*g.throttle.pause), maxPause)
	g.throttle.until = now.Add(g.throttle.pause)
	g.limits.ramp.from = g.throttle.until
	g.change(State{Phase: policy.PhaseClosed, Cause: policy.FaultThrottled, Until: g.throttle.until, Error: o.Error})
}

// tick is when to try again what the library's breaker does not allow yet: it opens for
// a nanosecond at least.
const tick = time.Millisecond

// The shortest and the longest pause that a 429 begins.
const (
	minPause = time.Second
	maxPause = time.Minute
)
