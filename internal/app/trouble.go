package app

import (
	"sync"
	"time"

	"github.com/retryd/retryd/internal/status"
)

// cause tells the troubles of the process apart. Its order is that in which they are
// shown.
type cause int

const (
	causeKafka cause = iota // no cluster, so no relay does anything
	causeLog                // lines are missing, deliveries are not
	causes
)

// trouble is what is wrong with the process as a whole. It is safe for concurrent
// use; the zero value is no trouble.
type trouble struct {
	mu  sync.Mutex
	now [causes]*status.Problem
}

// set makes a trouble known. One that lasts keeps the time of its beginning, and
// takes the newest text.
func (t *trouble) set(c cause, p status.Problem) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if before := t.now[c]; before != nil {
		p.Since = before.Since
	}
	t.now[c] = &p
}

// clear ends a trouble, and returns when it began; ok is false if there was none.
func (t *trouble) clear(c cause) (since time.Time, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := t.now[c]
	if before == nil {
		return time.Time{}, false
	}
	t.now[c] = nil
	return before.Since, true
}

func (t *trouble) has(c cause) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.now[c] != nil
}

func (t *trouble) list() []status.Problem {
	t.mu.Lock()
	defer t.mu.Unlock()
	var all []status.Problem
	for _, p := range t.now {
		if p != nil {
			all = append(all, *p)
		}
	}
	return all
}
