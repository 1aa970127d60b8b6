package tier

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/IBM/sarama"

	"github.com/retryd/retryd/internal/kafka"
)

// status is what a relay says of itself. It is safe for concurrent use.
type status struct {
	mu        sync.Mutex
	err       error // why the topics do not stand; nil once they do
	prepared  bool  // consumers are known
	consumers []*consumer
	members   map[*consumer]error // nil: it has joined its group; else why not
	wasReady  bool
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

// errJoining is why a consumer is no member that has not failed either. The group
// answers when all others have joined, or were given up.
var errJoining = errors.New("joining; an instance that was killed is waited for, up to kafka.session_timeout")

// expect names all consumers, before any of them runs.
func (s *status) expect(consumers []*consumer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.consumers, s.prepared = slices.Clone(consumers), true
	s.members = make(map[*consumer]error, len(consumers))
	for _, c := range consumers {
		s.members[c] = errJoining
	}
}

// forget takes out the consumer of a retired tier.
func (s *status) forget(c *consumer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.consumers = slices.DeleteFunc(s.consumers, func(each *consumer) bool { return each == c })
}

func (s *status) joined(c *consumer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.members[c] = nil
}

// left notes why a consumer is not a member.
func (s *status) left(c *consumer, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.members[c] = err
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

// report tells set whether nothing is missing, under the lock so that the newest
// word is the last, and returns whether that has just become true. set must not call
// back.
func (s *status) report(set func(ready bool)) (becameReady bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, _ := s.missing()
	ready := text == ""
	set(ready)
	becameReady, s.wasReady = ready && !s.wasReady, ready
	return becameReady
}

func (s *status) problem() (text string, fault bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.missing()
}

// missing returns what keeps the relay from being ready. The caller holds mu.
func (s *status) missing() (text string, fault bool) {
	switch {
	case s.err != nil:
		return kafka.Explain(s.err), isFault(s.err)
	case !s.prepared:
		return "its topics are not checked yet", false
	}
	var absent []string
	for _, c := range s.consumers {
		if err := s.members[c]; err != nil {
			absent = append(absent, fmt.Sprintf("%s (%s)", c.source.group, whyAbsent(err)))
		}
	}
	if len(absent) == 0 {
		return "", false
	}
	return "is not a member of " + strings.Join(absent, ", "), false
}

func whyAbsent(err error) string {
	if errors.Is(err, sarama.ErrInvalidSessionTimeout) {
		return "kafka.session_timeout is outside of what the brokers allow: group.min.session.timeout.ms, by default 6 s, to group.max.session.timeout.ms"
	}
	return kafka.Explain(err)
}
