package main

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
)

const (
	// roomyHeap is how large the heap may grow before it is collected, in bytes, however
	// little of it is in use. With Go's default the collector of a daemon that holds little
	// and moves much runs many times a second: for records that walk through the tiers that
	// was an eighth of its processor time (make bench SCENARIO=escalation).
	roomyHeap = 64 << 20
	// leastGC is Go's default: from half of roomyHeap in use on nothing is different.
	leastGC = 100
	// mostGC bounds by how much a heap may grow that was nearly empty, before the next look
	// at what is in use by then.
	mostGC = 1000
)

// collector lets the garbage collector run less often while little of the heap is in use.
// It looks whenever a collection is over.
type collector struct {
	mu    sync.Mutex
	ended bool
}

// collectRarely begins that, unless the environment says what it wants (GOGC), until the
// returned function is called.
func collectRarely() (stop func()) {
	if os.Getenv("GOGC") != "" {
		return func() {}
	}
	c := &collector{}
	before := debug.SetGCPercent(leastGC)
	c.await()
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.ended = true
		debug.SetGCPercent(before)
	}
}

// await has collected called after the next collection, which finds what nobody holds.
func (c *collector) await() { runtime.AddCleanup(new([64]byte), (*collector).collected, c) }

func (c *collector) collected() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return
	}
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(live)
	debug.SetGCPercent(percentFor(live[0].Value.Uint64()))
	c.await()
}

// percentFor returns by how much of what is in use the heap may grow, in percent.
func percentFor(live uint64) int {
	if live >= roomyHeap {
		return leastGC
	}
	return int(min(max((roomyHeap-live)*100/max(live, 1), leastGC), mostGC))
}
