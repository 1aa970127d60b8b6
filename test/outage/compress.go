package main

import "time"

// compression is how much faster than in reality everything passes: an hour takes a
// minute, a tier of five minutes five seconds. Every duration of a run is written as it
// is in reality, and compressed where it is used. The rate of the endpoint is not, and
// nor are Kafka's own timeouts.
const compression = 60

func compressed(d time.Duration) time.Duration { return d / compression }

// The relay of every run, in real time. Its breaker has the defaults, but for the ramp:
// one of 10 s would be over after two bins of the compressed endpoint's log.
const (
	timeout          = time.Minute
	window           = 10 * time.Second
	minCalls         = 20
	failureShare     = 0.5
	probeInterval    = time.Second
	maxProbeInterval = time.Minute
	ramp             = 2 * time.Minute
	healthy          = time.Minute // before an outage
)

// Its limits, which are not compressed.
const (
	maxInFlight     = 16
	perSecond       = 2000
	burst           = 50
	limitedAttempts = 3
)

// inARow is how many different records fail one after another until the breaker opens,
// however far apart.
const inARow = 5

// partitions of the main topic, and so of all.
const partitions = 3

func shortTiers() []time.Duration {
	return []time.Duration{5 * time.Second, 30 * time.Second, 5 * time.Minute}
}

// longTiers end in one in which records wait for as long as an outage takes: what fails
// there before the breaker opens was in its last attempt.
func longTiers(outage time.Duration) []time.Duration {
	return []time.Duration{5 * time.Second, 30 * time.Second, outage}
}
