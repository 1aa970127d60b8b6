package tier

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/IBM/sarama"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
	"go.uber.org/zap/zaptest/observer"

	"github.com/retryd/retryd/internal/kafka"
	"github.com/retryd/retryd/internal/metrics"
	"github.com/retryd/retryd/internal/window"
)

// requireMessages compares the log's lines, without what they are about.
func requireMessages(t *testing.T, logs *observer.ObservedLogs, want ...string) {
	t.Helper()
	var got []string
	for _, e := range logs.All() {
		got = append(got, e.Level.String()+" "+e.Message)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

func TestCommitThatComesTooLateSaysWhatFollows(t *testing.T) {
	r, logs := observed(t)
	r.session.fenced(kafka.ErrFenced)
	requireMessages(t, logs, "warn commit came too late: the group has begun anew, and what was not committed is delivered again by the partition's next owner")
}

func TestLastCommitThatIsMissingSaysWhatFollows(t *testing.T) {
	f := newField(t, nil)
	f.broker.Close()
	r, logs := observed(t)
	r.relay.cluster = f.cluster
	abort, giveUp := context.WithCancel(t.Context())
	giveUp()
	r.consumer.abort = abort
	r.session.stop = func() {}
	r.session.finish()
	requireMessages(t, logs, "warn last commit of the session is missing: what was completed since the one before is delivered again")
}

func TestRecordInFlightThatIsGivenUpIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, logs := observed(t)
		r.start()
		r.read(time.Now())
		j := r.worker() // which never comes back
		r.stop()
		requireMessages(t, logs, "warn gave up on records in flight, they are delivered again")
		r.complete(j)
	})
}

func TestFlawsOfCommitsSayWhereThePartitionsAreRead(t *testing.T) {
	r, logs := observed(t)
	r.consumer.tellFlaws(flaws{corrupt: []int32{0}, anew: []int32{1}, deleted: []int32{2}, offsets: 7, cut: []int32{3}, lost: []int32{4}})
	requireMessages(t, logs,
		"warn commit metadata is unusable, the offset alone counts",
		"warn topic was made anew since the last commit: it is read from its earliest offset",
		"warn partition ends below what its commit tells as complete: the cluster has lost records, and what comes in their place is delivered",
		"error partition ends below its committed offset: the cluster has lost records, and it is read from its earliest offset",
		"error retention deleted offsets before they were read: records, or only markers of transactions")
}

func TestOffsetsThatAreNotTheNextAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, logs := observed(t)
		r.claim.offsets = window.NewOffsets(10)
		for range 2 {
			r.claim.take(message(3, time.Now()), time.Now())
		}
		requireMessages(t, logs,
			"error log ends below the committed offset, it is read from its earliest offset",
			"warn record was read twice, it is held once")
	})
}

func TestHeadersThatDoNotCountAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, logs := observed(t)
		registry := prometheus.NewRegistry()
		r.relay.metrics = metrics.New(registry, "test").Relay("orders", 3)
		counted := func(name, header string) float64 {
			return sample(t, registry, name, map[string]string{"relay": "orders", "header": header}).GetCounter().GetValue()
		}
		attempt := sarama.RecordHeader{Key: []byte("x-attempt"), Value: []byte("many")}
		for offset := range int64(2) {
			r.claim.take(message(offset, time.Now(), attempt), time.Now())
		}
		if n := counted("retryd_malformed_headers_total", "x-attempt"); n != 2 {
			t.Errorf("%v malformed headers are counted, want 2", n)
		}
		requireMessages(t, logs, "warn header counts as absent") // once for both

		r.consumer.source = source{topic: "orders", label: metrics.TierMain}
		r.claim.take(message(2, time.Now(), attempt), time.Now()) // which main has no use for
		if n := counted("retryd_ignored_headers_total", "x-attempt"); n != 1 {
			t.Errorf("%v ignored headers are counted, want 1", n)
		}
		if n := counted("retryd_malformed_headers_total", "x-attempt"); n != 2 {
			t.Errorf("an ignored header is counted as malformed")
		}
	})
}

func TestRetiredTiersThatMayNotBeLookedAtAreTold(t *testing.T) {
	fake, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.EnableACLs(), kfake.User("PLAIN", "ANONYMOUS", "unused", kfake.ACL{
		Resource: kmsg.ACLResourceTypeTopic, Name: "orders", Pattern: kmsg.ACLResourcePatternTypeLiteral,
		Operation: kmsg.ACLOperationDescribe, Allow: true,
	}))
	if err != nil {
		t.Fatal(err)
	}
	defer fake.Close()
	c := kafka.DefaultConfig()
	c.Brokers = fake.ListenAddrs()
	cluster, err := kafka.Connect(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	r, logs := observed(t)
	r.relay.cluster = cluster
	r.relay.config = resolved(validConfig(func(c *Config) { c.Topic = "orders" }))
	if found, err := r.relay.retired(); len(found) > 0 || err != nil {
		t.Errorf("retired tiers %v, %v", found, err)
	}
	requireMessages(t, logs, "warn topics may not be looked at: if one of them is a tier of an earlier configuration, its records are not consumed; grant Describe to find out")
}

func TestTopicThatIsMadeAnewIsNotOneThatIsNew(t *testing.T) {
	r, logs := observed(t)
	r.relay.topicChanged(kafka.Change{Topic: "orders.DLT", To: 3})
	r.relay.topicChanged(kafka.Change{Topic: "orders.DLT", From: 3, To: 6})
	r.relay.routes.Store(&routes{})
	r.relay.topicChanged(kafka.Change{Topic: "orders.DLT", To: 6})
	requireMessages(t, logs,
		"info topic created",
		"warn topic grew with its main topic",
		"warn topic was missing and is created anew: what it held is gone")
}
