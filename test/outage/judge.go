package main

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/IBM/sarama"
)

// hop is a record in a tier or in the dead-letter topic, as its headers tell it.
type hop struct {
	id        string
	attempts  int // made
	notBefore time.Time
	failed    time.Time // the last time
	status    int       // of the answer then; 0: none
	reason    string    // of a dead letter, or ""
}

func hopOf(m *sarama.ConsumerMessage) hop {
	return hop{
		id: header(m, "x-event-id"), attempts: int(number(m, "x-attempt")), status: int(number(m, "x-status")), reason: header(m, "x-reason"),
		notBefore: time.UnixMilli(number(m, "x-not-before")), failed: time.UnixMilli(number(m, "x-last-failure-at")),
	}
}

// evidence is all that the judgement of an outage rests on: what was written, what the
// endpoint saw, and what the topics hold. The daemon is not asked.
type evidence struct {
	written      map[string]int // attempts that a record had made when it was written, by id
	calls        []call
	health       []call
	hops         []hop
	began, ended time.Time // of the outage
}

// result is a row of the table.
type result struct {
	kind        kind
	deadLetters int
	spent       int // attempts in the outage
	posts       int // in the outage
	mayPost     int
	resume      time.Duration // until the first record was accepted, by the pace
	rate        float64       // largest share of what the ramp and the rate allow
	repeats     int
	broken      []string
	failed      bool // the run did not come to its end: there are no figures
}

func (r *result) breaks(format string, args ...any) {
	r.broken = append(r.broken, fmt.Sprintf(format, args...))
}

// judge compares what happened with the bounds of the kind.
func judge(k kind, e evidence, p *pace) result {
	r := result{kind: k, mayPost: k.mayPost(e.ended.Sub(e.began))}
	e.delivered(&r, e.spent(&r))
	e.requests(&r)
	e.resumption(&r, p)
	r.bounds()
	return r
}

func (r *result) bounds() {
	if r.deadLetters > 0 {
		r.breaks("%d dead letters", r.deadLetters)
	}
	if r.spent > r.kind.maySpend {
		r.breaks("%d attempts spent, at most %d were allowed", r.spent, r.kind.maySpend)
	}
	if r.posts > r.mayPost {
		r.breaks("%d POSTs in the outage, at most %d were allowed", r.posts, r.mayPost)
	}
	if late := compressed(maxProbeInterval) + resumeSlack; r.resume > late {
		r.breaks("delivery resumed after %s, more than a probe interval", r.resume)
	}
	if r.repeats > maxInFlight { // nobody but who was in flight at one moment
		r.breaks("%d records were accepted twice, at most %d may be", r.repeats, maxInFlight)
	}
	if r.rate > 1 {
		r.breaks("the endpoint got %.2f times what the ramp allows", r.rate)
	}
}

// resumeSlack is what the answer to a probe, and the next record, take on top of the
// interval.
const resumeSlack = 10 * tick

// spent counts the attempts that were spent in the outage, and returns how many failed
// ones each record has made in all, without the dead ones.
func (e evidence) spent(r *result) map[string]int {
	attempts := make(map[string]int, len(e.written))
	for id, made := range e.written {
		attempts[id] = made
	}
	dead := map[string]bool{}
	for _, h := range e.hops {
		if h.reason != "" {
			dead[h.id] = true
			r.deadLetters++
		}
		more := h.attempts - attempts[h.id]
		if more <= 0 { // written by us, or moved without an attempt
			continue
		}
		attempts[h.id] = h.attempts
		if e.causes(r.kind.mode, h) {
			r.spent += more
		}
	}
	maps.DeleteFunc(attempts, func(id string, _ int) bool { return dead[id] })
	return attempts
}

// causes reports whether a failure is the outage's, by its time and its answer: on a busy
// machine an attempt can time out before it, too. What began in the outage may end a
// timeout after it. Headers tell milliseconds.
func (e evidence) causes(m mode, h hop) bool {
	return h.status == max(0, int(m)) && !h.failed.Before(e.began.Truncate(time.Millisecond)) &&
		h.failed.Before(e.ended.Add(compressed(timeout)))
}

// delivered finds every record again. One is accepted twice where its answer was lost: on
// a busy machine it can come too late. That counts as a failed attempt, or as none if the
// breaker opened meanwhile. Where the repeat is still to come the topics tell of as many
// failed attempts as were accepted.
func (e evidence) delivered(r *result, attempts map[string]int) {
	accepted := map[string]int{} // number of the last attempt
	for _, c := range e.calls {
		if !c.accepts() {
			continue
		}
		if _, ours := e.written[c.id]; !ours {
			r.breaks("a request for %q, which nobody wrote", c.id)
		}
		if accepted[c.id] > 0 {
			r.repeats++
		}
		accepted[c.id] = c.attempt
	}
	for _, id := range slices.Sorted(maps.Keys(attempts)) {
		made := attempts[id]
		if got := accepted[id]; got != made+1 && (got != made || got == 0) {
			r.breaks("%s: accepted in attempt %d, its topics tell of %d failed ones", id, got, made)
		}
	}
}

// requests counts what the endpoint saw in the outage, and how the rate grew after it.
func (e evidence) requests(r *result) {
	var after []time.Time
	for _, c := range e.calls {
		switch {
		case !c.arrived.Before(e.ended):
			after = append(after, c.arrived)
		case !c.arrived.Before(e.began):
			r.posts++
		}
	}
	r.rate = peak(e.closed(), after)
}

// closed returns when the breaker closed at the earliest: when the first request was
// answered well after the outage, be it a record's or one for the endpoint's health.
func (e evidence) closed() time.Time {
	var first time.Time
	for _, c := range slices.Concat(e.calls, e.health) {
		if c.accepts() && !c.arrived.Before(e.ended) && (first.IsZero() || c.arrived.Before(first)) {
			first = c.arrived
		}
	}
	return first
}

// resumption measures from the first moment when a record could be accepted: the end of
// the outage, or of the last request that hung then.
func (e evidence) resumption(r *result, p *pace) {
	possible, first := e.ended, time.Time{}
	for _, c := range e.calls {
		if c.mode == hanging && c.ended.After(possible) {
			possible = c.ended
		}
		if first.IsZero() && c.accepts() && !c.arrived.Before(e.ended) {
			first = c.arrived
		}
	}
	if first.IsZero() {
		r.breaks("delivery did not resume")
		return
	}
	r.resume = p.between(possible, first)
}
