package logging

import (
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestLimiterLetsALineThroughOncePerIntervalAndCountsTheRest(t *testing.T) {
	var l Limiter
	steps := []struct {
		after      time.Duration
		topic      string
		suppressed int
		ok         bool
	}{
		{0, "orders", 0, true},
		{time.Second, "orders", 0, false},
		{2 * time.Second, "loans", 0, true}, // another topic is another line
		{limiterInterval - 1, "orders", 0, false},
		{limiterInterval, "orders", 2, true},
		{limiterInterval + 1, "orders", 0, false},
		{2 * limiterInterval, "orders", 1, true},
		{9 * limiterInterval, "orders", 0, true},
	}
	for i, s := range steps {
		suppressed, ok := l.Allow("produce", s.topic, start.Add(s.after))
		if suppressed != s.suppressed || ok != s.ok {
			t.Errorf("step %d: got %d, %v, want %d, %v", i, suppressed, ok, s.suppressed, s.ok)
		}
	}
	if _, ok := l.Allow("fetch", "orders", start.Add(9*limiterInterval)); !ok {
		t.Error("another message was kept back")
	}
}

func TestLimiterMemoryIsBounded(t *testing.T) {
	var l Limiter
	allow := func(i int, now time.Time) bool {
		_, ok := l.Allow("produce", strconv.Itoa(i), now)
		return ok
	}
	for i := range 3 * limiterKeys {
		if !allow(i, start.Add(time.Duration(i))) {
			t.Fatalf("new topic %d was kept back", i)
		}
		if len(l.seen) > limiterKeys {
			t.Fatalf("%d keys remembered", len(l.seen))
		}
	}
	now := start.Add(time.Second)
	if allow(3*limiterKeys-1, now) {
		t.Error("the newest key was forgotten")
	}
	if !allow(0, now) {
		t.Error("the oldest key was kept")
	}
	allow(-1, start.Add(time.Hour))
	if len(l.seen) != 1 {
		t.Errorf("%d keys remembered, of which %d are over", len(l.seen), len(l.seen)-1)
	}
}

func TestLimiterLetsOneOfManyConcurrentLinesThrough(t *testing.T) {
	var l Limiter
	var wg sync.WaitGroup
	var passed atomic.Int32
	for range 8 {
		wg.Go(func() {
			if _, ok := l.Allow("produce", "orders", start); ok {
				passed.Add(1)
			}
		})
	}
	wg.Wait()
	if n, _ := l.Allow("produce", "orders", start.Add(limiterInterval)); passed.Load() != 1 || n != 7 {
		t.Errorf("%d passed, %d suppressed", passed.Load(), n)
	}
}
