// Package load is what the programs of the benchmark say to each other: what the
// endpoint is to do, what it saw, and how a value begins. It measures nothing.
package load

import (
	"strconv"
	"time"
)

// Digits begin every value: a number in decimal, padded with zeros. It is the number
// of the record, or when the record is due, in nanoseconds since the epoch.
const Digits = 20

// Plan is one run as the endpoint sees it. Requests to other paths than / are not
// counted: /hang is answered when the next run begins, /slow after 100 ms.
type Plan struct {
	Expected int           // the run is over at this request
	Middle   int           // a request before that, to which the run is also measured; 0: none
	Status   int           // of every answer
	Delay    time.Duration // before every answer
	Due      bool          // values begin with when they are due: lateness is measured
	Numbered int           // values begin with their number, below this: repeats are counted
	Retry    time.Duration // the first request with a number is answered 503, the second is due this long after it; the run is over when all are there
	Warmup   int           // numbers below this are not measured; of Retry
	Stuck    bool          // number 0 is answered when the next run begins
	Continue bool          // numbers of the run before have arrived; this one is over when all have, whatever is expected
}

// Report is what the endpoint saw of a run so far.
type Report struct {
	Problem string // why the figures are worth nothing, or ""

	Arrived     int
	First, Last time.Time     // arrival of the first and of the last expected request
	CPU         time.Duration // of the client's process between the two
	Middle      time.Time     // arrival of as many requests as Plan.Middle says
	MiddleCPU   time.Duration // of the client's process between the first and that one
	Headers     []string      // names in the first request, sorted

	Late  []time.Duration // arrival after due, sorted; negative is early
	Early int

	Distinct   int // numbers that arrived
	Repeats    int // requests with a number that had arrived before
	LastSecond int // numbers that arrived in the second before the last one did
}

// Seconds is how long the expected requests took to arrive.
func (r Report) Seconds() float64 { return r.Last.Sub(r.First).Seconds() }

// Value fills a value of the given size, at least Digits, that begins with n. What
// follows does not compress well, and is the same for all.
func Value(n int64, size int) []byte {
	value := make([]byte, 0, size)
	digits := strconv.FormatInt(n, 10)
	for range Digits - len(digits) {
		value = append(value, '0')
	}
	value = append(value, digits...)
	for state := uint32(1); len(value) < size; {
		state = state*1664525 + 1013904223 // Numerical Recipes' linear congruence
		value = append(value, ' '+byte(state>>24)%95)
	}
	return value
}

// Number returns what Value began with, or -1.
func Number(value []byte) int64 {
	if len(value) < Digits {
		return -1
	}
	n := int64(0)
	for _, c := range value[:Digits] {
		if c < '0' || c > '9' {
			return -1
		}
		n = n*10 + int64(c-'0')
	}
	return n
}
