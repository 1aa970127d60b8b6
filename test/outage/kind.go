package main

import (
	"math"
	"net/http"
	"time"
)

// kind is one kind of outage. Durations are in real time.
type kind struct {
	name      string
	mode      mode // of the endpoint while it is out
	tiers     []time.Duration
	outage    time.Duration
	waiting   int           // records in all tiers when it begins, due evenly until it ends
	every     time.Duration // one fresh record; 0: none
	health    bool          // endpoint.health is set
	maySpend  int           // attempts at most
	unguarded bool          // without the breaker
	kafka     bool          // on Apache Kafka, not on the embedded broker
}

// kinds are the outages of so much time with so many records waiting.
func kinds(outage time.Duration, waiting int) []kind {
	busy := func(name string, m mode, maySpend int) kind {
		return kind{name: name, mode: m, tiers: longTiers(outage), outage: outage, waiting: waiting, every: 250 * time.Millisecond, maySpend: maySpend}
	}
	// What failed before the breaker opens, and what was in flight then.
	const opening = minCalls + maxInFlight
	still := func(name string, m mode, health bool) kind {
		k := busy(name, m, opening)
		k.every, k.health = 0, health
		return k
	}
	return []kind{
		busy("refused", refused, opening),
		busy("503", http.StatusServiceUnavailable, opening),
		busy("500", http.StatusInternalServerError, opening),
		busy("401", http.StatusUnauthorized, 0), // no verdict on a record: it spends no attempt
		busy("404", http.StatusNotFound, 0),     // nor while the endpoint accepts no other
		busy("hanging", hanging, opening),
		rare(max(outage, 7*time.Minute)),
		still("refused, nothing fresh", refused, false),
		still("503, nothing fresh, `health`", http.StatusServiceUnavailable, true),
	}
}

// rare is an outage of an endpoint that gets one record a minute. Five of them fail
// before the breaker opens, the first of them in every tier but the last, where it
// waits by then.
func rare(outage time.Duration) kind {
	tiers := shortTiers()
	return kind{
		name: "503, one record a minute", mode: http.StatusServiceUnavailable, tiers: tiers,
		outage: outage, every: time.Minute, maySpend: inARow * len(tiers),
	}
}

// mayPost is how many requests the endpoint may see in an outage that took so long,
// compressed: what opens the breaker and what is under way then, and one probe an
// interval, which doubles up to the longest.
func (k kind) mayPost(took time.Duration) int {
	doublings := math.Ceil(math.Log2(float64(maxProbeInterval) / float64(probeInterval)))
	probes := 1 + doublings + math.Ceil(float64(took)/float64(compressed(maxProbeInterval)))
	return minCalls + 2*maxInFlight + int(probes)
}

// delays are those of the tiers, compressed.
func (k kind) delays() []time.Duration {
	delays := make([]time.Duration, len(k.tiers))
	for i, delay := range k.tiers {
		delays[i] = compressed(delay)
	}
	return delays
}
