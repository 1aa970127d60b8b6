package logging

import (
	"sync"
	"time"
)

const (
	// limiterInterval is how long the same line about the same topic is kept back.
	limiterInterval = 30 * time.Second
	// limiterKeys bounds the memory; there are as many keys as topics times
	// messages, so in practice it is never reached.
	limiterKeys = 1024
)

// Limiter keeps back repetitions: a broker that is down gives the same error for
// every topic many times a second. The zero value is ready; it is safe for
// concurrent use.
type Limiter struct {
	mu   sync.Mutex
	seen map[limiterKey]repeats
}

type limiterKey struct{ message, topic string }

type repeats struct {
	last       time.Time // when a line was let through
	suppressed int       // since then
}

// Allow reports whether the line may be written now: once in 30 s for a message
// and topic. suppressed is how many were kept back since the last one; it belongs
// on the line, see Suppressed. now should be time.Now's, whose monotonic reading
// survives a clock step.
func (l *Limiter) Allow(message, topic string, now time.Time) (suppressed int, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	k := limiterKey{message, topic}
	r, known := l.seen[k]
	if known && now.Sub(r.last) < limiterInterval {
		r.suppressed++
		l.seen[k] = r
		return 0, false
	}
	if !known && len(l.seen) >= limiterKeys {
		l.forget(now)
	}
	if l.seen == nil {
		l.seen = make(map[limiterKey]repeats)
	}
	l.seen[k] = repeats{last: now}
	return r.suppressed, true
}

// forget makes room: every key whose interval is over goes, and if there is none,
// the one that was let through longest ago. What they kept back is not reported.
func (l *Limiter) forget(now time.Time) {
	var oldest limiterKey
	var last time.Time
	for k, r := range l.seen {
		if now.Sub(r.last) >= limiterInterval {
			delete(l.seen, k)
			continue
		}
		if last.IsZero() || r.last.Before(last) {
			oldest, last = k, r.last
		}
	}
	if len(l.seen) >= limiterKeys {
		delete(l.seen, oldest)
	}
}
