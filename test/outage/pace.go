package main

import (
	"context"
	"slices"
	"sync"
	"time"
)

// tick is the step of a pace, and mostTick for how much one counts at most.
const (
	tick     = 5 * time.Millisecond
	mostTick = 2 * tick
)

// pace is a clock that stands still while this process gets no processor: it sleeps for
// a tick at a time, and one that took far longer counts for mostTick. What it measures is
// not held against a daemon in the same process that could not run either.
type pace struct {
	mu    sync.Mutex
	ticks []paced
}

// paced is what a pace shows at a time.
type paced struct {
	at    time.Time
	shows time.Duration
}

// run ticks until ctx ends.
func (p *pace) run(ctx context.Context) {
	for ctx.Err() == nil {
		p.tick(time.Now())
		time.Sleep(tick)
	}
}

func (p *pace) tick(now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	next := paced{at: now}
	if n := len(p.ticks); n > 0 {
		last := p.ticks[n-1]
		next.shows = last.shows + min(now.Sub(last.at), mostTick)
	}
	p.ticks = append(p.ticks, next)
}

// between returns how much time passed from one time to another, to a tick or two.
func (p *pace) between(from, to time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.shown(to) - p.shown(from)
}

// shown is what the pace showed at the first tick that is no earlier. mu is held.
func (p *pace) shown(at time.Time) time.Duration {
	i, _ := slices.BinarySearchFunc(p.ticks, at, func(t paced, at time.Time) int { return t.at.Compare(at) })
	if len(p.ticks) == 0 {
		return 0
	}
	return p.ticks[min(i, len(p.ticks)-1)].shows
}
