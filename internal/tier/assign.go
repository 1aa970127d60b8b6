package tier

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"go.uber.org/zap"

	"github.com/retryd/retryd/internal/kafka"
	"github.com/retryd/retryd/internal/logging"
)

// How claims come to a session and leave it.

// errMadeAnew says that a session reads a topic that does not exist any more.
var errMadeAnew = errors.New("the topic was made anew")

// admit makes a claim of each partition that is assigned and has none yet, and returns
// which ones. All their earlier owners have made their last commits.
func (s *session) admit() (partitions []int32, err error) {
	s.admission.Lock()
	defer s.admission.Unlock()
	partitions = s.unclaimed()
	if len(partitions) == 0 && s.identified {
		return nil, nil
	}
	if err := s.identify(); err != nil || len(partitions) == 0 {
		return nil, err
	}
	located, err := s.locate(s.assignment, partitions)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.Copy(located, s.claims)
	s.claims = located
	return partitions, nil
}

// unclaimed returns the partitions that are assigned and have no claim yet. One that was
// let go is among the assigned until the others that are revoked are let go too; it comes
// back in another generation.
func (s *session) unclaimed() []int32 {
	now := s.assignment.GenerationID() // before the partitions, which come later in it
	assigned := s.assigned()
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(assigned), func(p int32) bool {
		generation, left := s.left[p]
		return s.claims[p] != nil || left && generation == now
	})
}

// identify finds out which topic the session reads, and later whether it still exists.
func (s *session) identify() error {
	name := s.consumer.source.topic
	topics, err := s.consumer.relay.cluster.Topics(name)
	if err != nil {
		return err
	}
	topic, exists := topics[name]
	switch {
	case !exists:
		return fmt.Errorf("%s: %w", name, kafka.ErrNoTopic)
	case !s.identified:
		s.topicID, s.identified = topic.ID, true
	case otherTopic(topic.ID, s.topicID):
		return fmt.Errorf("%s: %w", name, errMadeAnew)
	}
	return nil
}

// allOwned reports whether each partition of the topic has an owner, as far as can be
// learnt: owners commit where they begin, so one without a commit never had any. It asks
// again only when the topic has grown.
func (s *session) allOwned(t kafka.Topic) bool {
	if t.Partitions == s.owned {
		return true
	}
	committed, err := s.consumer.relay.cluster.Committed(s.consumer.source.group, map[string][]int32{t.Name: numbers(t.Partitions)})
	switch {
	case err != nil:
		s.consumer.relay.warn("cannot look for partitions without an owner", t.Name, err)
		return true
	case len(committed[t.Name]) < int(t.Partitions):
		return false
	}
	s.owned = t.Partitions
	return true
}

// claimOf returns the claim of an assigned partition, also of one that was added since
// the session began; nil if that is not possible, and another session has to begin.
func (s *session) claimOf(p int32) *claim {
	if c := s.claimed()[p]; c != nil {
		return c
	}
	partitions, err := s.admit()
	if err != nil {
		s.consumer.relay.warn("partitions that were added cannot be read: the member joins its group anew", s.consumer.source.topic, err)
		return nil
	}
	if len(partitions) > 0 { // the first of those that were added together
		s.rebalanced()
		s.tellAssigned(partitions)
	}
	return s.claimed()[p]
}

// letGo ends a claim whose partition was revoked while the session goes on, or that the
// client does not read any more: its offset is gone, or its topic, and the session ends
// soon. What is complete is committed before consume returns, and so before the next owner
// begins.
func (s *session) letGo(c *claim) {
	s.rebalanced()
	s.mu.Lock()
	s.left[c.partition] = s.assignment.GenerationID()
	s.mu.Unlock()
	s.lastCommit(map[int32]*claim{c.partition: c})
	s.committing.Lock()
	defer s.committing.Unlock()
	s.lose(c)
}

// lose drops a claim whose partition goes to another member. The caller holds
// committing, so no commit in flight is of it.
func (s *session) lose(c *claim) {
	c.share.Leave()
	delete(s.acked, c.partition)
	s.strike(c.partition)
	s.consumer.relay.log.Info("partition let go", zap.String(logging.FieldTopic, s.consumer.source.topic),
		zap.String(logging.FieldGroup, s.consumer.source.group), zap.Int32(logging.FieldPartition, c.partition))
}

// strike takes out a claim, and ends what is told of its partition.
func (s *session) strike(p int32) {
	s.mu.Lock()
	claims := maps.Clone(s.claims)
	delete(claims, p)
	s.claims = claims
	delete(s.measured, p)
	delete(s.missed, p)
	s.consumer.metrics.RemovePartition(p)
	s.mu.Unlock()
	s.consumer.relay.drop(kindRead, partitionName(s.consumer.source.topic, p))
}

// current returns the member as it is now, and then its claims, less those whose partition
// was revoked. In this order no commit is taken of a partition that has another owner:
// that one begins in a later generation than the member's. The partitions come last: one
// that is admitted meanwhile is not missed among them. The caller holds committing.
func (s *session) current() (kafka.Member, map[int32]*claim) {
	m := kafka.Member{
		Group: s.consumer.source.group, Instance: s.consumer.relay.deps.Kafka.InstanceID,
		ID: s.assignment.MemberID(), Generation: s.assignment.GenerationID(),
	}
	claims := maps.Clone(s.claimed())
	assigned := s.assigned()
	for p, c := range claims {
		if !slices.Contains(assigned, p) { // revoked before the client began to read it
			s.lose(c)
			delete(claims, p)
		}
	}
	return m, claims
}

// assigned returns the session's partitions. One that is revoked is among them until
// consume has returned.
func (s *session) assigned() []int32 { return s.assignment.Claims()[s.consumer.source.topic] }

// claimed returns the claims, which must not be changed.
func (s *session) claimed() map[int32]*claim {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.claims
}

// rebalanced counts a generation that changed the claims of a session that goes on.
func (s *session) rebalanced() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := s.assignment.GenerationID(); now != s.counted {
		s.counted = now
		s.consumer.metrics.Rebalanced()
	}
}

func (s *session) tellAssigned(partitions []int32) {
	s.consumer.relay.log.Info("partitions assigned", zap.String(logging.FieldTopic, s.consumer.source.topic),
		zap.String(logging.FieldGroup, s.consumer.source.group), zap.Int32s("partitions", partitions), zap.Int32("generation", s.assignment.GenerationID()))
}
