package inspect

import "github.com/retryd/retryd/internal/forward"

// Guard is what protects an endpoint, on each instance.
type Guard struct {
	PerSecond  float64 `json:"rate_per_second"` // 0: no limit
	Burst      int     `json:"rate_burst"`
	Adaptive   bool    `json:"adaptive"`
	RetryShare float64 `json:"retry_share"`
	Health     string  `json:"health"`          // the URL without its query; empty: none
	Signed     int     `json:"signing_secrets"` // signatures of a request; those of a file count as one
	Proxied    bool    `json:"proxied"`

	Breaker          bool    `json:"breaker"`
	ProbeInterval    Seconds `json:"probe_interval_seconds"`
	MaxProbeInterval Seconds `json:"max_probe_interval_seconds"`
	Ramp             Seconds `json:"ramp_seconds"`
}

func guardOf(c forward.Config) Guard {
	g := Guard{
		PerSecond: c.Rate.PerSecond, Burst: c.Rate.Effective().Burst, Adaptive: c.Adaptive, RetryShare: c.RetryShare,
		Signed: len(c.Signing.Secrets), Proxied: c.Proxy != "",
		Breaker: c.Breaker.Enabled, ProbeInterval: Seconds(c.Breaker.ProbeInterval),
		MaxProbeInterval: Seconds(c.Breaker.MaxProbeInterval), Ramp: Seconds(c.Breaker.Ramp),
	}
	if c.Health != "" {
		g.Health = forward.WithoutQuery(c.Health)
	}
	if c.Signing.SecretsFile != "" {
		g.Signed = 1
	}
	return g
}
