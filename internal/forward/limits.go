package forward

import (
	"fmt"
	"time"
)

// Rate bounds how many attempts start, per instance.
type Rate struct {
	PerSecond float64 `mapstructure:"per_second"` // 0 is no bound
	Burst     int     `mapstructure:"burst"`      // attempts that may start at once after a quiet time; 0: as many as in a second, at least 1
}

// Breaker is the circuit breaker: when failures count as an outage of the endpoint, how
// it is probed meanwhile, and how delivery comes back.
type Breaker struct {
	Enabled          bool          `mapstructure:"enabled"`
	Window           time.Duration `mapstructure:"window"`             // over which the share of failures is taken
	MinCalls         int           `mapstructure:"min_calls"`          // attempts in the window without which the share says nothing
	FailureShare     float64       `mapstructure:"failure_share"`      // of the attempts in the window that opens it, above 0 and at most 1
	ProbeInterval    time.Duration `mapstructure:"probe_interval"`     // until the first probe; it doubles
	MaxProbeInterval time.Duration `mapstructure:"max_probe_interval"` // up to this
	Ramp             time.Duration `mapstructure:"ramp"`               // in which delivery grows to its full limits again; 0: at once
}

func defaultBreaker() Breaker {
	return Breaker{
		Enabled:          true,
		Window:           10 * time.Second,
		MinCalls:         20,
		FailureShare:     0.5,
		ProbeInterval:    time.Second,
		MaxProbeInterval: time.Minute,
		Ramp:             10 * time.Second,
	}
}

// Effective returns the rate with the burst that it has.
func (r Rate) Effective() Rate {
	if r.PerSecond > 0 {
		r.Burst = r.burst()
	}
	return r
}

// burst is how many attempts may start at once.
func (r Rate) burst() int {
	if r.Burst > 0 {
		return r.Burst
	}
	return max(1, int(r.PerSecond))
}

func (r Rate) errors() []error {
	var errs []error
	if !(r.PerSecond >= 0 && r.PerSecond <= 1e6) { // NaN too
		errs = append(errs, fmt.Errorf("rate.per_second: is %v, must be 0 (no limit) to 1000000", r.PerSecond))
	}
	switch {
	case r.Burst < 0:
		errs = append(errs, fmt.Errorf("rate.burst: is %d, must not be negative", r.Burst))
	case r.Burst > 0 && r.PerSecond == 0:
		errs = append(errs, fmt.Errorf("rate.burst: is %d, but rate.per_second sets no limit; set it or remove the burst", r.Burst))
	}
	return errs
}

func (b Breaker) errors() []error {
	var errs []error
	positive := func(key string, d time.Duration) {
		if d <= 0 {
			errs = append(errs, fmt.Errorf("breaker.%s: is %s, must be positive", key, d))
		}
	}
	positive("window", b.Window)
	if b.MinCalls < 1 {
		errs = append(errs, fmt.Errorf("breaker.min_calls: is %d, must be at least 1", b.MinCalls))
	}
	if !(b.FailureShare > 0 && b.FailureShare <= 1) {
		errs = append(errs, fmt.Errorf("breaker.failure_share: is %v, must be above 0 and at most 1", b.FailureShare))
	}
	positive("probe_interval", b.ProbeInterval)
	if b.MaxProbeInterval < b.ProbeInterval {
		errs = append(errs, fmt.Errorf("breaker.max_probe_interval: %s is shorter than breaker.probe_interval (%s)", b.MaxProbeInterval, b.ProbeInterval))
	}
	if b.Ramp < 0 {
		errs = append(errs, fmt.Errorf("breaker.ramp: is %s, must not be negative; 0s is no ramp", b.Ramp))
	}
	return errs
}

func retryShareErrors(share float64) []error {
	if share > 0 && share < 1 {
		return nil
	}
	return []error{fmt.Errorf("retry_share: is %v, must be above 0 and below 1", share)}
}
