package tier

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/IBM/sarama"

	"github.com/retryd/retryd/internal/metrics"
)

// session is a membership of a group as long as it lasts: its claims, its lease, and
// its commits. With kafka.partition_assignment: sticky it is one generation of the group,
// whose claims come and go together; with cooperative-sticky it outlasts generations,
// and claims come and go one by one.
//
// Invariants:
//   - an offset is committed only when everything below it that was fetched is
//     complete;
//   - at most one commit is in flight;
//   - an attempt starts only while the lease is fresh: the last acknowledged commit
//     was sent less than half the session timeout ago, so that the group cannot
//     have given the partition away since.
type session struct {
	consumer   *consumer
	assignment sarama.ConsumerGroupSession // the client library's: member, generation and partitions as they are now
	identified bool                        // fixed from begin on, like topicID
	topicID    [16]byte                    // zero on a cluster before Kafka 2.8
	owned      int32                       // how many partitions the topic had when all had an owner; the relay's look alone uses it
	running    atomic.Int32                // claims that have not let go of their records
	sent       atomic.Pointer[time.Time]   // when the last acknowledged commit was sent; nil: none, or it counts no more

	renew chan struct{} // asks the commit writer for a commit now
	stop  context.CancelFunc
	wrote sync.WaitGroup // the commit writer

	admission sync.Mutex // partitions are admitted by one goroutine at a time

	committing sync.Mutex         // held while a commit is in flight
	acked      map[int32]position // what the last acknowledged commit of each partition held
	failing    time.Time          // when the first of the commits that failed in a row began
	failed     error              // what the newest commit failed with

	mu       sync.Mutex
	claims   map[int32]*claim            // replaced, never changed, when one comes or goes
	left     map[int32]int32             // the generation in which a partition was let go last
	counted  int32                       // the newest generation that counts as a rebalance
	over     bool                        // nothing more is measured
	measured map[int32]metrics.Partition // as far as it was
	missed   map[int32]int               // measurements in a row without the partition
}

// begin settles where each claim starts, and commits it: that is the lease, and
// proof that the generation is current.
func (c *consumer) begin(gs sarama.ConsumerGroupSession) (*session, error) {
	s := &session{
		consumer:   c,
		assignment: gs,
		claims:     map[int32]*claim{},
		left:       map[int32]int32{},
		counted:    gs.GenerationID(),
		renew:      make(chan struct{}, 1),
		acked:      map[int32]position{},
	}
	partitions, err := s.admit()
	if err == nil && len(partitions) > 0 {
		err = s.commit(true)
	}
	if err != nil {
		s.leaveBudget()
		return nil, err
	}
	s.tellAssigned(partitions)
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.wrote.Go(func() { s.writeCommits(ctx) })
	return s, nil
}

// consume runs one claim until its partition is revoked or the session ends.
func (s *session) consume(gc sarama.ConsumerGroupClaim) {
	s.running.Add(1)
	defer s.running.Add(-1)
	c := s.claimOf(gc.Partition())
	if c == nil {
		return
	}
	// It is too late to steer the client. The next session does, and begins at once.
	if at := gc.InitialOffset(); at >= 0 && at != c.unread {
		return
	}
	ctx := s.assignment.Context()
	c.run(ctx, gc.Messages())
	if ctx.Err() == nil {
		s.letGo(c)
	}
}

// finish commits what is complete; every claim has returned.
func (s *session) finish() {
	s.stop()
	s.wrote.Wait()
	s.lastCommit(s.claimed())
	s.leaveBudget()
}

// forget ends what is told of the session: its measurements, whose series the next
// owner of the partitions exports, and troubles that it had.
func (s *session) forget() {
	s.mu.Lock()
	s.over = true
	s.mu.Unlock()
	for p := range s.claimed() {
		s.strike(p)
	}
	s.consumer.metrics.SetWindow(metrics.Window{})
	s.consumer.relay.drop(kindCommit, s.consumer.source.group)
	s.consumer.relay.drop(kindAge, s.consumer.source.topic)
}

// leaveBudget gives back the claims' shares, also of those that never ran.
func (s *session) leaveBudget() {
	for _, c := range s.claimed() {
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

// ConsumeClaim reads one partition until it is revoked. When it returns before that,
// the session ends.
func (h handler) ConsumeClaim(_ sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	h.c.session.Load().consume(claim)
	return nil
}

// Cleanup ends the session after all claims have returned. It is also called after
// a Setup that failed, when there is none.
func (h handler) Cleanup(gs sarama.ConsumerGroupSession) error {
	if s := h.c.session.Load(); s != nil {
		h.c.lost(context.Cause(gs.Context()))
		s.finish()
		s.forget()
		h.c.left()
	}
	return nil
}
