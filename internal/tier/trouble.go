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
	of      string // the topic or the group
	why     string // with how to mend it
	fault   bool   // a person has to mend it
	passing bool   // another reason is no news: it may change with each try
	common  bool   // the same for all topics and relays: one line is enough
	quiet   bool   // part of every start: not logged
	records int    // how many it holds up; the last one of them ends it

	since, renewed time.Time
	asked, logged  bool // whether it was to be logged, and was
}

// troubles are those of one relay that are open. They are safe for concurrent use;
// the zero value has none.
type troubles struct {
	some atomic.Bool // false: nothing is open, which costs no lock to know

	mu    sync.Mutex
	open  []trouble
	ready bool // was ready once
}

// raise opens a trouble, or gives an open one its newest reason, and returns whether
// to log it. allow is asked where that would be news; it must not call back.
func (t *troubles) raise(n trouble, now time.Time, allow func() bool) (log bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	at := t.find(n.kind, n.of)
	if at == nil {
		t.open = append(t.open, trouble{kind: n.kind, of: n.of, since: now})
		t.some.Store(true)
		at = &t.open[len(t.open)-1]
	}
	news := !at.asked || at.why != n.why && !n.passing
	at.why, at.fault, at.renewed = n.why, n.fault, now
	at.records += n.records
	if n.quiet || !news {
		return false
	}
	at.asked = true
	log = allow()
	at.logged = at.logged || log
	return log
}

// end closes a trouble, or frees one of the records that it holds up. ok is false if
// it goes on, or was not open.
func (t *troubles) end(k kind, of string) (ended trouble, ok bool) {
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

func (t *troubles) has(k kind, of string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.find(k, of) != nil
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

// report tells set whether nothing open is blocking, under the lock so that the
// newest word is the last, and returns whether that is so for the first time. set
// must not call back.
func (t *troubles) report(set func(ready bool)) (first bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	ready := !slices.ContainsFunc(t.open, func(each trouble) bool { return each.kind.blocking() })
	set(ready)
	first = ready && !t.ready
	t.ready = t.ready || ready
	return first
}

// problems lists what is open for people: what several groups or topics have in
// common is one problem. fault says that the relay is not ready until a person
// mends something.
func (t *troubles) problems() (list []status.Problem, fault bool) {
	t.mu.Lock()
	open := slices.Clone(t.open)
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
			Text: first.kind.text(strings.Join(of, ", "), first.why), Since: since, Blocking: first.kind.blocking(),
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
