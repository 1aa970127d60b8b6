package tier

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/IBM/sarama"
	"go.uber.org/zap"

	"github.com/retryd/retryd/internal/kafka"
	"github.com/retryd/retryd/internal/logging"
	"github.com/retryd/retryd/internal/metrics"
)

// session is one generation of a group as this member sees it: its claims, its
// lease, and the one writer of its commits.
//
// Invariants:
//   - an offset is committed only when everything below it that was fetched is
//     complete;
//   - at most one commit is in flight;
//   - an attempt starts only while the lease is fresh: the last acknowledged commit
//     was sent less than half the session timeout ago, so that the group cannot
//     have given the partition away since.
type session struct {
	consumer *consumer
	member   kafka.Member
	topicID  [16]byte
	claims   map[int32]*claim // fixed from begin on
	running  atomic.Int32     // claims that have not let go of their records

	renew chan struct{} // asks the commit writer for a commit now
	stop  context.CancelFunc
	wrote sync.WaitGroup // the commit writer

	acked   map[int32]position // what the last acknowledged commit of each partition held
	failing time.Time          // when the first of the commits that failed in a row began; used by the one that commits, like acked

	mu       sync.Mutex
	sent     time.Time                   // when the last acknowledged commit was sent; zero: none
	over     bool                        // nothing more is measured
	measured map[int32]metrics.Partition // as far as it was
	missed   map[int32]int               // measurements in a row without the partition
}

// begin settles where each claim starts, and commits it: that is the lease, and
// proof that the generation is current.
func (c *consumer) begin(gs sarama.ConsumerGroupSession) (*session, error) {
	s := &session{
		consumer: c,
		member:   kafka.Member{Group: c.source.group, ID: gs.MemberID(), Generation: gs.GenerationID()},
		claims:   map[int32]*claim{},
		renew:    make(chan struct{}, 1),
		acked:    map[int32]position{},
	}
	partitions := gs.Claims()[c.source.topic]
	if len(partitions) > 0 {
		err := s.locate(gs, partitions)
		if err == nil {
			err = s.commit(true)
		}
		if err != nil {
			s.leaveBudget()
			return nil, err
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.wrote.Go(func() { s.writeCommits(ctx) })
	c.relay.log.Info("partitions assigned", zap.String(logging.FieldTopic, c.source.topic),
		zap.String(logging.FieldGroup, c.source.group), zap.Int32s("partitions", partitions), zap.Int32("generation", s.member.Generation))
	return s, nil
}

// consume runs one claim.
func (s *session) consume(ctx context.Context, gc sarama.ConsumerGroupClaim) error {
	c := s.claims[gc.Partition()]
	if c == nil {
		return fmt.Errorf("%s/%d was claimed without being assigned", gc.Topic(), gc.Partition())
	}
	s.running.Add(1)
	defer s.running.Add(-1)
	c.run(ctx, gc.Messages())
	return nil
}

// finish commits what is complete; every claim has returned.
func (s *session) finish() {
	s.stop()
	s.wrote.Wait()
	switch err := s.commitLast(); {
	case errors.Is(err, kafka.ErrFenced):
		s.fenced(err)
	case kafka.NoTopic(err): // nor is there anything to deliver again
	case err != nil:
		s.consumer.relay.warn("last commit of the session is missing: what was completed since the one before is delivered again", s.consumer.source.topic, err)
	}
	s.leaveBudget()
}

// commitLast tries for kafka.CommitTimeout, unless the topic is gone or what is in flight
// is given up.
func (s *session) commitLast() error {
	for deadline := time.Now().Add(kafka.CommitTimeout); ; sleep(s.consumer.abort, 100*time.Millisecond) {
		err := s.commit(false)
		if err == nil || errors.Is(err, kafka.ErrFenced) || kafka.NoTopic(err) || time.Now().After(deadline) || s.consumer.abort.Err() != nil {
			return err
		}
	}
}

// forget ends what is told of the session: its measurements, whose series the next
// owner of the partitions exports, and troubles that it had.
func (s *session) forget() {
	s.mu.Lock()
	s.over = true
	for p := range s.claims {
		s.consumer.metrics.RemovePartition(p)
	}
	s.measured = nil
	s.mu.Unlock()
	s.consumer.metrics.SetWindow(metrics.Window{})
	s.consumer.relay.drop(kindCommit, s.member.Group)
	s.consumer.relay.drop(kindAge, s.consumer.source.topic)
	for p := range s.claims {
		s.consumer.relay.drop(kindRead, partitionName(s.consumer.source.topic, p))
	}
}

// leaveBudget gives back the claims' shares, also of those that never ran.
func (s *session) leaveBudget() {
	for _, c := range s.claims {
		c.share.Leave()
	}
}

// handler adapts a consumer to sarama's group handler.
type handler struct{ c *consumer }

// Setup begins a session before any claim is read.
func (h handler) Setup(s sarama.ConsumerGroupSession) error {
	h.c.metrics.Rebalanced()
	begun, err := h.c.begin(s)
	if err != nil {
		return err
	}
	h.c.session.Store(begun)
	h.c.joined()
	h.c.relay.over(kindMember, h.c.source.group)
	return nil
}

// ConsumeClaim reads one partition until it is revoked.
func (h handler) ConsumeClaim(s sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	running := h.c.session.Load()
	return running.consume(s.Context(), claim)
}

// Cleanup ends the session after all claims have returned. It is also called after
// a Setup that failed, when there is none.
func (h handler) Cleanup(gs sarama.ConsumerGroupSession) error {
	if s := h.c.session.Load(); s != nil {
		h.c.lost(context.Cause(gs.Context()))
		s.finish()
		s.forget()
		h.c.session.Store(nil)
	}
	return nil
}
