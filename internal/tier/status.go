package tier

import (
	"slices"
	"strings"
	"sync"
)

// status is what a relay says of itself. It is safe for concurrent use.
type status struct {
	mu        sync.Mutex
	err       error // why the topics do not stand; nil once they do
	prepared  bool  // consumers are known
	consumers []*consumer
	members   map[*consumer]bool // joined its group at least once
}

func (s *status) set(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

func (s *status) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = nil
}

// expect names all consumers, before any of them runs.
func (s *status) expect(consumers []*consumer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.consumers, s.prepared = slices.Clone(consumers), true
}

func (s *status) forget(c *consumer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.consumers = slices.DeleteFunc(s.consumers, func(each *consumer) bool { return each == c })
}

func (s *status) joined(c *consumer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.members == nil {
		s.members = map[*consumer]bool{}
	}
	s.members[c] = true
}

// each calls f for every consumer, without holding the lock.
func (s *status) each(f func(*consumer)) {
	s.mu.Lock()
	consumers := slices.Clone(s.consumers)
	s.mu.Unlock()
	for _, c := range consumers {
		f(c)
	}
}

func (s *status) problem() (text string, fault bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return s.err.Error(), isFault(s.err)
	}
	if !s.prepared {
		return "its topics are not checked yet", false
	}
	var missing []string
	for _, c := range s.consumers {
		if !s.members[c] {
			missing = append(missing, c.source.group)
		}
	}
	if len(missing) > 0 {
		return "has not joined " + strings.Join(missing, ", "), false
	}
	return "", false
}
