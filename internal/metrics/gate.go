package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/retryd/retryd/internal/policy"
)

// gate is the series of a relay's gate.
type gate struct {
	phases      map[policy.Phase]prometheus.Gauge
	transitions map[policy.Phase]map[policy.Fault]prometheus.Counter
	waiting     map[policy.Limit]prometheus.Counter
	open        prometheus.Counter
	limit       prometheus.Gauge
	phase       policy.Phase
	fault       policy.Fault
}

// newGate creates them; the breaker is closed.
func (m *Metrics) newGate(relay string) gate {
	g := gate{
		phases:      map[policy.Phase]prometheus.Gauge{},
		transitions: map[policy.Phase]map[policy.Fault]prometheus.Counter{},
		waiting:     map[policy.Limit]prometheus.Counter{},
		open:        m.breakerOpen.WithLabelValues(relay),
		limit:       m.endpointLimit.WithLabelValues(relay),
		phase:       policy.PhaseClosed,
	}
	for _, phase := range policy.Phases() {
		g.phases[phase] = m.breakerState.WithLabelValues(relay, string(phase))
		set(g.phases[phase], phase == policy.PhaseClosed)
		g.transitions[phase] = map[policy.Fault]prometheus.Counter{}
		for _, cause := range policy.BreakerFaults() {
			g.transitions[phase][cause] = m.breakerTransitions.WithLabelValues(relay, string(phase), string(cause))
		}
	}
	for _, limit := range policy.Limits() {
		g.waiting[limit] = m.limitSeconds.WithLabelValues(relay, string(limit))
	}
	return g
}

// Gate tells of a change of the gate: the phase of its breaker, and why delivery pauses,
// FaultNone if it does not. It is not safe for concurrent use: the gate's lock is held.
func (r *Relay) Gate(phase policy.Phase, fault policy.Fault) {
	set(r.paused, fault != policy.FaultNone)
	before, why := r.gate.phase, fault
	if phase == policy.PhaseClosed {
		why = r.gate.fault
	}
	r.gate.phase, r.gate.fault = phase, fault
	if phase == before {
		return
	}
	set(r.gate.phases[before], false)
	set(r.gate.phases[phase], true)
	r.gate.transitions[phase][why].Inc()
}

// BreakerOpen counts time for which the breaker was open or probing.
func (r *Relay) BreakerOpen(d time.Duration) { r.gate.open.Add(d.Seconds()) }

// Limit sets how many attempts there may be at a time.
func (r *Relay) Limit(n int) { r.gate.limit.Set(float64(n)) }

// Limiting counts time for which a limit kept back what was due.
func (r *Relay) Limiting(by policy.Limit, d time.Duration) { r.gate.waiting[by].Add(d.Seconds()) }
