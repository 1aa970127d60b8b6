package main

import (
	"math"
	"time"
)

const (
	// bin is how finely the rate is looked at.
	bin = 100 * time.Millisecond
	// leastShare is with which share of the limits a ramp begins.
	leastShare = 0.05
)

// peak returns the largest share of the allowed requests that arrived in a bin, counted
// from when the breaker closed at the earliest. More than 1 is too many.
func peak(closed time.Time, arrivals []time.Time) float64 {
	bins := map[int]int{}
	for _, at := range arrivals {
		bins[int(at.Sub(closed)/bin)]++
	}
	largest := 0.0
	for i, n := range bins {
		largest = max(largest, float64(n)/allowed(i))
	}
	return largest
}

// allowed returns how many requests may arrive in a bin: the share that the ramp has
// reached at its end of the rate and of what may be in flight at its beginning, and the
// burst, which is one request on the ramp. What was in flight is there whatever the clocks
// do: on a busy machine an attempt may have begun long before it arrives.
func allowed(i int) float64 {
	end := time.Duration(i+1) * bin
	share := max(leastShare, min(1, float64(end)/float64(compressed(ramp))))
	atOnce := 1.0
	if share == 1 {
		atOnce = burst
	}
	return share*perSecond*bin.Seconds() + math.Ceil(share*maxInFlight) + atOnce
}
