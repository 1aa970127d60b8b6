package tier

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/retryd/retryd/internal/status"
)

// trouble is something that does not work, from its beginning to its end.
type trouble struct {
	kind    kind
	of      string        // the topic, partition, group or endpoint
	why     string        // with how to mend it
	fault   bool          // a person has to mend it
	passing bool          // another reason is no news: it may change with each try
	common  bool          // the same for all topics and relays: one line is enough
	away    bool          // brokers do not answer or cannot serve
	missing bool          // a topic does not exist
	grace   time.Duration // it is shown, and keeps from being ready, only when it lasts longer
	hush    time.Duration // it is logged only when it lasts longer
	records int           // how many it holds up; the last one of them ends it

	since, renewed       time.Time
	explained            time.Time // when it last did, see explains
	shown, asked, logged bool      // whether it is shown, was to be logged, and was
	again                time.Time // when to ask for a line that was kept back
	suppressed           int       // lines that were kept back before its own
}

// troubles are those of one relay that are open. They are safe for concurrent use;
// the zero value has none.
type troubles struct {
	some atomic.Bool // false: nothing is open, which costs no lock to know

	mu    sync.Mutex
	open  []trouble
	past  []past // those that ended a moment ago
	ready bool   // was ready once
}

// past is a trouble that has ended before it was told.
type past struct {
	kind         kind
	of           string
	since, until time.Time
	explained    time.Time
}

// allow is asked whether a trouble's line may be written, where it would be news, and
// how many were kept back before it. It must not call back.
type allow func(trouble) (suppressed int, ok bool)

// raise opens a trouble, or gives an open one its newest reason. log says whether to
// log it as it is returned.
func (t *troubles) raise(n trouble, now time.Time, may allow) (raised trouble, log bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := t.find(n.kind, n.of)
	if at == nil {
		before := t.before(n, now)
		t.open = append(t.open, trouble{kind: n.kind, of: n.of, since: before.since, explained: before.explained, why: n.why})
		t.some.Store(true)
		at = &t.open[len(t.open)-1]
	}
	if at.why != n.why && !n.passing {
		at.asked = false
	}
	at.why, at.fault, at.passing, at.common, at.away, at.missing = n.why, n.fault, n.passing, n.common, n.away, n.missing
	at.grace, at.hush, at.renewed = n.grace, n.hush, now
	at.records += n.records
	log = t.ripenOne(at, now, may)
	return *at, log
}

// before returns when a trouble began, and what explained it: where one ended less than a
// moment ago and nobody was told, it goes on. A group that gathers again and again
// delivers next to nothing. The caller holds mu.
func (t *troubles) before(n trouble, now time.Time) past {
	t.past = slices.DeleteFunc(t.past, func(each past) bool { return now.Sub(each.until) >= moment })
	for _, each := range t.past {
		if each.kind == n.kind && each.of == n.of {
			return each
		}
	}
	return past{since: now}
}

// ripen shows the troubles that have lasted for long enough, and returns those to log.
func (t *troubles) ripen(now time.Time, may allow) (log []trouble) {
	if !t.some.Load() {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range t.open {
		if t.ripenOne(&t.open[i], now, may) {
			log = append(log, t.open[i])
		}
	}
	return log
}

// ripenOne returns whether to log a trouble. The caller holds mu.
func (t *troubles) ripenOne(at *trouble, now time.Time, may allow) (log bool) {
	at.shown = at.shown || now.Sub(at.since) >= at.grace
	if t.explains(at) {
		at.explained = now
		return false
	}
	told := at.asked && (at.logged || at.common || now.Before(at.again))
	if !at.shown || told || now.Sub(at.since) < at.hush || now.Sub(at.explained) < at.hush {
		return false
	}
	at.asked, at.again = true, now.Add(insist)
	at.suppressed, log = may(*at)
	at.logged = at.logged || log
	return log
}

// insist is how long after a line was kept back it is asked for again: a trouble that lasts
// has its line, whatever came shortly before it.
const insist = 35 * time.Second

// explains reports whether a trouble only follows from topics that do not exist, which
// the look at the topics tells of. The caller holds mu.
func (t *troubles) explains(at *trouble) bool {
	return at.missing && at.kind != kindTopics &&
		slices.ContainsFunc(t.open, func(each trouble) bool { return each.missing && each.kind == kindTopics })
}

// end closes a trouble, or frees one of the records that it holds up. ok is false if
// it goes on, or was not open.
func (t *troubles) end(k kind, of string, now time.Time) (ended trouble, ok bool) {
	if !t.some.Load() {
		return trouble{}, false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	at := t.find(k, of)
	if at == nil {
		return trouble{}, false
	}
	if at.records--; at.records > 0 {
		return trouble{}, false
	}
	ended = *at
	t.open = slices.DeleteFunc(t.open, func(each trouble) bool { return each.kind == k && each.of == of })
	t.some.Store(len(t.open) > 0)
	t.past = slices.DeleteFunc(t.past, func(each past) bool { return each.kind == k && each.of == of || now.Sub(each.until) >= moment })
	if !ended.asked { // else it was news, and what follows is another one
		t.past = append(t.past, past{kind: k, of: of, since: ended.since, until: now, explained: ended.explained})
	}
	return ended, true
}

// find returns an open trouble, or nil. The caller holds mu.
func (t *troubles) find(k kind, of string) *trouble {
	for i := range t.open {
		if t.open[i].kind == k && t.open[i].of == of {
			return &t.open[i]
		}
	}
	return nil
}

// has reports whether a trouble is shown.
func (t *troubles) has(k kind, of string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := t.find(k, of)
	return at != nil && at.shown
}

// why returns why a trouble is as it is; "" if it is not open.
func (t *troubles) why(k kind, of string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if at := t.find(k, of); at != nil {
		return at.why
	}
	return ""
}

// isOpen reports whether a trouble is open, shown or not yet.
func (t *troubles) isOpen(k kind, of string) bool {
	if !t.some.Load() {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.find(k, of) != nil
}

// away reports whether it is told that a broker does not answer, the control topic left out.
func (t *troubles) away() bool {
	if !t.some.Load() {
		return false
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.ContainsFunc(t.open, func(each trouble) bool {
		return each.away && each.shown && each.kind != kindAwait && each.kind != kindControl
	})
}

// lapsed returns what the open troubles of a kind are about that were not renewed
// since a time.
func (t *troubles) lapsed(k kind, since time.Time) (of []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, each := range t.open {
		if each.kind == k && each.renewed.Before(since) {
			of = append(of, each.of)
		}
	}
	return of
}

// report tells set whether nothing that is shown is blocking, under the lock so that the
// newest word is the last, and returns whether that is so for the first time. set
// must not call back.
func (t *troubles) report(set func(ready bool)) (first bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	ready := !slices.ContainsFunc(t.open, func(each trouble) bool { return each.shown && each.kind.blocking() })
	set(ready)
	first = ready && !t.ready
	t.ready = t.ready || ready
	return first
}

// problems lists what is shown, for people: what several groups or topics have in
// common is one problem. fault says that the relay is not ready until a person
// mends something.
func (t *troubles) problems() (list []status.Problem, fault bool) {
	t.mu.Lock()
	open := slices.DeleteFunc(slices.Clone(t.open), func(each trouble) bool { return !each.shown || t.explains(&each) })
	t.mu.Unlock()
	slices.SortStableFunc(open, func(a, b trouble) int { return int(a.kind) - int(b.kind) })
	for len(open) > 0 {
		first := open[0]
		alike := func(each trouble) bool { return each.kind == first.kind && each.why == first.why }
		var of []string
		since := first.since
		for _, each := range open {
			if alike(each) {
				of = append(of, each.of)
				since = earlier(since, each.since)
				fault = fault || each.fault
			}
		}
		open = slices.DeleteFunc(open, alike)
		list = append(list, status.Problem{
			Text: first.kind.text(strings.Join(of, ", "), first.why), Since: since, Blocking: first.kind.blocking(), Away: first.away,
		})
	}
	return list, fault
}

// earlier returns the earlier of two times, of which the zero one is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
