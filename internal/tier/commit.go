package tier

import (
	"context"
	"errors"
	"time"

	"go.uber.org/zap"

	"github.com/retryd/retryd/internal/kafka"
	"github.com/retryd/retryd/internal/logging"
)

const (
	// commitInterval is how often complete work is committed.
	commitInterval = time.Second
	// commitsMayFail is for how long that is no trouble while attempts may still start: as
	// long as a group takes to get another coordinator.
	commitsMayFail = 15 * time.Second
)

// writeCommits commits what is complete until ctx ends.
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

// cannotCommit tells of a commit that failed, and when it began. Being fenced lasts a
// moment while the member joins another generation within its session; else the session
// ends, and its last commit tells.
func (s *session) cannotCommit(err error, began time.Time) {
	c, now := s.consumer, time.Now()
	c.lastError.note(now, explain(err))
	if errors.Is(err, kafka.ErrFenced) {
		return
	}
	if isFault(err) || s.matters(now.Sub(s.failingSince(began)), now) {
		c.relay.raise(kindCommit, c.source.group, err)
	}
}

// failingSince returns when the first of the commits that failed in a row began, of
// which the newest began at a time.
func (s *session) failingSince(began time.Time) time.Time {
	s.committing.Lock()
	defer s.committing.Unlock()
	if s.failing.IsZero() {
		s.failing = began
	}
	return s.failing
}

// lastCommit commits for the last time for some claims, for what is complete, and tells
// what follows if that fails or not all of it fits.
func (s *session) lastCommit(claims map[int32]*claim) {
	switch err := s.commitLast(); {
	case err == nil:
		s.tellUntold(claims)
	case errors.Is(err, kafka.ErrFenced):
		s.fenced(err)
	case kafka.NoTopic(err): // nor is there anything to deliver again
	default:
		s.consumer.relay.warn("last commit of the session is missing: what was completed since the one before is delivered again", s.consumer.source.topic, err)
	}
}

// tellUntold tells of what is complete and did not fit beside the last commit of some
// claims.
func (s *session) tellUntold(claims map[int32]*claim) {
	s.committing.Lock()
	defer s.committing.Unlock()
	var records int64
	for p := range claims {
		records += s.acked[p].untold
	}
	if records > 0 {
		s.consumer.relay.log.Warn("last commit cannot tell of all that is complete: the rest is delivered again",
			zap.String(logging.FieldTopic, s.consumer.source.topic), zap.Int64("records", records))
	}
}

// commitLast tries for kafka.CommitTimeout, unless the topic is gone or what is in flight
// is given up. Being fenced is final when the session has ended.
func (s *session) commitLast() error {
	ended := s.assignment.Context()
	for deadline := time.Now().Add(kafka.CommitTimeout); ; sleep(s.consumer.abort, 100*time.Millisecond) {
		err := s.commitInTime(deadline)
		final := err == nil || kafka.NoTopic(err) || errors.Is(err, kafka.ErrFenced) && ended.Err() != nil
		if final || time.Now().After(deadline) || s.consumer.abort.Err() != nil {
			return err
		}
	}
}

// commitInTime commits what changed. It makes no try if its turn comes after the deadline
// and the commit before it has failed: many claims that are let go at once would wait
// for a coordinator that hangs one after the other.
func (s *session) commitInTime(deadline time.Time) error {
	s.committing.Lock()
	defer s.committing.Unlock()
	if s.failed != nil && time.Now().After(deadline) {
		return s.failed
	}
	return s.write(false)
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
	s.committing.Lock()
	defer s.committing.Unlock()
	return s.write(everything)
}

// write makes one commit. The caller holds committing.
func (s *session) write(everything bool) error {
	s.consumer.writing.beat(s.consumer.relay.age())
	defer s.consumer.writing.rest()
	topic := s.consumer.source.topic
	offsets, now := kafka.Offsets{}, map[int32]position{}
	member, claims := s.current()
	for p, c := range claims {
		last := s.acked[p]
		at := c.position(last)
		now[p] = at
		if at.Committed != last.Committed || everything {
			offsets.Set(topic, p, at.Committed)
		}
	}
	if len(offsets) == 0 {
		return nil
	}
	sent := time.Now()
	err := s.consumer.relay.cluster.Commit(member, offsets)
	s.consumer.metrics.Committed(err)
	s.failed = err
	if errors.Is(err, kafka.ErrFenced) {
		s.sent.Store(nil)
	}
	if err != nil {
		return err
	}
	s.acked = now
	s.failing = time.Time{}
	s.sent.Store(&sent)
	s.consumer.relay.over(kindCommit, member.Group)
	for _, c := range claims {
		c.nudge()
	}
	return nil
}

// leased reports whether an attempt may start at a moment. Both clocks are asked:
// the monotonic one stands still while the machine sleeps, the wall clock can be
// set.
func (s *session) leased(at time.Time) bool {
	sent := s.sent.Load()
	half := s.consumer.relay.deps.Kafka.SessionTimeout / 2
	return sent != nil && at.Sub(*sent) < half && at.Round(0).Sub(sent.Round(0)) < half
}

// requestRenewal asks for a commit now, without waiting for it.
func (s *session) requestRenewal() {
	select {
	case s.renew <- struct{}{}:
	default:
	}
}
