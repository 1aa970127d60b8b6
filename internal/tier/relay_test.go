package tier

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest"
	"go.uber.org/zap/zaptest/observer"

	"github.com/retryd/retryd/internal/devbroker"
	"github.com/retryd/retryd/internal/kafka"
	"github.com/retryd/retryd/internal/logging"
	"github.com/retryd/retryd/internal/metrics"
	"github.com/retryd/retryd/internal/policy"
	"github.com/retryd/retryd/internal/window"
	"github.com/retryd/retryd/test/harness"
)

func TestMain(m *testing.M) {
	// sarama's metrics library runs one goroutine for the life of the process; the
	// tests' own clients start it.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/rcrowley/go-metrics.(*meterArbiter).tick"))
}

// field is an embedded broker, an endpoint, and what a relay needs to run there.
type field struct {
	broker   *devbroker.Broker
	brokers  []string
	cluster  *kafka.Cluster
	endpoint *harness.Endpoint
	deps     Deps
}

func newField(t *testing.T, plan harness.Plan) *field {
	t.Helper()
	broker, err := devbroker.Start(devbroker.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(broker.Close)
	f := fieldAt(t, broker.Addrs(), plan)
	f.broker = broker
	return f
}

// fieldAt is a field on brokers that the test controls.
func fieldAt(t *testing.T, brokers []string, plan harness.Plan) *field {
	t.Helper()
	c := kafka.DefaultConfig()
	c.Brokers, c.SessionTimeout = brokers, 6*time.Second
	cluster, err := kafka.Connect(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cluster.Close() })
	producers := kafka.NewProducers(c)
	t.Cleanup(producers.Close)
	return &field{
		brokers: brokers, cluster: cluster, endpoint: harness.StartEndpoint(t, plan),
		deps: Deps{
			Kafka: c, Topics: kafka.TopicsConfig{Create: true}, Window: window.DefaultConfig(),
			Producers: producers, Budget: window.NewBudget(64 << 20),
			Metrics: metrics.New(prometheus.NewRegistry(), "test"), Log: zaptest.NewLogger(t), Version: "test",
			Limiter: &logging.Limiter{}, Starts: make(chan struct{}, 2), Groups: 1,
		},
	}
}

// relay runs a relay over topic with that many tiers without a delay, and looks at
// its topics often. The returned function stops it.
func (f *field) relay(t *testing.T, topic string, tiers int) (r *Relay, stop func()) {
	t.Helper()
	c := DefaultConfig()
	c.Topic, c.Start, c.Endpoint.URL = topic, "earliest", f.endpoint.URL("/")
	c.Policy.Tiers.List = make([]policy.Tier, tiers)
	return f.run(t, c)
}

func (f *field) run(t *testing.T, c Config) (r *Relay, stop func()) {
	t.Helper()
	c.Resolve()
	r, err := New(c, f.deps)
	if err != nil {
		t.Fatal(err)
	}
	r.recheck = 100 * time.Millisecond
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { r.Run(ctx, context.Background(), f.cluster) })
	stop = sync.OnceFunc(func() {
		cancel()
		running.Wait()
	})
	t.Cleanup(stop)
	harness.WaitFor(t, time.Minute, "readiness", func() bool { return r.Status().Ready })
	return r, stop
}

func (f *field) ledger(t *testing.T, tiers ...string) *harness.Ledger {
	t.Helper()
	var list []harness.Tier
	for _, topic := range tiers {
		list = append(list, harness.Tier{Topic: topic})
	}
	return harness.NewLedger(t, f.brokers, list, "orders.DLT")
}

func TestTopicMadeAnewWhileRunningIsReadFromItsFirstRecord(t *testing.T) {
	f := newField(t, nil)
	harness.CreateTopic(t, f.brokers, "orders", 1, nil)
	f.relay(t, "orders", 0)
	old, anew := []string{"a", "b", "c"}, []string{"d", "e", "f", "g", "h"}
	f.write(t, old...)
	f.awaitAccepted(t, old...)
	harness.DeleteTopic(t, f.brokers, "orders")
	harness.CreateTopic(t, f.brokers, "orders", 1, nil)
	// More records than the old topic had: reading on at the old offset would skip
	// the first ones without an error.
	f.write(t, anew...)
	f.awaitAccepted(t, anew...)
}

// write uses a producer of its own each time: an idempotent one would number its
// records on from those of the topic that was deleted.
func (f *field) write(t *testing.T, ids ...string) {
	t.Helper()
	producer, err := sarama.NewSyncProducer(f.brokers, harness.ClientConfig())
	if err != nil {
		t.Fatal(err)
	}
	defer producer.Close()
	for _, id := range ids {
		_, _, err := producer.SendMessage(&sarama.ProducerMessage{
			Topic: "orders", Headers: []sarama.RecordHeader{{Key: []byte("x-event-id"), Value: []byte(id)}},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// writeAt writes a record of each time to the only partition of a topic.
func (f *field) writeAt(t *testing.T, topic string, times ...time.Time) {
	t.Helper()
	producer, err := sarama.NewSyncProducer(f.brokers, harness.ClientConfig())
	if err != nil {
		t.Fatal(err)
	}
	defer producer.Close()
	for _, at := range times {
		if _, _, err := producer.SendMessage(&sarama.ProducerMessage{Topic: topic, Timestamp: at}); err != nil {
			t.Fatal(err)
		}
	}
}

func (f *field) awaitAccepted(t *testing.T, ids ...string) {
	t.Helper()
	harness.WaitFor(t, time.Minute, fmt.Sprint("acceptance of ", ids), func() bool {
		missing := slices.Clone(ids)
		for _, call := range f.endpoint.Accepted() {
			missing = slices.DeleteFunc(missing, func(id string) bool { return id == call.EventID })
		}
		return len(missing) == 0
	})
}

func TestRetiredTierIsConsumedUntilItsTopicIsDeleted(t *testing.T) {
	f := newField(t, func(harness.Request) harness.Answer { return harness.Answer{Status: http.StatusServiceUnavailable} })
	harness.CreateTopic(t, f.brokers, "orders", 1, nil)
	harness.CreateTopic(t, f.brokers, "orders.retry.3", 1, nil)
	r, _ := f.relay(t, "orders", 1)
	ledger := f.ledger(t, "orders.retry.1", "orders.retry.3")
	if err := ledger.Write("orders.retry.3", harness.Record{ID: "left"}); err != nil {
		t.Fatal(err)
	}
	report := ledger.Close(t, f.endpoint, time.Minute)
	report.Check(t)
	if report.DeadLettered != 1 {
		t.Errorf("%s, want the record of the retired tier dead-lettered", report)
	}
	harness.DeleteTopic(t, f.brokers, "orders.retry.3")
	harness.WaitFor(t, time.Minute, "the end of the retired tier's consumer", func() bool {
		return len(r.members.all()) == 2 // main and the one tier
	})
	if s := r.Status(); !s.Ready || len(s.Tiers) != 2 {
		t.Errorf("after the topic of a retired tier was deleted: %+v, want it ready with two tiers", s)
	}
}

func TestTierThatGotAnotherNameLeavesNothingBehind(t *testing.T) {
	f := newField(t, nil)
	harness.CreateTopic(t, f.brokers, "orders", 1, nil)
	harness.CreateTopic(t, f.brokers, "orders.retry.1", 1, nil)
	ledger := f.ledger(t, "orders.retry.1")
	if err := ledger.Write("orders.retry.1", harness.Record{ID: "left"}); err != nil {
		t.Fatal(err)
	}
	c := DefaultConfig()
	c.Topic, c.Start, c.Endpoint.URL = "orders", "earliest", f.endpoint.URL("/")
	c.Policy.Tiers.List = []policy.Tier{{Topic: "orders.soon"}}
	f.run(t, c)
	report := ledger.Close(t, f.endpoint, time.Minute)
	report.Check(t)
	if report.Accepted != 1 {
		t.Errorf("%s, want the record of the tier's earlier topic accepted", report)
	}
}

func TestRecordOfAParkTopicIsDeliveredFromThereAndWalksOn(t *testing.T) {
	f := newField(t, func(r harness.Request) harness.Answer {
		if r.Attempt == 2 {
			return harness.Answer{Status: http.StatusServiceUnavailable}
		}
		return harness.Answer{Status: http.StatusOK}
	})
	harness.CreateTopic(t, f.brokers, "orders", 1, nil)
	harness.CreateTopic(t, f.brokers, "orders.park.1h", 1, nil)
	f.writeAt(t, "orders.park.1h", time.Now().Add(-2*time.Hour))
	c := DefaultConfig()
	c.Topic, c.Start, c.Endpoint.URL = "orders", "earliest", f.endpoint.URL("/")
	c.Policy.Tiers.List = make([]policy.Tier, 2)
	c.Policy.Park = []policy.Park{{Delay: time.Hour}}
	r, _ := f.run(t, c)
	var attempts []int
	harness.WaitFor(t, time.Minute, "acceptance", func() bool {
		attempts = nil
		for _, call := range f.endpoint.Requests() {
			attempts = append(attempts, call.Attempt)
		}
		return len(f.endpoint.Accepted()) > 0
	})
	if !slices.Equal(attempts, []int{2, 3}) { // a record without x-attempt is at the place of tier 1
		t.Errorf("attempts %v, want 2 and 3", attempts)
	}
	if tiers := r.Status().Tiers; len(tiers) != 4 || tiers[3].Name != "park-1h" || tiers[3].DelaySeconds != 3600 {
		t.Errorf("tiers %+v, want the park topic behind main and two tiers", tiers)
	}
}

func TestFencedMemberHasNoLease(t *testing.T) {
	f := newField(t, nil)
	harness.CreateTopic(t, f.brokers, "orders", 1, nil)
	f.relay(t, "orders", 0) // the group's real member
	core, logs := observer.New(zapcore.WarnLevel)
	r := &Relay{deps: f.deps, budget: f.deps.Budget.Part(), cluster: f.cluster, metrics: f.deps.Metrics.Relay("stranger", 0), log: zap.New(core)}
	consumer := r.newConsumer(source{topic: "orders", group: "retryd-orders", label: metrics.TierMain})
	consumer.abort = context.Background()
	gone, put := context.WithCancel(t.Context())
	put() // out of the group
	s := &session{
		consumer: consumer, acked: map[int32]position{},
		assignment: &membership{ctx: gone, topic: "orders", id: "somebody", generation: 99, partitions: []int32{0}},
	}
	s.sent.Store(new(time.Now()))
	s.claims = map[int32]*claim{0: newClaim(s, 0, 0)}
	if err := s.commit(true); !errors.Is(err, kafka.ErrFenced) {
		t.Fatalf("commit of a stranger: %v, want fenced", err)
	}
	if s.leased(time.Now()) {
		t.Error("a member that was fenced still has a lease")
	}
	s.cannotCommit(kafka.ErrFenced, time.Now())
	s.stop = func() {}
	s.finish()
	if logs.Len() != 1 {
		t.Errorf("being fenced is %d lines, want one: %v", logs.Len(), lines(logs))
	}
}
