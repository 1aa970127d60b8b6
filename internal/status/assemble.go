package status

import (
	"slices"
	"time"
)

// Assemble makes the word of a process out of its parts, which it leaves as they
// are. Ready is its own judgement: no problem of the whole process is blocking, one
// relay at least is ready, and each one that is not has a fault. So what a person
// must mend in one relay takes no other out of service, and a process whose relays
// all have a fault is not ready.
//
// Times become UTC in milliseconds; lists are never nil, so that JSON has [] for
// an empty one.
func Assemble(version string, since, now time.Time, problems []Problem, relays []Relay) Process {
	p := Process{
		Version:  version,
		Time:     stamp(now),
		Since:    stamp(since),
		Problems: tidyProblems(problems),
		Relays:   make([]Relay, 0, len(relays)),
	}
	for _, r := range relays {
		p.Relays = append(p.Relays, r.tidy())
	}
	p.Ready = ready(p.Problems, p.Relays)
	return p
}

func ready(problems []Problem, relays []Relay) bool {
	if slices.ContainsFunc(problems, func(p Problem) bool { return p.Blocking }) {
		return false
	}
	waiting := func(r Relay) bool { return !r.Ready && !r.Fault }
	return slices.ContainsFunc(relays, isReady) && !slices.ContainsFunc(relays, waiting)
}

func isReady(r Relay) bool { return r.Ready }

func (r Relay) tidy() Relay {
	r.Problems = tidyProblems(r.Problems)
	r.LastError = r.LastError.tidy()
	r.Halt = r.Halt.tidy()
	tiers := make([]Tier, 0, len(r.Tiers))
	for _, t := range r.Tiers {
		tiers = append(tiers, t.tidy())
	}
	r.Tiers = tiers
	return r
}

func (t Tier) tidy() Tier {
	t.Partitions = append([]int32{}, t.Partitions...)
	t.LastError = t.LastError.tidy()
	if t.Furthest != nil {
		furthest := stamp(*t.Furthest)
		t.Furthest = &furthest
	}
	return t
}

func (e *Event) tidy() *Event {
	if e == nil {
		return nil
	}
	return &Event{stamp(e.Time), e.Text}
}

func tidyProblems(problems []Problem) []Problem {
	tidied := append([]Problem{}, problems...)
	for i := range tidied {
		tidied[i].Since = stamp(tidied[i].Since)
	}
	return tidied
}

func stamp(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }
