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
	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/retryd/retryd/internal/kafka"
	"github.com/retryd/retryd/test/harness"
)

func TestBrokersThatDidNotAnswerAreAskedAgainSoon(t *testing.T) {
	var away atomic.Bool
	var refused, answered atomic.Int32
	fake, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fake.Close)
	fake.Control(func(request kmsg.Request) (kmsg.Response, error, bool) {
		fake.KeepControl()
		if away.Load() {
			refused.Add(1)
			return nil, net.ErrClosed, true // which breaks the connection
		}
		if request.Key() == int16(kmsg.DescribeConfigs) {
			answered.Add(1)
		}
		return nil, nil, false
	})
	f := fieldAt(t, fake.ListenAddrs(), nil)
	core, logs := observer.New(zapcore.WarnLevel)
	f.deps.Log = zap.New(core)
	harness.CreateTopic(t, f.brokers, "orders", 1, nil)
	r, err := New(resolved(f.waitingRelay("orders")), f.deps)
	if err != nil {
		t.Fatal(err)
	}
	r.cluster = f.cluster
	if _, err := r.tryPrepare(); err != nil {
		t.Fatal(err)
	}
	r.expect(r.configured())
	r.recheck = 24 * time.Hour
	r.uniform = func() float64 { return 0 } // the first look is at once

	away.Store(true)
	if err := r.look(t.Context()); !kafka.Unreachable(err) {
		t.Fatalf("a look at brokers that are away: %v", err)
	}
	if n := logs.FilterMessage("cannot look at the topics").Len(); n != 0 {
		t.Errorf("the outage is told twice: %v", lines(logs))
	}
	refused.Store(0)
	ctx, stop := context.WithCancel(t.Context())
	var watching sync.WaitGroup
	watching.Go(func() { r.watch(ctx) })
	harness.WaitFor(t, time.Minute, "the end of a look without an answer", func() bool { return refused.Load() > 0 && !r.watching.busy() })
	away.Store(false)
	before := answered.Load()
	harness.WaitFor(t, time.Minute, "the topics to be in order after the next look", func() bool {
		return answered.Load() > before && !r.troubles.isOpen(kindTopics, "orders")
	})
	stop()
	watching.Wait()
}

// Brokers that hang when the relay stops hold up only its look at the topics, whose
// connections can be broken then.
func TestStopDoesNotWaitForALookAtBrokersThatHang(t *testing.T) {
	for _, prepares := range []bool{true, false} {
		fake, err := kfake.NewCluster(kfake.NumBrokers(1))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(fake.Close)
		f := fieldAt(t, fake.ListenAddrs(), nil)
		harness.CreateTopic(t, f.brokers, "orders", 1, nil)
		var hang atomic.Bool
		hung, release := make(chan struct{}, 100), make(chan struct{})
		fake.ControlKey(int16(kmsg.DescribeConfigs), func(kmsg.Request) (kmsg.Response, error, bool) {
			fake.KeepControl()
			if hang.Load() {
				hung <- struct{}{}
				fake.SleepControl(func() { <-release })
			}
			return nil, nil, false
		})
		hang.Store(prepares)
		r, err := New(resolved(f.waitingRelay("orders")), f.deps)
		if err != nil {
			t.Fatal(err)
		}
		r.recheck = 100 * time.Millisecond
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			r.Run(ctx, context.Background(), f.cluster)
		}()
		if !prepares {
			harness.WaitFor(t, time.Minute, "readiness", func() bool { return r.Status().Ready })
			hang.Store(true)
		}
		<-hung
		stop()
		select {
		case <-r.Drained():
		case <-ended:
			t.Error("it ended before it was drained")
		}
		select {
		case <-ended:
			t.Errorf("prepares %v: the look that hangs has ended by itself", prepares)
		default:
		}
		f.cluster.HangUp()
		<-ended
		close(release)
	}
}

// Whatever finds a topic missing first, the look at the topics tells of it, soon.
func TestMissingTopicIsLookedForAtOnce(t *testing.T) {
	f := newField(t, nil)
	f.deps.Topics.Create = false
	core, logs := observer.New(zapcore.WarnLevel)
	f.deps.Log = zap.New(core)
	for _, topic := range []string{"orders", "orders.retry.1", "orders.DLT"} {
		harness.CreateTopic(t, f.brokers, topic, 1, map[string]string{"max.message.bytes": "2000000", "retention.ms": "-1"})
	}
	r, err := New(resolved(f.waitingRelay("orders")), f.deps)
	if err != nil {
		t.Fatal(err)
	}
	r.recheck = 24 * time.Hour
	r.uniform = func() float64 { return 1 } // the first look is as late
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { r.Run(ctx, context.Background(), f.cluster) })
	defer running.Wait()
	defer stop()
	harness.WaitFor(t, time.Minute, "readiness", func() bool { return r.Status().Ready })
	logs.TakeAll()
	harness.DeleteTopic(t, f.brokers, "orders.retry.1") // which the consumer notices
	harness.WaitFor(t, time.Minute, "a look at the topics", func() bool { return r.troubles.isOpen(kindTopics, "orders") })
	want := []string{"warn relay is not ready relay=orders topic=orders error=topic orders.retry.1 does not exist: create it (partitions: 1), or set topics.create: true"}
	if diff := cmp.Diff(want, lines(logs)); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
	if n := len(r.Status().Problems); n != 1 {
		t.Errorf("%d problems, want one: %v", n, r.Status().Problems)
	}
}

func TestTopicCountsAsReadAgainWhenNoErrorComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, logs := observed(t)
		go r.relay.tick(t.Context())
		for range 10 {
			r.consumer.failed(&sarama.ConsumerError{Topic: rigTopic, Err: sarama.ErrTopicAuthorizationFailed})
			time.Sleep(2 * time.Second)
		}
		if r.relay.Status().Ready {
			t.Error("ready although the topic cannot be read")
		}
		time.Sleep(readQuiet)
		if n := logs.FilterMessage(kindRead.ended()).Len(); n != 1 || !r.relay.Status().Ready {
			t.Errorf("%d lines tell of the end, ready %v", n, r.relay.Status().Ready)
		}
	})
}
