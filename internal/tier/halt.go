package tier

import (
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/retryd/retryd/internal/logging"
	"github.com/retryd/retryd/internal/policy"
	"github.com/retryd/retryd/internal/record"
	"github.com/retryd/retryd/internal/status"
)

// halting is whether a relay is to deliver nothing, whatever its endpoint does.
type halting struct {
	mu       sync.Mutex
	halt     *status.Halt // nil: it is not halted; the value is never changed
	awaiting string       // the control topic, which was not read yet: nobody knows; "": it was
}

// Halt lets the relay make no attempt any more, until Resume. Attempts under way finish;
// records wait where they are, on the way that waiting records go: none is attempted or
// charged. Another halt takes the place of the present one; the same one changes nothing.
func (r *Relay) Halt(h status.Halt) {
	r.halting.mu.Lock()
	defer r.halting.mu.Unlock()
	if before := r.halting.halt; before != nil && *before == h {
		return
	}
	r.halting.halt = &h
	r.isHalted.Store(true)
	r.gate.Halt()
	r.drop(kindPause, r.reach.endpoint) // nothing ends it meanwhile: the next probe tells anew
	r.metrics.Halted(h.State)
	r.log.Warn("relay is halted: its records wait, and no attempt is spent", haltFields(h)...)
}

// Resume ends a halt. Without one it does nothing.
func (r *Relay) Resume() {
	r.halting.mu.Lock()
	defer r.halting.mu.Unlock()
	before := r.halting.halt
	if before == nil {
		return
	}
	r.halting.halt = nil
	r.isHalted.Store(false)
	r.metrics.Halted("")
	r.log.Info("relay is resumed", append(haltFields(*before), zap.Duration("after", time.Since(before.Since)))...)
	r.letGo(true)
}

// letGo opens the gate if nothing holds it any more: along a ramp where much may have
// waited for that. The caller holds mu.
func (r *Relay) letGo(ramp bool) {
	if r.halting.halt == nil && r.halting.awaiting == "" {
		r.gate.Resume(ramp)
	}
}

func haltFields(h status.Halt) []zap.Field {
	return []zap.Field{
		zap.String("state", string(h.State)), zap.String(logging.FieldReason, h.Reason),
		zap.String("by", h.By), zap.Time("since", h.Since),
	}
}

// halted returns the halt, or nil.
func (r *Relay) halted() *status.Halt {
	r.halting.mu.Lock()
	defer r.halting.mu.Unlock()
	return r.halting.halt
}

// AwaitControl lets the relay deliver nothing, and be unready, before ControlRead has told
// that the topic was read which says what is halted. It is called before Run, if at all.
func (r *Relay) AwaitControl(topic string) {
	r.halting.mu.Lock()
	defer r.halting.mu.Unlock()
	r.halting.awaiting = topic
	r.gate.Halt()
	r.waits(kindAwait, topic, errUnread)
}

// ControlRead tells that the control topic is read: what it says was told before.
func (r *Relay) ControlRead(topic string) {
	r.halting.mu.Lock()
	r.halting.awaiting = ""
	r.letGo(false)
	r.halting.mu.Unlock()
	r.over(kindAwait, topic)
	r.over(kindControl, topic)
	r.over(kindOdd, topic)
}

// ControlUnread tells why the control topic cannot be read. What it said last still holds.
func (r *Relay) ControlUnread(topic string, err error) {
	r.halting.mu.Lock()
	k := kindControl
	if r.halting.awaiting != "" {
		k = kindAwait
	}
	r.halting.mu.Unlock()
	r.drop(kindOdd, topic)
	r.raise(k, topic, err)
}

// ControlLooked tells what is wrong with the control topic although it is read; nil ends
// that.
func (r *Relay) ControlLooked(topic string, err error) {
	if err == nil {
		r.over(kindOdd, topic)
		return
	}
	r.raise(kindOdd, topic, err)
}

// BrokersAway reports whether the relay tells of a broker that does not answer: what
// follows from that for the control topic is no news then.
func (r *Relay) BrokersAway() bool { return r.troubles.away() }

// EndpointHolds says why the relay delivers nothing although it is not halted: what its
// endpoint did; "" if that is not so.
func (r *Relay) EndpointHolds() string { return r.troubles.why(kindPause, r.reach.endpoint) }

// noteStop halts the relay if a rule says so, and has that kept.
func (r *Relay) noteStop(o policy.Outcome) {
	if o.Treatment != policy.TreatStop {
		return
	}
	r.deps.Stop(r.config.Group, status.Halt{State: status.Stopped, Reason: r.hide.Text(record.HeaderError, o.Error), By: byRule, Since: time.Now()})
}

// byRule is who stops a relay where an answer of the endpoint does.
const byRule = "rule"
