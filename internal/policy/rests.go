package policy

import "time"

// Rest is a topic in which records wait: a tier's, or a park topic.
type Rest struct {
	Delay time.Duration
	Least time.Duration // as Schedule.LeastDelay: what is not read yet waits for at least that
	Most  time.Duration // the longest wait that the topic is for
	Park  bool
}

// Rests are the topics in which the records of a relay wait. The place of one is its
// number, from 1.
type Rests []Rest

// Rests returns the tiers in their order, so that a tier's place is its step, and then
// the park topics, the shortest first.
func (s Schedule) Rests() Rests {
	var rests Rests
	for i, step := range s.Steps {
		rests = append(rests, Rest{Delay: step.Delay, Least: s.LeastDelay(i + 1), Most: step.wait(1)})
	}
	for _, delay := range s.Park {
		rests = append(rests, Rest{Delay: delay, Least: delay, Most: delay, Park: true})
	}
	return rests
}
