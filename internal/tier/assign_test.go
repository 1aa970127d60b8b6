package tier

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/retryd/retryd/internal/kafka"
	"github.com/retryd/retryd/internal/metrics"
	"github.com/retryd/retryd/test/harness"
)

// assigning is a session of nobody that goes on, with partition 0. Nothing commits for it
// but the test.
func assigning(t *testing.T) (s *session, m *membership, f *field, logs *observer.ObservedLogs) {
	t.Helper()
	f = newField(t, nil)
	harness.CreateTopic(t, f.brokers, "orders", 3, nil)
	core, logs := observer.New(zapcore.InfoLevel)
	r := &Relay{deps: f.deps, cluster: f.cluster, log: zap.New(core), metrics: f.deps.Metrics.Relay("orders", 0), budget: f.deps.Budget.Part()}
	c := r.newConsumer(source{topic: "orders", group: "g", label: metrics.TierMain})
	c.abort, c.group = context.Background(), &fakeGroup{}
	m = nobody("orders")
	s, err := c.begin(m)
	if err != nil {
		t.Fatal(err)
	}
	s.stop()
	s.wrote.Wait()
	t.Cleanup(s.leaveBudget)
	return s, m, f, logs
}

// begun is a claim that the client library began to read, and that is revoked.
type begun struct {
	sarama.ConsumerGroupClaim
	partition int32
	offset    int64
}

func (b begun) Partition() int32     { return b.partition }
func (b begun) InitialOffset() int64 { return b.offset }

func (b begun) Messages() <-chan *sarama.ConsumerMessage {
	ended := make(chan *sarama.ConsumerMessage)
	close(ended)
	return ended
}

// commitElsewhere commits for another member.
func (f *field) commitElsewhere(t *testing.T, p int32, offset int64) {
	t.Helper()
	at := kafka.Offsets{"orders": {p: {Offset: offset}}}
	if err := f.cluster.Commit(kafka.Member{Group: "g", Generation: -1}, at); err != nil {
		t.Fatal(err)
	}
}

// fill writes records to a partition of main.
func (f *field) fill(t *testing.T, p int32, records int) {
	t.Helper()
	f.send(t, harness.ClientConfig(), p, records)
}

// fillOpen is fill by a transaction that stays open.
func (f *field) fillOpen(t *testing.T, p int32, records int) {
	t.Helper()
	config := harness.ClientConfig()
	config.Producer.Transaction.ID = t.Name()
	f.send(t, config, p, records)
}

func (f *field) send(t *testing.T, config *sarama.Config, p int32, records int) {
	t.Helper()
	config.Producer.Partitioner = sarama.NewManualPartitioner
	producer, err := sarama.NewSyncProducer(f.brokers, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = producer.Close() })
	if producer.IsTransactional() {
		if err := producer.BeginTxn(); err != nil {
			t.Fatal(err)
		}
	}
	for range records {
		if _, _, err := producer.SendMessage(&sarama.ProducerMessage{Topic: "orders", Partition: p}); err != nil {
			t.Fatal(err)
		}
	}
}

func (f *field) requireCommitted(t *testing.T, p int32, want int64) {
	t.Helper()
	at, err := f.cluster.Committed("g", map[string][]int32{"orders": {p}})
	if err != nil {
		t.Fatal(err)
	}
	if c, ok := at["orders"][p]; !ok || c.Offset != want {
		t.Errorf("partition %d is committed at %+v, want %d", p, at["orders"], want)
	}
}

// A consumer that reads uncommitted records commits offsets that no other one reaches
// before the transaction ends: nothing is lost.
func TestCommitBeyondAnOpenTransactionIsKept(t *testing.T) {
	s, m, f, logs := assigning(t)
	f.fill(t, 2, 5)
	f.fillOpen(t, 2, 3)
	f.commitElsewhere(t, 2, 8)
	m.partitions = []int32{0, 2}
	if c := s.claimOf(2); c == nil || c.unread != 8 {
		t.Errorf("claim %+v, want one that starts at 8", c)
	}
	if n := logs.FilterMessageSnippet("has lost records").Len(); n > 0 {
		t.Errorf("told of a loss: %v", lines(logs))
	}
}

func TestPartitionsThatAreAddedStartAtTheirCommits(t *testing.T) {
	s, m, f, logs := assigning(t)
	f.fill(t, 2, 6)
	f.commitElsewhere(t, 2, 5)
	m.partitions = []int32{0, 1, 2}
	if c := s.claimOf(2); c == nil || c.unread != 5 {
		t.Fatalf("claim %+v, want one that reads from offset 5 on", c)
	}
	if c := s.claimOf(1); c == nil || len(s.claimed()) != 3 {
		t.Errorf("claims %v, want three", s.claimed())
	}
	requireMessages(t, logs, "info partitions assigned", "info partitions assigned") // at first, and for both
	if added := logs.All()[1].ContextMap()["partitions"]; fmt.Sprint(added) != "[1 2]" {
		t.Errorf("partitions %v were added, want 1 and 2", added)
	}
}

func TestRevokedPartitionIsCommittedAndForgottenWhileTheSessionGoesOn(t *testing.T) {
	s, m, f, _ := assigning(t)
	registry := prometheus.NewRegistry()
	s.consumer.metrics = metrics.New(registry, "test").Relay("orders", 0).Tier(metrics.TierMain)
	m.partitions = []int32{0, 1}
	c := s.claimOf(0)
	s.claimOf(1)
	for p := range int32(2) {
		s.note(p, metrics.Partition{Due: 1})
	}
	if _, err := c.offsets.Fetched(0); err != nil {
		t.Fatal(err)
	}
	c.offsets.Complete(0)
	s.consume(begun{partition: 0, offset: 0})
	f.requireCommitted(t, 0, 1)
	s.note(0, metrics.Partition{Due: 1}) // a measurement that was under way
	if n, err := testutil.GatherAndCount(registry, "retryd_oldest_due_age_seconds"); n != 1 || err != nil {
		t.Errorf("series of %d partitions (%v), want of the other one alone", n, err)
	}
	if s.claimed()[0] != nil || s.claimed()[1] == nil || s.over {
		t.Errorf("claims %v, want the other one alone", s.claimed())
	}
}

// The client lists it among the assigned until all that are revoked have returned.
func TestPartitionThatWasLetGoComesBackInAnotherGeneration(t *testing.T) {
	s, m, _, _ := assigning(t)
	s.consume(begun{partition: 0, offset: 0})
	m.partitions = []int32{0, 1}
	if c := s.claimOf(1); c == nil || s.claimed()[0] != nil {
		t.Errorf("claims %v, want partition 1 alone", s.claimed())
	}
	m.generation++
	if c := s.claimOf(0); c == nil {
		t.Error("it is assigned anew, and has no claim")
	}
}

func TestPartitionThatWasRevokedBeforeItWasReadIsNotCommitted(t *testing.T) {
	s, m, f, _ := assigning(t)
	m.partitions = []int32{0, 1}
	s.claimOf(1)
	m.partitions = []int32{0}
	f.commitElsewhere(t, 1, 9) // by the next owner
	if err := s.commit(true); err != nil {
		t.Fatal(err)
	}
	f.requireCommitted(t, 1, 9)
	if len(s.claimed()) != 1 {
		t.Errorf("claims %v, want partition 0 alone", s.claimed())
	}
}

// The client library keeps where it began: only a session's begin can steer it.
func TestPartitionThatIsReadFromElsewhereIsLeftToTheNextSession(t *testing.T) {
	for offset, want := range map[int64]bool{7: true, 0: false, sarama.OffsetOldest: false} {
		s, _, _, _ := assigning(t)
		s.consume(begun{partition: 0, offset: offset})
		if left := s.claimed()[0] != nil; left != want {
			t.Errorf("read from %d instead of 0: left unread %v, want %v", offset, left, want)
		}
	}
}

func TestPartitionOfATopicThatWasMadeAnewIsLeftToTheNextSession(t *testing.T) {
	s, m, f, logs := assigning(t)
	harness.DeleteTopic(t, f.brokers, "orders")
	harness.CreateTopic(t, f.brokers, "orders", 3, nil)
	m.partitions = []int32{0, 1}
	if c := s.claimOf(1); c != nil {
		t.Errorf("claim %+v in a session that reads another topic", c)
	}
	requireMessages(t, logs, "info partitions assigned",
		"warn partitions that were added cannot be read: the member joins its group anew")
}

// passing is a member that comes into another generation while it is asked.
type passing struct{ *membership }

func (m passing) Claims() map[string][]int32 {
	m.generation++
	return m.membership.Claims()
}

func TestCommitNamesNoLaterGenerationThanThatOfItsClaims(t *testing.T) {
	s, m, _, _ := assigning(t)
	s.assignment = passing{m}
	before := m.generation
	s.committing.Lock()
	defer s.committing.Unlock()
	if member, _ := s.current(); member.Generation != before || m.generation == before {
		t.Errorf("generation %d with the claims of %d", member.Generation, m.generation)
	}
}

// growing is a member that gets partition 1 while it is asked.
type growing struct {
	*membership
	s *session
}

func (g growing) Claims() map[string][]int32 {
	before := g.membership.Claims()
	if len(g.partitions) == 1 {
		g.partitions = []int32{0, 1}
		g.s.claimOf(1)
	}
	return before
}

func TestPartitionThatIsAdmittedDuringACommitKeepsItsClaim(t *testing.T) {
	s, m, _, _ := assigning(t)
	s.assignment = growing{m, s}
	if err := s.commit(true); err != nil {
		t.Fatal(err)
	}
	if s.claimed()[1] == nil {
		t.Errorf("claims %v, want that of partition 1 too", s.claimed())
	}
}

func TestGenerationsThatChangeTheClaimsAreCountedOnce(t *testing.T) {
	s, m, _, _ := assigning(t)
	registry := prometheus.NewRegistry()
	s.consumer.metrics = metrics.New(registry, "test").Relay("orders", 0).Tier(metrics.TierMain)
	for _, generation := range []int32{-1, 4, 4, 5} {
		m.generation = generation
		s.rebalanced()
	}
	labels := map[string]string{"relay": "orders", "tier": metrics.TierMain}
	if n := sample(t, registry, "retryd_rebalances_total", labels).GetCounter().GetValue(); n != 2 {
		t.Errorf("%v rebalances, want 2", n)
	}
}

// While a member joins another generation, commits of the one before are refused.
func TestBeingFencedIsFinalOnlyForASessionThatHasEnded(t *testing.T) {
	gone, end := context.WithCancel(t.Context())
	end()
	for session, want := range map[context.Context]error{t.Context(): nil, gone: kafka.ErrFenced} {
		r, _, _ := committing(t)
		m := &membership{ctx: session, topic: rigTopic, generation: 7, partitions: []int32{0}} // of which the group knows nothing
		r.session.assignment, r.consumer.abort = m, context.Background()
		joined := time.AfterFunc(300*time.Millisecond, func() {
			r.session.committing.Lock()
			defer r.session.committing.Unlock()
			m.generation = -1
		})
		if err := r.session.commitLast(); !errors.Is(err, want) {
			t.Errorf("session ended: %v: %v, want %v", session.Err() != nil, err, want)
		}
		joined.Stop()
	}
}
