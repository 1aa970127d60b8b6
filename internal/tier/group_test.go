package tier

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/retryd/retryd/internal/kafka"
	"github.com/retryd/retryd/internal/policy"
	"github.com/retryd/retryd/test/harness"
)

func TestMemberWithoutPartitionsIsLeftInPeace(t *testing.T) {
	f := newField(t, nil)
	harness.CreateTopic(t, f.brokers, "orders", 1, nil)
	core, logs := observer.New(zapcore.InfoLevel)
	f.deps.Log = zap.New(core)
	first, _ := f.relay(t, "orders", 0)
	second, _ := f.relay(t, "orders", 0)
	// Both look at their topics many times.
	checked := 0
	harness.WaitFor(t, time.Minute, "looks at the topics", func() bool {
		first.checkTopics()
		second.checkTopics()
		checked++
		return checked == 20
	})
	if n := logs.FilterMessageSnippet("made anew").Len(); n > 0 {
		t.Errorf("a member without partitions took its topic for made anew, %d times", n)
	}
}

func TestStopDoesNotWaitForTheGroupToGather(t *testing.T) {
	f := newField(t, nil)
	harness.CreateTopic(t, f.brokers, "orders", 1, nil)
	joinAndFallSilent(t, f.brokers, "retryd-orders", "orders")

	c := DefaultConfig()
	c.Topic, c.Start, c.Endpoint.URL = "orders", "earliest", f.endpoint.URL("/")
	c.Policy.Tiers.List = []policy.Tier{}
	c.Resolve()
	r, err := New(c, f.deps)
	if err != nil {
		t.Fatal(err)
	}
	r.started = true // where it starts cannot be committed beside a foreign member
	core, logs := observer.New(zapcore.WarnLevel)
	r.log = zap.New(core)
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { r.Run(ctx, context.Background(), f.cluster) })
	waitForMembers(t, f.brokers, "retryd-orders", 2)
	for _, c := range r.members.all() {
		if !c.joining.Load() {
			t.Error("a member that waits for the others does not count as joining: a stop would not interrupt it")
		}
	}
	cancel()
	stopped := make(chan struct{})
	go func() {
		running.Wait()
		close(stopped)
	}()
	select {
	case <-stopped:
	case <-time.After(20 * time.Second): // the client library alone waits for 30 s
		t.Errorf("the relay still waits for the group to gather")
		<-stopped
	}
	if logs.Len() > 0 {
		t.Errorf("warnings about a stop like any other: %v", lines(logs))
	}
	if n := countMembers(t, f.brokers, "retryd-orders"); n != 1 {
		t.Errorf("%d members, want the silent one alone", n)
	}
}

// With cooperative-sticky a session goes on while its member joins another generation,
// which a member that was killed holds up.
func TestStopDoesNotWaitForAnotherGenerationOfItsSession(t *testing.T) {
	t.Parallel()
	f := newField(t, nil)
	f.deps.Kafka.PartitionAssignment = kafka.AssignCooperativeSticky
	harness.CreateTopic(t, f.brokers, "orders", 2, nil)
	r, stop := f.relay(t, "orders", 0)
	awaitOwned(t, r, 2)
	joinAndFallSilent(t, f.brokers, "retryd-orders", "orders")
	// It lets a partition go for the silent one, and waits for the generation that gives it.
	harness.WaitFor(t, time.Minute, "the member to join another generation", func() bool {
		g, err := f.cluster.Group("retryd-orders")
		return err == nil && g.State == "PreparingRebalance"
	})
	stop()
	if c := r.members.all()[0]; !c.cut.Load() {
		t.Error("the stop has waited for the group to gather")
	}
	if n := countMembers(t, f.brokers, "retryd-orders"); n != 1 {
		t.Errorf("%d members, want the silent one alone", n)
	}
}

// silence is how long the group waits for a member that joined and says nothing. It
// is far longer than a stop takes on the slowest machine.
const silence = 2 * time.Minute

// joinAndFallSilent makes a member of a group that never answers again, as one that
// was killed.
func joinAndFallSilent(t *testing.T, brokers []string, group, topic string) {
	t.Helper()
	client := harness.NewClient(t, brokers)
	coordinator, err := client.Coordinator(group)
	if err != nil {
		t.Fatal(err)
	}
	request := &sarama.JoinGroupRequest{
		Version: 1, GroupId: group, ProtocolType: "consumer",
		SessionTimeout: int32(silence.Milliseconds()), RebalanceTimeout: int32(silence.Milliseconds()),
	}
	meta := &sarama.ConsumerGroupMemberMetadata{Topics: []string{topic}}
	for _, protocol := range []string{sarama.StickyBalanceStrategyName, sarama.CooperativeStickyBalanceStrategyName} {
		if err := request.AddGroupProtocolMetadata(protocol, meta); err != nil {
			t.Fatal(err)
		}
	}
	response, err := coordinator.JoinGroup(request)
	if err != nil {
		t.Fatal(err)
	}
	if response.Err != sarama.ErrNoError {
		t.Fatal(response.Err)
	}
}

func waitForMembers(t *testing.T, brokers []string, group string, members int) {
	t.Helper()
	harness.WaitFor(t, time.Minute, "members of the group", func() bool { return countMembers(t, brokers, group) >= members })
}

func countMembers(t *testing.T, brokers []string, group string) int {
	t.Helper()
	admin, err := sarama.NewClusterAdmin(brokers, harness.ClientConfig())
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	groups, err := admin.DescribeConsumerGroups([]string{group})
	if err != nil {
		t.Fatal(err)
	}
	return len(groups[0].Members)
}

func TestStartIsNotTakenForSettledBecauseSomebodyElseIsInTheGroup(t *testing.T) {
	f := newField(t, nil)
	harness.CreateTopic(t, f.brokers, "orders", 1, nil)
	f.write(t, "a")
	joinAndFallSilent(t, f.brokers, "retryd-orders", "orders")
	c := DefaultConfig()
	c.Topic, c.Start, c.Endpoint.URL = "orders", "latest", f.endpoint.URL("/")
	c.Policy.Tiers.List = []policy.Tier{}
	c.Resolve()
	r, err := New(c, f.deps)
	if err != nil {
		t.Fatal(err)
	}
	r.cluster = f.cluster
	if _, err := r.tryPrepare(); !errors.Is(err, kafka.ErrFenced) || r.started {
		t.Errorf("error %v, start settled %v; want a refusal, since nothing was committed", err, r.started)
	}
}

func TestSharesOfClaimsThatNeverRanAreGivenBack(t *testing.T) {
	f := newField(t, nil)
	harness.CreateTopic(t, f.brokers, "orders", 1, nil)
	part := f.deps.Budget.Part()
	r := &Relay{deps: f.deps, cluster: f.cluster, log: zap.NewNop(), metrics: f.deps.Metrics.Relay("orders", 0), budget: part}
	stranger := &membership{ctx: t.Context(), topic: "orders", id: "stranger", generation: 7, partitions: []int32{0}}
	if _, err := r.newConsumer(source{topic: "orders", group: "g", label: "main"}).begin(stranger); !errors.Is(err, kafka.ErrFenced) {
		t.Fatalf("begin of a member that is none: %v, want fenced", err)
	}
	limit := int64(f.deps.Window.Bytes)
	hog := f.deps.Budget.Part().Join()
	defer hog.Leave()
	hog.Add(limit)
	greedy, share := part.Join(), part.Join()
	defer greedy.Leave()
	defer share.Leave()
	greedy.Add(limit / 4 / 2)
	share.Add(limit/4/2/2 - 1)
	if share.Full() {
		t.Error("full below an equal share of what is reserved for its relay, although there are only two")
	}
}

func TestMemberThatStopsLeavesItsGroup(t *testing.T) {
	f := newField(t, nil)
	harness.CreateTopic(t, f.brokers, "orders", 1, nil)
	first, _ := f.relay(t, "orders", 0)
	for _, c := range first.members.all() {
		if c.joining.Load() {
			t.Error("a member with a session counts as joining: a stop would break it")
		}
	}
	var others []func()
	for range 2 { // without a partition, so that they stop at once
		_, stop := f.relay(t, "orders", 0)
		others = append(others, stop)
	}
	for _, stop := range others {
		stop()
	}
	// A member that does not leave stays for the session timeout.
	if members := countMembers(t, f.brokers, "retryd-orders"); members != 1 {
		t.Errorf("%d members after all but one have stopped, want 1", members)
	}
}
