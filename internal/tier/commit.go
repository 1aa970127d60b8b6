package tier

import (
	"context"
	"errors"
	"time"

	"github.com/retryd/retryd/internal/kafka"
)

const (
	// commitInterval is how often complete work is committed.
	commitInterval = time.Second
	// commitsMayFail is for how long that is no trouble while attempts may still start: as
	// long as a group takes to get another coordinator.
	commitsMayFail = 15 * time.Second
)

// writeCommits is the group's one commit writer.
func (s *session) writeCommits(ctx context.Context) {
	tick := time.NewTicker(commitInterval)
	defer tick.Stop()
	for {
		asked := false
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		case <-s.renew:
			asked = true
		}
		began := time.Now()
		if err := s.commit(asked); err != nil {
			s.cannotCommit(err, began)
			sleep(ctx, 100*time.Millisecond)
		}
	}
}

// cannotCommit tells of a commit that failed, and when it began. A member that was put
// out of its group begins another session by itself.
func (s *session) cannotCommit(err error, began time.Time) {
	c, now := s.consumer, time.Now()
	c.lastError.note(now, explain(err))
	if errors.Is(err, kafka.ErrFenced) {
		s.fenced(err)
		return
	}
	if s.failing.IsZero() {
		s.failing = began
	}
	if isFault(err) || s.matters(now.Sub(s.failing), now) {
		c.relay.raise(kindCommit, s.member.Group, err)
	}
}

// fenced tells of a commit that came too late, which is once for a session: no later
// one succeeds.
func (s *session) fenced(err error) {
	s.consumer.relay.warn("commit came too late: the group has begun anew, and what was not committed is delivered again by the partition's next owner", s.consumer.source.topic, err)
}

// matters reports whether commits have failed for too long: no attempt starts for want
// of a lease, or soon none will.
func (s *session) matters(failing time.Duration, now time.Time) bool {
	return failing >= commitsMayFail || failing >= moment && !s.leased(now)
}

// commit writes what changed since the last acknowledged commit, be it an offset or what
// is completed above it; if everything is asked for, what is unchanged too, which renews
// the lease.
func (s *session) commit(everything bool) error {
	s.consumer.writing.beat(s.consumer.relay.age())
	defer s.consumer.writing.rest()
	topic := s.consumer.source.topic
	offsets, now := kafka.Offsets{}, map[int32]position{}
	for p, c := range s.claims {
		last := s.acked[p]
		at := c.position(last, s.metadataLimit())
		now[p] = at
		if at.Committed != last.Committed || everything {
			offsets.Set(topic, p, at.Committed)
		}
	}
	if len(offsets) == 0 {
		return nil
	}
	sent := time.Now()
	err := s.consumer.relay.cluster.Commit(s.member, offsets)
	s.consumer.metrics.Committed(err)
	if errors.Is(err, kafka.ErrFenced) {
		s.lease(time.Time{})
	}
	if err != nil {
		return err
	}
	s.acked = now // only one commit is in flight: begin, the writer, or finish
	s.failing = time.Time{}
	s.lease(sent)
	s.consumer.relay.over(kindCommit, s.member.Group)
	for _, c := range s.claims {
		c.nudge()
	}
	return nil
}

func (s *session) lease(sent time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent = sent
}

// leased reports whether an attempt may start at a moment. Both clocks are asked:
// the monotonic one stands still while the machine sleeps, the wall clock can be
// set.
func (s *session) leased(at time.Time) bool {
	s.mu.Lock()
	sent := s.sent
	s.mu.Unlock()
	half := s.consumer.relay.deps.Kafka.SessionTimeout / 2
	return !sent.IsZero() && at.Sub(sent) < half && at.Round(0).Sub(sent.Round(0)) < half
}

// requestRenewal asks for a commit now, without waiting for it.
func (s *session) requestRenewal() {
	select {
	case s.renew <- struct{}{}:
	default:
	}
}
