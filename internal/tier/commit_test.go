package tier

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/IBM/sarama"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/retryd/retryd/internal/kafka"
	"github.com/retryd/retryd/internal/metrics"
	"github.com/retryd/retryd/test/harness"
)

func TestCommitsThatFailAreATroubleWhenAttemptsStop(t *testing.T) {
	const lease = rigSession / 2
	tests := []struct {
		name    string
		err     error
		lease   time.Duration // how old the last acknowledged commit is
		failing time.Duration
		want    bool
	}{
		{"once", sarama.ErrOutOfBrokers, 0, 0, false},
		{"while attempts start", sarama.ErrOutOfBrokers, 0, commitsMayFail - time.Second, false},
		{"for long", sarama.ErrOutOfBrokers, 0, commitsMayFail, true},
		{"once after a group was idle", sarama.ErrOutOfBrokers, time.Hour, 100 * time.Millisecond, false},
		{"while no attempt starts", sarama.ErrOutOfBrokers, lease, moment, true},
		{"denied", &kafka.PlanError{}, 0, 0, true},
		{"put out of the group, whose next session tells how it goes on", fmt.Errorf("commit: %w", kafka.ErrFenced), time.Hour, time.Hour, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newStoppedRig(t, minute, windowOf(100))
				r.session.sent.Store(new(time.Now().Add(tt.failing - tt.lease)))
				began := time.Now()
				r.session.cannotCommit(tt.err, began)
				time.Sleep(tt.failing)
				r.session.cannotCommit(tt.err, time.Now())
				if got := len(r.relay.Status().Problems) > 0; got != tt.want {
					t.Errorf("a problem: %v, want %v", got, tt.want)
				}
				r.session.forget()
				if n := len(r.relay.Status().Problems); n != 0 {
					t.Errorf("%d problems after the session, want none: it commits no more", n)
				}
			})
		})
	}
}

// committing is a session of nobody, which a group without members lets commit.
func committing(t *testing.T) (r *rig, f *field, registry *prometheus.Registry) {
	t.Helper()
	f = newField(t, nil)
	harness.CreateTopic(t, f.brokers, rigTopic, 1, nil)
	r = newStoppedRig(t, minute, windowOf(100))
	registry = prometheus.NewRegistry()
	r.consumer.metrics = metrics.New(registry, "test").Relay("orders", 3).Tier("1")
	r.relay.cluster, r.consumer.source.group = f.cluster, "g"
	return r, f, registry
}

// failedOnce fails the test unless one commit was made, and failed.
func failedOnce(t *testing.T, registry *prometheus.Registry) {
	t.Helper()
	want := `
# HELP retryd_commits_total Offset commits, by whether the group's coordinator acknowledged them.
# TYPE retryd_commits_total counter
retryd_commits_total{relay="orders",result="error",tier="1"} 1
retryd_commits_total{relay="orders",result="ok",tier="1"} 0
`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "retryd_commits_total"); err != nil {
		t.Error(err)
	}
}

func TestCommitThatSucceedsForgetsThoseThatFailed(t *testing.T) {
	r, _, _ := committing(t)
	r.session.cannotCommit(sarama.ErrOutOfBrokers, time.Now().Add(-commitsMayFail))
	if len(r.relay.Status().Problems) != 1 {
		t.Fatal("commits that fail are no problem")
	}
	if err := r.session.commit(true); err != nil {
		t.Fatal(err)
	}
	r.session.cannotCommit(sarama.ErrOutOfBrokers, time.Now())
	if p := r.relay.Status().Problems; len(p) != 0 {
		t.Errorf("problems %v after one commit that failed", p)
	}
}

func TestLastCommitIsTriedOnceWhenWhatIsInFlightIsGivenUp(t *testing.T) {
	r, f, registry := committing(t)
	if err := f.cluster.Close(); err != nil {
		t.Fatal(err)
	}
	gaveUp, giveUp := context.WithCancel(t.Context())
	giveUp()
	r.consumer.abort = gaveUp
	if err := r.session.commitLast(); err == nil {
		t.Fatal("a commit succeeded without a connection")
	}
	failedOnce(t, registry)
}

// hanging is a cluster that answers everything but commits, and how many of them it got.
func (f *field) hanging(t *testing.T) (cluster *kafka.Cluster, commits *atomic.Int32) {
	t.Helper()
	fake, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fake.Close)
	ended := make(chan struct{})
	t.Cleanup(func() { close(ended) })
	commits = &atomic.Int32{}
	fake.ControlKey(int16(kmsg.OffsetCommit), func(kmsg.Request) (kmsg.Response, error, bool) {
		fake.KeepControl()
		commits.Add(1)
		fake.SleepControl(func() { <-ended })
		return nil, nil, false
	})
	f.deps.Kafka.Brokers = fake.ListenAddrs()
	if cluster, err = kafka.Connect(t.Context(), f.deps.Kafka); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cluster.Close() })
	return cluster, commits
}

func TestClaimsThatAreLetGoTogetherDoNotWaitForACommitEach(t *testing.T) {
	t.Parallel()
	const claims = 10
	r, f, _ := committing(t)
	cluster, commits := f.hanging(t)
	r.relay.cluster = cluster
	var waiting sync.WaitGroup
	begin := make(chan struct{})
	for range claims {
		waiting.Go(func() {
			<-begin
			if err := r.session.commitLast(); err == nil {
				t.Error("a commit succeeded that was not answered")
			}
		})
	}
	close(begin)
	waiting.Wait()
	if n := commits.Load(); n < 1 || n > 3 {
		t.Errorf("%d commits of %d claims, want 3 at most", n, claims)
	}
}

// Nothing of it is delivered again, and the look at the topics tells that it is gone.
func TestLastCommitForATopicThatIsGoneIsNotMissed(t *testing.T) {
	r, f, registry := committing(t)
	core, logs := observer.New(zapcore.InfoLevel)
	r.relay.log = zap.New(core)
	r.session.stop = func() {}
	harness.DeleteTopic(t, f.brokers, rigTopic)
	r.session.finish()
	failedOnce(t, registry)
	if logs.Len() > 0 {
		t.Errorf("log: %v", lines(logs))
	}
}

func TestLastCommitSaysWhatItCannotTell(t *testing.T) {
	r, _, _ := committing(t)
	core, logs := observer.New(zapcore.InfoLevel)
	r.relay.log = zap.New(core)
	r.session.stop = func() {}
	r.takeUpTo(45_000) // in a fetch that was larger than any
	random := rand.New(rand.NewPCG(1, 2))
	for offset := range r.unread {
		if random.IntN(2) > 0 {
			r.completeHeld(offset)
		}
	}
	r.session.finish()
	requireMessages(t, logs, "warn last commit cannot tell of all that is complete: the rest is delivered again")
	if n := logs.All()[0].ContextMap()["records"]; n != r.session.acked[0].untold || n == int64(0) {
		t.Errorf("%v records, want %d", n, r.session.acked[0].untold)
	}
}

// The first commit of a session and its last are requests like the others.
func TestCommitInProgressIsSeenByTheWatchdog(t *testing.T) {
	r, f, _ := committing(t)
	fake, err := kfake.NewCluster(kfake.NumBrokers(1))
	if err != nil {
		t.Fatal(err)
	}
	defer fake.Close()
	busy := false
	fake.ControlKey(int16(kmsg.OffsetCommit), func(kmsg.Request) (kmsg.Response, error, bool) {
		busy = r.consumer.writing.busy()
		return nil, nil, false
	})
	f.deps.Kafka.Brokers = fake.ListenAddrs()
	cluster, err := kafka.Connect(t.Context(), f.deps.Kafka)
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	r.relay.cluster = cluster
	_ = r.session.commit(true) // of a topic that does not exist there
	if !busy || r.consumer.writing.busy() {
		t.Errorf("busy meanwhile %v, afterwards %v; want true, false", busy, r.consumer.writing.busy())
	}
}
