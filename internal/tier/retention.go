package tier

import (
	"fmt"
	"time"
)

// retention is for how long a source keeps its records; 0: for ever, as far as is known.
// A tier that is no longer configured is not looked at: it keeps what tiers have to.
func (r *Relay) retention(src source) time.Duration {
	if src.retired {
		return leastTierRetention
	}
	rt := r.routes.Load()
	if rt == nil {
		return 0
	}
	keeps, _ := rt.topics[src.topic].Retention()
	return keeps
}

// noteAge tells of a main topic that will delete records before long: they are never
// moved, so nothing else saves them.
func (s *session) noteAge(oldest time.Duration) {
	r, src := s.consumer.relay, s.consumer.source
	keeps := r.retention(src)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !src.main() || s.over:
	case keeps > 0 && oldest > keeps/2:
		r.raise(kindAge, src.topic, fmt.Errorf("topic %s keeps its records for %s (retention.ms), and half of that is over for the oldest that is not done: mend what holds up delivery, or raise retention.ms", src.topic, keeps))
	default:
		r.over(kindAge, src.topic)
	}
}
