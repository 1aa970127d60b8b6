package main

import (
	"runtime"
	"runtime/metrics"
	"testing"
	"time"

	"github.com/retryd/retryd/test/harness"
)

func TestHeapMayGrowToItsRoomWhateverIsInUse(t *testing.T) {
	for live, want := range map[uint64]int{
		0: mostGC, 1 << 20: mostGC, 16 << 20: 300, 32 << 20: 100, 48 << 20: 100, 64 << 20: 100, 1 << 40: 100,
	} {
		if got := percentFor(live); got != want {
			t.Errorf("%d MiB in use: %d %%, want %d", live>>20, got, want)
		}
	}
}

// gcPercent is what the runtime goes by.
func gcPercent() uint64 {
	s := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(s)
	return s[0].Value.Uint64()
}

func TestCollectorFollowsWhatIsInUse(t *testing.T) {
	t.Setenv("GOGC", "")
	before := gcPercent()
	stop := collectRarely()
	runtime.GC()
	harness.WaitFor(t, time.Minute, "a rarer collection, with little in use", func() bool { return gcPercent() > leastGC })
	much := make([]byte, 2*roomyHeap)
	runtime.GC()
	harness.WaitFor(t, time.Minute, "Go's default, with much in use", func() bool { return gcPercent() == leastGC })
	runtime.KeepAlive(much)
	stop()
	if got := gcPercent(); got != before {
		t.Errorf("%d %% once it is stopped, want %d as before", got, before)
	}
	runtime.GC()
	runtime.GC()
	if got := gcPercent(); got != before {
		t.Errorf("%d %% after collections, want %d as before", got, before)
	}
}

func TestCollectorIsLeftAloneWhereTheEnvironmentSetsIt(t *testing.T) {
	t.Setenv("GOGC", "50")
	before := gcPercent()
	defer collectRarely()()
	runtime.GC()
	time.Sleep(10 * time.Millisecond)
	if got := gcPercent(); got != before {
		t.Errorf("%d %%, want %d as before", got, before)
	}
}
