package harness

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/IBM/sarama"
)

// evidence is all that a judgement rests on.
type evidence struct {
	entries []*entry
	index   index
	tiers   []Tier
	calls   []Call                    // all requests, in the order of arrival
	hops    []*sarama.ConsumerMessage // everything in the tier topics
	dead    []*sarama.ConsumerMessage // everything in the dead-letter topics
}

// history is what happened to one entry.
type history struct {
	*entry
	id       string // the event id that it was first seen with
	calls    []Call
	hops     []*sarama.ConsumerMessage
	accepted []time.Time
	dead     int
}

// judge compares what was written with what happened. It is pure.
func judge(e evidence) Report {
	r := Report{Written: len(e.entries), Requests: len(e.calls)}
	histories := make([]history, len(e.entries))
	for i, entry := range e.entries {
		histories[i] = history{entry: entry, id: entry.ID}
	}
	e.follow(histories, &r)
	for i := range histories {
		histories[i].outcome(&r)
		histories[i].early(e.tiers, &r)
		histories[i].attempts(e.tiers, &r)
	}
	disordered(histories, &r)
	return r
}

// follow assigns every request, hop and dead letter to its entry, and compares
// the bytes on the way.
func (e evidence) follow(histories []history, r *Report) {
	for _, call := range e.calls {
		at := position{call.Topic, call.Partition, call.Offset}
		entry := e.index.find(call.EventID, at)
		if entry == nil {
			r.Unknown = append(r.Unknown, Finding{call.EventID, fmt.Sprintf("a request for %s, which the ledger did not write", at)})
			continue
		}
		h := &histories[entry.sequence]
		h.calls = append(h.calls, call)
		if call.Answer.accepts() && !call.Answered.IsZero() {
			h.accepted = append(h.accepted, call.Answered)
		}
		h.compareRequest(call, r)
	}
	for _, hop := range e.hops {
		if h := e.assign(histories, hop, r); h != nil {
			h.hops = append(h.hops, hop)
		}
	}
	for _, letter := range e.dead {
		if h := e.assign(histories, letter, r); h != nil {
			h.dead++
		}
	}
}

func (e evidence) assign(histories []history, m *sarama.ConsumerMessage, r *Report) *history {
	entry := e.index.find(origin(m))
	if entry == nil {
		r.Unknown = append(r.Unknown, Finding{header(m, headerEventID),
			fmt.Sprintf("a record at %s/%d/%d, which the ledger did not write", m.Topic, m.Partition, m.Offset)})
		return nil
	}
	h := &histories[entry.sequence]
	h.compareRecord(m, e.tiers, r)
	return h
}

// outcome counts how the record ended. More than one end is a repeat.
func (h *history) outcome(r *Report) {
	if len(h.accepted) > 0 {
		r.Accepted++
	}
	if h.dead > 0 {
		r.DeadLettered++
	}
	switch ends := len(h.accepted) + h.dead; {
	case ends == 0:
		r.Lost = append(r.Lost, Finding{h.name, fmt.Sprintf("%d requests, %d hops, no end", len(h.calls), len(h.hops))})
	case ends > 1:
		r.Repeated = append(r.Repeated, Finding{h.name, fmt.Sprintf("accepted %d times, dead-lettered %d times", len(h.accepted), h.dead)})
	}
}

// early finds requests that arrived before the not-before of the hop they belong
// to. A hop with x-attempt n holds the record for attempt n+1. If there are
// several such hops (after a move or a repeat) the earliest counts, since a
// request does not say which of them it came from; but none that was written after
// an answer that spends no attempt, and so after the request.
func (h *history) early(tiers []Tier, r *Report) {
	for _, call := range h.calls {
		var due []time.Time
		for _, hop := range h.hops {
			later := !spends(call) && !hop.Timestamp.Before(call.Arrived.Truncate(time.Millisecond))
			if hopAttempt(hop, tiers)+1 == call.Attempt && !later {
				due = append(due, hopNotBefore(hop, tiers))
			}
		}
		if len(due) == 0 {
			continue
		}
		if notBefore := slices.MinFunc(due, time.Time.Compare); call.Arrived.Before(notBefore) {
			r.Early = append(r.Early, Finding{h.name,
				fmt.Sprintf("attempt %d arrived %v before its time", call.Attempt, notBefore.Sub(call.Arrived))})
		}
	}
}

// attempts checks that the numbers of the attempts count up by one. A number may
// come again only after an answer that spends no attempt.
func (h *history) attempts(tiers []Tier, r *Report) {
	want := 1
	if i := tierOf(h.topic, tiers); i >= 0 {
		want = writtenAttempt(h.Headers, i) + 1
	}
	for i, call := range h.calls {
		if i > 0 && spends(h.calls[i-1]) {
			want++
		}
		if call.Attempt != want {
			r.WrongAttempts = append(r.WrongAttempts, Finding{h.name, "attempts " + numbers(h.calls)})
			return
		}
	}
}

// spends reports whether the answer to a call used up its attempt. Being
// throttled, and answers that speak of the endpoint rather than of the record, do
// not.
func spends(c Call) bool {
	status := c.Answer.status()
	if c.Answered.IsZero() || c.Answer.Hang {
		return true
	}
	return status/100 != 3 && !slices.Contains([]int{
		http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed,
		http.StatusProxyAuthRequired, http.StatusUnsupportedMediaType, http.StatusTooManyRequests,
	}, status)
}

func numbers(calls []Call) string {
	list := make([]string, len(calls))
	for i, call := range calls {
		list[i] = fmt.Sprint(call.Attempt)
	}
	return strings.Join(list, ", ")
}

// disordered finds records that were accepted for the first time before one of
// their key and topic that was written earlier. Records without a key have no
// order.
func disordered(histories []history, r *Report) {
	type key struct{ topic, key string }
	latest := map[key]time.Time{}
	for _, h := range histories { // in the order of writing
		if h.Key == nil || len(h.accepted) == 0 {
			continue
		}
		k := key{h.topic, string(h.Key)}
		first := slices.MinFunc(h.accepted, time.Time.Compare)
		if first.Before(latest[k]) {
			r.Disordered = append(r.Disordered, Finding{h.name, fmt.Sprintf("accepted before an earlier record of key %q", h.Key)})
		} else {
			latest[k] = first
		}
	}
}
