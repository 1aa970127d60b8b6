package main

import (
	"context"
	"fmt"
	"time"

	"github.com/IBM/sarama"
)

// onSchedule is how late an attempt may begin, in real time and apart from that in
// which the process could not run. A breaker that is open lets one begin in that time.
const onSchedule = maxProbeInterval

// poisoned is what came of records that a healthy endpoint never accepts.
type poisoned struct {
	health                             bool // endpoint.health is set
	repeated                           int  // attempts that were not judged, while health was asked for, and made again
	records, exhausted, limited, posts int
	latest                             time.Duration // begin of an attempt after it was due
	broken                             []string
	failed                             bool // as of a result
}

func (r *poisoned) breaks(format string, args ...any) {
	r.broken = append(r.broken, fmt.Sprintf(format, args...))
}

// poison runs n records, alone in the tiers of a healthy endpoint that answers 500 to
// each, for ever. With health a few failures have that asked for, which must change nothing.
func poison(ctx context.Context, n int, health, kafka bool) (r poisoned, err error) {
	k := kind{tiers: shortTiers(), health: health, kafka: kafka}
	all := func(string) bool { return true }
	err = play(ctx, k, all, func(ctx context.Context, s *stage) error {
		records := k.poison(n, time.Now().Add(lead))
		messages := make([]*sarama.ProducerMessage, n)
		e := evidence{written: map[string]int{}}
		for i, w := range records {
			messages[i] = w.message(i, k.delays())
			e.written[w.id] = w.tier
		}
		if err := s.topics.write(messages); err != nil {
			return err
		}
		e, err := s.settle(ctx, e)
		if err != nil {
			return err
		}
		r = judgePoison(records, e, k, &s.pace)
		return nil
	})
	return r, err
}

// poison returns records in all tiers, with as many failures of the limited kind as
// there can be, due evenly over each tier's delay.
func (k kind) poison(n int, from time.Time) []waiting {
	delays := k.delays()
	all := make([]waiting, n)
	for i := range all {
		tier := i%len(delays) + 1
		all[i] = waiting{
			id: fmt.Sprintf("poison-%d", i), tier: tier,
			limited: min(i/len(delays)%(tier+1), limitedAttempts-1),
			due:     from.Add(delays[tier-1] * time.Duration(i) / time.Duration(n)),
		}
	}
	return all
}

// end returns how many further attempts the schedule gives a record that fails for ever
// with 500, and why it ends.
func (w waiting) end(tiers int) (attempts int, reason string) {
	for made, limited := w.tier, w.limited; ; {
		attempts, made, limited = attempts+1, made+1, limited+1
		switch {
		case limited >= limitedAttempts:
			return attempts, "limited"
		case made > tiers:
			return attempts, "exhausted"
		}
	}
}

// judgePoison compares each record's walk with the schedule.
func judgePoison(records []waiting, e evidence, k kind, p *pace) poisoned {
	r := poisoned{health: k.health, records: len(records), posts: len(e.calls)}
	calls, reasons, due := map[string][]call{}, map[string][]string{}, map[string]time.Time{}
	for _, c := range e.calls {
		calls[c.id] = append(calls[c.id], c)
	}
	for _, h := range e.hops {
		if h.reason != "" {
			reasons[h.id] = append(reasons[h.id], h.reason)
			continue
		}
		due[step(h.id, h.attempts)] = h.notBefore
	}
	for _, w := range records {
		r.walk(w, len(k.tiers), r.judged(calls[w.id]), reasons[w.id])
		for _, c := range calls[w.id] {
			r.punctual(c, due[step(c.id, c.attempt-1)], p)
		}
	}
	if most := len(e.health) * maxInFlight; r.repeated > most {
		r.breaks("%d attempts were made again, %d at most are explained by those in flight when health was asked for", r.repeated, most)
	}
	if late := compressed(onSchedule); r.latest > late {
		r.breaks("an attempt began %s after it was due", r.latest)
	}
	return r
}

// judged returns the calls of a record without those that were made again.
func (r *poisoned) judged(calls []call) []call {
	var judged []call
	for i, c := range calls {
		if i+1 < len(calls) && calls[i+1].attempt == c.attempt {
			r.repeated++
			continue
		}
		judged = append(judged, c)
	}
	return judged
}

func step(id string, attempts int) string { return fmt.Sprintf("%s/%d", id, attempts) }

// walk compares the attempts and the end of a record with the schedule's.
func (r *poisoned) walk(w waiting, tiers int, calls []call, reasons []string) {
	attempts, reason := w.end(tiers)
	if len(calls) != attempts {
		r.breaks("%s: %d attempts, the schedule has %d", w.id, len(calls), attempts)
	}
	for i, c := range calls {
		if c.attempt != w.tier+1+i {
			r.breaks("%s: attempt %d came in place of %d", w.id, c.attempt, w.tier+1+i)
		}
	}
	if len(reasons) != 1 || reasons[0] != reason {
		r.breaks("%s: dead letters with the reasons %v, want one: %s", w.id, reasons, reason)
		return
	}
	if reason == "limited" {
		r.limited++
	} else {
		r.exhausted++
	}
}

// punctual looks when an attempt began.
func (r *poisoned) punctual(c call, due time.Time, p *pace) {
	if due.IsZero() {
		r.breaks("%s: attempt %d comes from no tier", c.id, c.attempt)
		return
	}
	if c.arrived.Before(due) {
		r.breaks("%s: attempt %d came %s before it was due", c.id, c.attempt, due.Sub(c.arrived))
	}
	r.latest = max(r.latest, p.between(due, c.arrived))
}
