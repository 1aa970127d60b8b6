package main

import (
	"fmt"
	"strings"

	"github.com/retryd/retryd/internal/inspect"
)

// guardWords says what protects an endpoint.
func guardWords(g inspect.Guard) string {
	words := []string{limitWords(g)}
	if g.Signed > 0 {
		words = append(words, "requests are signed")
	}
	if g.Proxied {
		words = append(words, "by a proxy")
	}
	if g.Health != "" {
		words = append(words, "health by GET "+g.Health)
	}
	if !g.Breaker {
		return strings.Join(append(words, "the circuit breaker is off: an outage spends attempts"), "; ")
	}
	probe := "one record is tried"
	if g.Health != "" {
		probe = "that is asked for"
	}
	return strings.Join(append(words, fmt.Sprintf("in an outage %s after %s, then up to %s, and delivery comes back within %s",
		probe, short(g.ProbeInterval), short(g.MaxProbeInterval), short(g.Ramp))), "; ")
}

func limitWords(g inspect.Guard) string {
	var limits []string
	if g.PerSecond > 0 {
		limits = append(limits, fmt.Sprintf("%v attempts a second (burst %s)", g.PerSecond, thousands(g.Burst)))
	}
	if g.Adaptive {
		limits = append(limits, "fewer at a time when it gets slow")
	}
	return strings.Join(append(limits, fmt.Sprintf("retries get %v of the capacity while main records wait", g.RetryShare)), ", ")
}
