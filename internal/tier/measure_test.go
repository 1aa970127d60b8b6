package tier

import (
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/retryd/retryd/internal/kafka"
	"github.com/retryd/retryd/internal/metrics"
	"github.com/retryd/retryd/internal/policy"
	"github.com/retryd/retryd/internal/status"
	"github.com/retryd/retryd/test/harness"
)

// waitingRelay is a configuration with one tier whose records wait for an hour.
func (f *field) waitingRelay(topic string) Config {
	c := DefaultConfig()
	c.Topic, c.Start, c.Endpoint.URL = topic, "earliest", f.endpoint.URL("/")
	c.Policy.Jitter = 0
	c.Policy.Tiers.List = []policy.Tier{{Delay: time.Hour}}
	return c
}

// counted writes a count, and - for one that is not known.
func counted(n *int64) string {
	if n == nil {
		return "-"
	}
	return strconv.FormatInt(*n, 10)
}

func TestMeasureTellsWhatIsThere(t *testing.T) {
	f := newField(t, func(harness.Request) harness.Answer { return harness.Answer{Status: http.StatusServiceUnavailable} })
	registry := prometheus.NewRegistry()
	f.deps.Metrics = metrics.New(registry, "test")
	harness.CreateTopic(t, f.brokers, "orders", 2, nil)
	f.write(t, "a", "b", "c")
	r, stop := f.run(t, f.waitingRelay("orders"))
	want := status.Relay{
		Name: "orders", Ready: true, Endpoint: f.endpoint.URL("/"), Problems: nil,
		Tiers: []status.Tier{
			{Name: "main", Topic: "orders", Group: "retryd-orders", Joined: true, Partitions: []int32{0, 1}, Due: new(int64), Held: new(int64)},
			{Name: "1", Topic: "orders.retry.1", Group: "retryd-orders-retry-orders.retry.1", DelaySeconds: 3600, Joined: true, Partitions: []int32{0, 1}, Due: new(int64), Held: new(int64(3))},
		},
		DLT: status.DLT{Topic: "orders.DLT", Records: new(int64)},
	}
	var got status.Relay
	harness.WaitFor(t, time.Minute, "three records that are held, of which some were read", func() bool {
		if err := Measure(f.cluster, []*Relay{r}, time.Now()); err != nil {
			t.Fatal(err)
		}
		got = r.Status()
		return counted(got.Tiers[0].Due) == "0" && counted(got.Tiers[1].Held) == "3" && got.Tiers[1].Oldest != nil
	})
	unknown := cmpopts.IgnoreFields(status.Tier{}, "OldestDue", "Oldest", "Furthest", "LastError")
	if diff := cmp.Diff(want, got, unknown, cmpopts.IgnoreFields(status.Relay{}, "LastError", "InFlight")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	waits := got.Tiers[1]
	if waits.OldestDue != nil || waits.Furthest == nil || time.Until(*waits.Furthest) > time.Hour {
		t.Errorf("oldest due %v, furthest %v; want none, and one within the hour", waits.OldestDue, waits.Furthest)
	}
	if e := got.Tiers[0].LastError; e == nil || !strings.HasSuffix(e.Text, "attempt 1: status 503") {
		t.Errorf("last error of main %v, want the attempt's", e)
	}
	if n, err := testutil.GatherAndCount(registry, "retryd_lag_records"); n != 2*2*2 || err != nil {
		t.Errorf("%d series of the lag (%v), want one per tier, partition and state", n, err)
	}
	stop()
	if n, err := testutil.GatherAndCount(registry, "retryd_lag_records"); n != 0 || err != nil {
		t.Errorf("%d series of the lag (%v) although every partition is given back", n, err)
	}
	if tiers := r.Status().Tiers; len(tiers[1].Partitions) != 0 || tiers[1].Due != nil || tiers[1].Held != nil {
		t.Errorf("partitions %v, %s due, %s held although every partition is given back",
			tiers[1].Partitions, counted(tiers[1].Due), counted(tiers[1].Held))
	}
}

func TestMeasureGoesOnWithoutWhatIsDeleted(t *testing.T) {
	f := newField(t, nil)
	var relays []*Relay
	for _, topic := range []string{"loans", "orders"} {
		harness.CreateTopic(t, f.brokers, topic, 1, nil)
		r, err := New(resolved(f.waitingRelay(topic)), f.deps)
		if err != nil {
			t.Fatal(err)
		}
		r.cluster = f.cluster
		harness.WaitFor(t, time.Minute, "the topics of "+topic, func() bool { _, err := r.tryPrepare(); return err == nil })
		relays = append(relays, r)
	}
	harness.DeleteTopic(t, f.brokers, "loans.DLT")
	if err := Measure(f.cluster, relays, time.Now()); err != nil {
		t.Errorf("error %v, want none: the topic's relay tells that it is gone", err)
	}
	if n := relays[1].Status().DLT.Records; n == nil {
		t.Error("the other relay's dead letters were not counted")
	}
	if n := relays[0].Status().DLT.Records; n != nil {
		t.Errorf("%d dead letters in a topic that is gone", *n)
	}
}

func TestMeasureSaysThatNobodyAnswers(t *testing.T) {
	f := newField(t, nil)
	r, err := New(resolved(f.waitingRelay("orders")), f.deps) // which has nothing to measure yet
	if err != nil {
		t.Fatal(err)
	}
	if err := Measure(f.cluster, []*Relay{r}, time.Now()); err != nil {
		t.Fatal(err)
	}
	harness.CreateTopic(t, f.brokers, "loans", 1, nil)
	measured, err := New(resolved(f.waitingRelay("loans")), f.deps)
	if err != nil {
		t.Fatal(err)
	}
	measured.cluster = f.cluster
	harness.WaitFor(t, time.Minute, "the topics", func() bool { _, err := measured.tryPrepare(); return err == nil })
	f.broker.Close()
	if err := Measure(f.cluster, []*Relay{measured}, time.Now()); !kafka.Unreachable(err) {
		t.Errorf("error %v of a measurement, want one that says so", err)
	}
	if err := Measure(f.cluster, []*Relay{r}, time.Now()); !kafka.Unreachable(err) {
		t.Errorf("error %v, want one that says so", err)
	}
}

func TestUnreadRecordsOfATierAreSplitByTheirAge(t *testing.T) {
	f := newField(t, nil)
	harness.CreateTopic(t, f.brokers, "orders", 1, nil)
	harness.CreateTopic(t, f.brokers, "orders.retry.1", 1, nil)
	at := time.Now()
	f.writeAt(t, "orders.retry.1", at.Add(-3*time.Hour), at.Add(-2*time.Hour), at.Add(-time.Minute), at)

	r, err := New(resolved(f.waitingRelay("orders")), f.deps)
	if err != nil {
		t.Fatal(err)
	}
	c := r.newConsumer(r.configured()[1])
	s := &session{consumer: c, claims: map[int32]*claim{}}
	s.claims[0] = newClaim(s, 0, 0) // which reads nothing
	c.session.Store(s)
	r.members.expect([]*consumer{c})
	if err := Measure(f.cluster, []*Relay{r}, at); err != nil {
		t.Fatal(err)
	}
	tier := r.Status().Tiers[0]
	furthest := at.Add(time.Hour).UTC()
	due, held := counted(tier.Due), counted(tier.Held)
	if due != "2" || held != "2" || tier.Furthest == nil || !tier.Furthest.Equal(furthest) {
		t.Errorf("due %s, held %s, furthest %v; want 2, 2, %v", due, held, tier.Furthest, furthest)
	}
}

func TestStatusClaimsNothingThatIsNotMeasured(t *testing.T) {
	r := &Relay{metrics: metrics.New(prometheus.NewRegistry(), "test").Relay("orders", 1)}
	c := r.newConsumer(source{topic: "orders", label: metrics.TierMain})
	s := &session{consumer: c, claims: map[int32]*claim{0: nil, 1: nil}}
	c.session.Store(s)
	says := func(when, due, held string) {
		t.Helper()
		got := c.status()
		if counted(got.Due) != due || counted(got.Held) != held || len(got.Partitions) != 2 {
			t.Errorf("%s: partitions %v, due %s, held %s; want two, %s, %s",
				when, got.Partitions, counted(got.Due), counted(got.Held), due, held)
		}
	}
	says("assigned and not measured", "-", "-")
	s.note(0, metrics.Partition{Held: 20})
	says("one of two is measured", "0", "20")
	s.note(1, metrics.Partition{Due: 3, Held: 1})
	says("both are", "3", "21")
	for range missesUntilUnknown {
		s.miss(0)
		s.miss(1)
	}
	says("neither can be measured any more", "-", "-")
}

func TestMeasurementOfASessionThatEndedIsDropped(t *testing.T) {
	registry := prometheus.NewRegistry()
	m := metrics.New(registry, "test").Relay("orders", 1)
	r := &Relay{metrics: m}
	c := r.newConsumer(source{topic: "orders", label: metrics.TierMain})
	s := &session{consumer: c, claims: map[int32]*claim{0: nil}}
	s.note(0, metrics.Partition{Due: 1})
	s.forget()
	s.note(0, metrics.Partition{Due: 1}) // it was under way
	if n, err := testutil.GatherAndCount(registry, "retryd_lag_records"); n != 0 || err != nil {
		t.Errorf("%d series of the lag (%v) after the end of the session", n, err)
	}
}

func TestNumbersOfAPartitionThatCannotBeMeasuredAreTakenBack(t *testing.T) {
	registry := prometheus.NewRegistry()
	r := &Relay{metrics: metrics.New(registry, "test").Relay("orders", 1)}
	c := r.newConsumer(source{topic: "orders", label: metrics.TierMain})
	s := &session{consumer: c, claims: map[int32]*claim{0: nil, 1: nil}}
	known := func() int {
		n, err := testutil.GatherAndCount(registry, "retryd_oldest_due_age_seconds")
		if in := len(s.measurements()); err != nil || in != n {
			t.Fatalf("%d partitions have series (%v), %d count for the status", n, err, in)
		}
		return n
	}
	for range 2 {
		s.note(0, metrics.Partition{Due: 1})
		s.note(1, metrics.Partition{Due: 1})
		for range missesUntilUnknown - 1 {
			s.miss(1)
		}
		if n := known(); n != 2 {
			t.Errorf("%d partitions are known after a moment, want 2", n)
		}
	}
	s.miss(1)
	s.note(1, metrics.Partition{})
	for range missesUntilUnknown + 1 {
		s.miss(1)
	}
	if n := known(); n != 1 {
		t.Errorf("%d partitions are known, want the other one alone", n)
	}
	s.note(1, metrics.Partition{})
	if n := known(); n != 2 {
		t.Errorf("%d partitions are known after a measurement, want 2", n)
	}
}

// listing is a cluster whose answers to the question for offsets the test can change.
func listing(t *testing.T, f *field, no func(at int64) int16) {
	t.Helper()
	fake, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fake.Close)
	fake.ControlKey(int16(kmsg.ListOffsets), func(request kmsg.Request) (kmsg.Response, error, bool) {
		fake.KeepControl()
		asked := request.(*kmsg.ListOffsetsRequest)
		answer := asked.ResponseKind().(*kmsg.ListOffsetsResponse)
		for _, topic := range asked.Topics {
			said := kmsg.NewListOffsetsResponseTopic()
			said.Topic = topic.Topic
			for _, p := range topic.Partitions {
				one := kmsg.NewListOffsetsResponseTopicPartition()
				one.Partition, one.ErrorCode, one.Offset = p.Partition, no(p.Timestamp), 0
				said.Partitions = append(said.Partitions, one)
			}
			answer.Topics = append(answer.Topics, said)
		}
		return answer, nil, true
	})
	f.brokers = fake.ListenAddrs()
	f.deps.Kafka.Brokers = f.brokers
	f.deps.Producers = kafka.NewProducers(f.deps.Kafka)
	t.Cleanup(f.deps.Producers.Close)
	cluster, err := kafka.Connect(t.Context(), f.deps.Kafka)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cluster.Close() })
	f.cluster = cluster
}

func TestMeasureOfWhatIsPartlyKnown(t *testing.T) {
	const earliest, leaderMoved = -2, 6 // of the protocol
	tests := []struct {
		name  string
		no    func(at int64) int16
		known int // partitions
	}{
		{"brokers answer, and no partition has a leader", func(int64) int16 { return leaderMoved }, 0},
		{"the ends are known and the begins are not", func(at int64) int16 {
			if at == earliest {
				return leaderMoved
			}
			return 0
		}, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newField(t, nil)
			listing(t, f, tt.no)
			harness.CreateTopic(t, f.brokers, "orders", 1, nil)
			r, err := New(resolved(f.waitingRelay("orders")), f.deps)
			if err != nil {
				t.Fatal(err)
			}
			r.cluster, r.started = f.cluster, true
			harness.WaitFor(t, time.Minute, "the topics", func() bool { _, err := r.tryPrepare(); return err == nil })
			if err := Measure(f.cluster, []*Relay{r}, time.Now()); err == nil || kafka.Unreachable(err) {
				t.Errorf("error %v, want one that says no: the brokers answer", err)
			}
			if n := r.Status().DLT.Records; n != nil {
				t.Errorf("%d dead letters, want none known", *n)
			}
			c := r.newConsumer(r.configured()[1])
			s := &session{consumer: c}
			s.claims = map[int32]*claim{0: newClaim(s, 0, 0)}
			c.session.Store(s)
			r.members.expect([]*consumer{c})
			s.note(0, metrics.Partition{Due: 7})
			for range missesUntilUnknown {
				_ = Measure(f.cluster, []*Relay{r}, time.Now())
			}
			if n := len(s.measurements()); n != tt.known {
				t.Errorf("%d partitions are known after a few measurements, want %d", n, tt.known)
			}
		})
	}
}

func TestRelaysReachForTheClusterInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newStoppedRig(t, minute, windowOf(100)).relay
		r.deps.Starts = make(chan struct{}, 1)
		r.deps.Starts <- struct{}{} // somebody holds the only slot
		r.routes.Store(&routes{})
		c := r.newConsumer(minute)
		ctx, stop := context.WithCancel(t.Context())
		var waiting sync.WaitGroup
		waiting.Go(func() {
			if _, ok := r.prepare(ctx); ok { // there is no cluster: to ask it would panic
				t.Error("prepared without a slot")
			}
		})
		waiting.Go(func() { c.run(ctx, context.Background()) })
		time.Sleep(time.Hour)
		stop() // which does not wait for a slot
		waiting.Wait()
		if c.group != nil {
			t.Error("a member has connected without a slot")
		}
	})
}

func TestStatusBeforeAnythingRan(t *testing.T) {
	f := newField(t, nil)
	r, err := New(resolved(f.waitingRelay("orders")), f.deps)
	if err != nil {
		t.Fatal(err)
	}
	s := r.Status()
	if s.Ready || s.Fault || len(s.Problems) != 1 || s.Problems[0].Text != "its topics are not checked yet" {
		t.Errorf("ready %v, fault %v, problems %v", s.Ready, s.Fault, s.Problems)
	}
	var topics []string
	for _, tier := range s.Tiers {
		topics = append(topics, tier.Topic)
		if tier.Due != nil || tier.Held != nil {
			t.Errorf("%s: %s due, %s held; want none known", tier.Topic, counted(tier.Due), counted(tier.Held))
		}
	}
	if !slices.Equal(topics, []string{"orders", "orders.retry.1"}) {
		t.Errorf("tiers %v, want the configured ones", topics)
	}
}

func resolved(c Config) Config {
	c.Resolve()
	return c
}
