package policy

// Phase is the state of an endpoint's circuit breaker.
type Phase string

// The phases.
const (
	PhaseClosed   Phase = "closed"    // attempts are made
	PhaseOpen     Phase = "open"      // none are
	PhaseHalfOpen Phase = "half_open" // a probe is under way
)

// Phases returns the closed set of phases.
func Phases() []Phase { return []Phase{PhaseClosed, PhaseOpen, PhaseHalfOpen} }

// Fault is why delivery to an endpoint pauses.
type Fault string

// The faults.
const (
	FaultNone        Fault = ""
	FaultUnreachable Fault = "unreachable" // no connection, or broken before a response
	FaultFailing     Fault = "failing"     // first attempts fail
	FaultEndpoint    Fault = "endpoint"    // an answer that only a wrong endpoint or configuration gives
	FaultRejecting   Fault = "rejecting"   // nearly every first attempt is rejected
	FaultThrottled   Fault = "throttled"   // the endpoint asks for fewer requests: a pause of a closed breaker
)

// BreakerFaults returns the closed set of faults that open the breaker.
func BreakerFaults() []Fault {
	return []Fault{FaultUnreachable, FaultFailing, FaultEndpoint, FaultRejecting}
}

// Limit is what keeps a record back that is due while the breaker is closed.
type Limit string

// The limits.
const (
	LimitNone     Limit = ""
	LimitInFlight Limit = "in_flight" // endpoint.max_in_flight
	LimitRate     Limit = "rate"      // endpoint.rate
	LimitAdaptive Limit = "adaptive"  // endpoint.adaptive
	LimitRamp     Limit = "ramp"      // delivery is coming back after a pause
)

// Limits returns the closed set of limits, without LimitNone.
func Limits() []Limit { return []Limit{LimitInFlight, LimitRate, LimitAdaptive, LimitRamp} }
