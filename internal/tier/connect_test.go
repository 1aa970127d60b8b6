package tier

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap"

	"github.com/retryd/retryd/internal/kafka"
	"github.com/retryd/retryd/internal/metrics"
	"github.com/retryd/retryd/internal/window"
	"github.com/retryd/retryd/test/harness"
)

func TestSlotIsGivenBackOnceAndInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := Deps{Starts: make(chan struct{}, 2)}
		leave, _ := d.enter(t.Context())
		if _, ok := d.enter(t.Context()); !ok || len(d.Starts) != 2 {
			t.Fatalf("%d slots are taken, want 2", len(d.Starts))
		}
		leave()
		if len(d.Starts) != 1 {
			t.Errorf("%d slots are taken, want the other one's", len(d.Starts))
		}
		time.Sleep(slotTime) // the other one waits for a broker that hangs
		synctest.Wait()
		if len(d.Starts) != 0 {
			t.Errorf("a slot is still taken after %v", slotTime)
		}
	})
}

func TestMemberReachesItsCoordinatorInItsSlot(t *testing.T) {
	f := newField(t, nil)
	harness.CreateTopic(t, f.brokers, "orders", 1, nil)
	r := &Relay{deps: f.deps, log: zap.NewNop(), metrics: f.deps.Metrics.Relay("orders", 0)}
	c := r.newConsumer(source{topic: "orders", group: "g", label: metrics.TierMain})
	config, _ := f.deps.Kafka.ConsumerConfig(time.Second, 1, 1<<20)
	client, err := c.connect(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	defer c.group.Close()
	connected := 0
	for _, broker := range client.Brokers() {
		if ok, _ := broker.Connected(); ok {
			connected++
		}
	}
	if connected == 0 || len(f.deps.Starts) != 0 {
		t.Errorf("%d brokers connected, %d slots taken; want one, and none", connected, len(f.deps.Starts))
	}
}

// A broker that takes connections and never answers.
func TestStopDoesNotWaitForABrokerThatHangs(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close() // the kernel takes connections, nobody accepts them
	f := newField(t, nil)
	f.deps.Kafka.Brokers = []string{listener.Addr().String()}
	r := &Relay{deps: f.deps, log: zap.NewNop(), metrics: f.deps.Metrics.Relay("orders", 0), budget: f.deps.Budget.Part()}
	r.routes.Store(&routes{})
	c := r.newConsumer(source{topic: "orders", group: "g", label: metrics.TierMain})
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { c.run(ctx, context.Background()) })
	harness.WaitFor(t, time.Minute, "the member to connect", c.joining.Load)
	stop()
	stopped := make(chan struct{})
	go func() {
		running.Wait()
		close(stopped)
	}()
	select {
	case <-stopped:
	case <-time.After(20 * time.Second): // the client library alone waits for 30 s, four times
		t.Error("the member still waits for its broker")
		<-stopped
	}
}

// A partition that holds nothing is read, however full the window: what is fetched of all
// of main must not be much more than the window takes. Small fetches cost throughput.
func TestFetchesOfManyPartitionsAreSmall(t *testing.T) {
	for _, tt := range []struct {
		relays     int
		partitions int32
		want       int32
	}{{1, 6, 1 << 20}, {1, 12, 1 << 20}, {2, 6, 1 << 20}, {1, 32, 512 << 10}, {4, 32, 128 << 10}, {1, 128, 128 << 10}, {1, 5000, 16 << 10}} {
		deps := Deps{Kafka: kafka.DefaultConfig(), Groups: tt.relays, Budget: window.NewBudget(64 << 20)}
		r := &Relay{deps: deps, config: Config{Topic: "orders"}}
		for range tt.relays {
			r.budget = deps.Budget.Part()
		}
		r.routes.Store(&routes{topics: map[string]kafka.Topic{"orders": {Partitions: tt.partitions}}})
		config, _ := (&consumer{relay: r}).clientConfig()
		if got := config.Consumer.Fetch; got.Default != tt.want || got.MaxBytes != 8*tt.want {
			t.Errorf("%d relays with %d partitions fetch %d, %d in all; want %d and eight times that", tt.relays, tt.partitions, got.Default, got.MaxBytes, tt.want)
		}
	}
}

// A broker that falls silent holds up the fetch, the heartbeat and the goodbye of a
// member that has nothing in flight.
func TestStopOfAnIdleMemberDoesNotWaitForABrokerThatHangs(t *testing.T) {
	t.Parallel()
	fake, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fake.Close)
	var hang atomic.Bool
	hung, silence := make(chan struct{}), make(chan struct{})
	reached, release := sync.OnceFunc(func() { close(hung) }), sync.OnceFunc(func() { close(silence) })
	defer release()
	fake.Control(func(request kmsg.Request) (kmsg.Response, error, bool) {
		fake.KeepControl()
		if hang.Load() && request.Key() == int16(kmsg.Fetch) {
			reached()
			fake.SleepControl(func() { <-silence })
		}
		return nil, nil, false
	})
	f := fieldAt(t, fake.ListenAddrs(), nil)
	harness.CreateTopic(t, f.brokers, "orders", 1, nil)
	config := f.waitingRelay("orders")
	config.Endpoint.Timeout = 5 * time.Minute // so may a rebalance, for which the client library waits
	r, err := New(resolved(config), f.deps)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.Run(ctx, context.Background(), f.cluster)
	}()
	harness.WaitFor(t, time.Minute, "readiness", func() bool { return r.Status().Ready })
	hang.Store(true)
	<-hung
	stop()
	select {
	case <-r.Drained():
	case <-time.After(time.Minute):
		t.Error("the members still wait for their broker")
	}
	release()
	f.cluster.HangUp()
	<-ended
}

// stuckGroup is a group that cannot be left.
type stuckGroup struct {
	sarama.ConsumerGroup
	errors chan error
}

func (g stuckGroup) Errors() <-chan error { return g.errors }

func (g stuckGroup) Close() error {
	close(g.errors)
	return sarama.ErrNotConnected
}

func TestGroupThatCannotBeLeftIsToldUnlessTheStopItselfHungUp(t *testing.T) {
	for hungUp, want := range map[bool]int{false: 1, true: 0} {
		r, logs := observed(t)
		config, _ := r.relay.deps.Kafka.ConsumerConfig(time.Second, 1, 1<<20)
		config.Consumer.Group.Session.Timeout = rigSession
		client, err := sarama.NewClient([]string{"127.0.0.1:1"}, config) // which asks nobody
		if err != nil {
			t.Fatal(err)
		}
		r.consumer.group = stuckGroup{errors: make(chan error)}
		r.consumer.cut.Store(hungUp)
		stopped, stop := context.WithCancel(t.Context())
		stop()
		r.consumer.member(stopped, client)
		if n := logs.FilterMessageSnippet("cannot leave the group").Len(); n != want {
			t.Errorf("%d lines after the stop hung up: %v, want %d", n, hungUp, want)
		}
		if !client.Closed() {
			t.Error("the client is left open")
		}
	}
}

// leavingGroup is a group that is left by its own connection.
type leavingGroup struct {
	stuckGroup
	leave func()
}

func (g leavingGroup) Close() error {
	g.leave()
	return g.stuckGroup.Close()
}

func TestMemberThatWasCutOffLeavesByANewConnection(t *testing.T) {
	f := newField(t, nil)
	harness.CreateTopic(t, f.brokers, "orders", 1, nil)
	for _, cut := range []bool{true, false} {
		r := &Relay{deps: f.deps, log: zap.NewNop(), metrics: f.deps.Metrics.Relay("orders", 0)}
		c := r.newConsumer(source{topic: "orders", group: "g", label: metrics.TierMain})
		config, _ := f.deps.Kafka.ConsumerConfig(time.Second, 1, 1<<20)
		client, err := c.connect(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		coordinator, err := client.Coordinator("g")
		if err != nil {
			t.Fatal(err)
		}
		if err := c.group.Close(); err != nil {
			t.Fatal(err)
		}
		c.group = leavingGroup{stuckGroup{errors: make(chan error)}, func() {
			if connected, _ := coordinator.Connected(); connected == cut {
				t.Errorf("cut off %v: it leaves by the connection that it had: %v", cut, connected)
			}
		}}
		c.cut.Store(cut)
		stopped, stop := context.WithCancel(t.Context())
		stop()
		c.member(stopped, client)
	}
}
