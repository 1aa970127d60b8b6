package kafka

import (
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestOffsetsOfTheLog(t *testing.T) {
	config := startBroker(t)
	c := connect(t, config)
	createTopic(t, c, "a", 2, nil)
	p := newProducers(t, config)
	start := time.UnixMilli(1_800_000_000_000)
	for i := range 3 {
		write(t, target(t, p, "a", 1<<20), &sarama.ProducerMessage{
			Partition: 1, Timestamp: start.Add(time.Duration(i) * time.Minute), Value: sarama.StringEncoder("x"),
		})
	}
	if err := c.admin.DeleteRecords("a", map[int32]int64{1: 1}); err != nil {
		t.Fatal(err)
	}
	since := func(at time.Time) func(map[string][]int32) (map[string]map[int32]int64, error) {
		return func(topics map[string][]int32) (map[string]map[int32]int64, error) {
			return c.Since(everywhere(topics, at.UnixMilli()))
		}
	}
	tests := []struct {
		name string
		ask  func(map[string][]int32) (map[string]map[int32]int64, error)
		want map[int32]int64
	}{
		{"begins", c.Begins, map[int32]int64{0: 0, 1: 1}},
		{"ends", c.Ends, map[int32]int64{0: 0, 1: 3}},
		{"since the time of a record", since(start.Add(2 * time.Minute)), map[int32]int64{0: -1, 1: 2}},
		{"since between two", since(start.Add(time.Minute + time.Millisecond)), map[int32]int64{0: -1, 1: 2}},
		{"since after the last", since(start.Add(time.Hour)), map[int32]int64{0: -1, 1: -1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := tt.ask(map[string][]int32{"a": {0, 1}})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(map[string]map[int32]int64{"a": tt.want}, got); diff != "" {
				t.Errorf("offsets (-want +got):\n%s", diff)
			}
		})
	}
	if _, err := c.Ends(map[string][]int32{"missing": {0}}); !errors.Is(err, sarama.ErrUnknownTopicOrPartition) {
		t.Errorf("ends of a missing topic: %v", err)
	}
}

// A partition whose leader moved answers with an error once: the next question
// goes to the new leader.
func TestListingFindsAMovedLeader(t *testing.T) {
	fake, config := startFake(t, kfake.NumBrokers(3), kfake.SeedTopics(1, "a"))
	c := connect(t, config)
	ask := func() error { _, err := c.Ends(map[string][]int32{"a": {0}}); return err }
	if err := ask(); err != nil {
		t.Fatal(err)
	}
	if err := fake.MoveTopicPartition("a", 0, (fake.LeaderFor("a", 0)+1)%3); err != nil {
		t.Fatal(err)
	}
	// A topic that does not exist, which is first, does not hide it.
	if _, err := c.Ends(map[string][]int32{"0": {0}, "a": {0}}); !errors.Is(err, sarama.ErrNotLeaderForPartition) {
		t.Fatalf("the old leader says %v, want %v", err, sarama.ErrNotLeaderForPartition)
	}
	if err := ask(); err != nil {
		t.Errorf("the second question fails too: %v", err)
	}
}

// What one topic or broker hides must not be hidden of the others: lag is measured
// of all relays at once.
func TestOffsetsAreLearntDespiteErrors(t *testing.T) {
	fake, config := startFake(t, kfake.NumBrokers(2), kfake.SeedTopics(2, "a", "b"), kfake.SeedTopics(1, "gone"))
	c := connect(t, config)
	for p := range int32(2) { // a broker for each partition
		for _, topic := range []string{"a", "b"} {
			if err := fake.MoveTopicPartition(topic, p, p); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := fake.MoveTopicPartition("gone", 0, 0); err != nil {
		t.Fatal(err)
	}
	if err := c.client.RefreshMetadata(); err != nil {
		t.Fatal(err)
	}
	ask := map[string][]int32{"a": {0, 1}, "b": {0, 1}, "gone": {0}, "never": {0}}
	if err := c.admin.DeleteTopic("gone"); err != nil {
		t.Fatal(err)
	}
	got, err := c.Begins(ask)
	if !errors.Is(err, sarama.ErrUnknownTopicOrPartition) {
		t.Errorf("two topics are missing: %v", err)
	}
	want := map[string]map[int32]int64{"a": {0: 0, 1: 0}, "b": {0: 0, 1: 0}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("learnt without two topics (-want +got):\n%s", diff)
	}

	if err := fake.RemoveNode(1); err != nil {
		t.Fatal(err)
	}
	got, err = c.Begins(map[string][]int32{"a": {0, 1}, "b": {0, 1}})
	if !Unreachable(err) {
		t.Errorf("a broker is gone: %v", err)
	}
	want = map[string]map[int32]int64{"a": {0: 0}, "b": {0: 0}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("learnt without a broker (-want +got):\n%s", diff)
	}
}

func TestLeaderThatTookOverFromADeadBrokerIsFound(t *testing.T) {
	fake, config := startFake(t, kfake.NumBrokers(2), kfake.SeedTopics(1, "a"))
	c := connect(t, config)
	if err := fake.MoveTopicPartition("a", 0, 1); err != nil {
		t.Fatal(err)
	}
	if err := c.client.RefreshMetadata("a"); err != nil {
		t.Fatal(err)
	}
	if err := fake.MoveTopicPartition("a", 0, 0); err != nil {
		t.Fatal(err)
	}
	if err := fake.RemoveNode(1); err != nil {
		t.Fatal(err)
	}
	ask := func() error { _, err := c.Ends(map[string][]int32{"a": {0}}); return err }
	if err := ask(); err == nil {
		t.Fatal("a broker that is gone has answered")
	}
	if err := ask(); err != nil || c.Silent() {
		t.Errorf("the second question: %v, nobody answers %v", err, c.Silent())
	}
}

// While nobody answers, a question costs as much for many partitions as for one.
func TestBrokersThatAreAwayAreLookedForOncePerQuestion(t *testing.T) {
	const brokers, partitions = 3, 24
	fake, config := startFake(t, kfake.NumBrokers(brokers), kfake.SeedTopics(partitions, "a"))
	c := connect(t, config)
	ask := map[string][]int32{"a": nil}
	for p := range int32(partitions) {
		ask["a"] = append(ask["a"], p)
	}
	if _, err := c.Ends(ask); err != nil || c.Silent() {
		t.Fatalf("%v, nobody answers %v", err, c.Silent())
	}
	var away atomic.Bool
	var requests atomic.Int32
	away.Store(true)
	fake.Control(func(kmsg.Request) (kmsg.Response, error, bool) {
		fake.KeepControl()
		if !away.Load() {
			return nil, nil, false
		}
		requests.Add(1)
		return nil, net.ErrClosed, true // which breaks the connection
	})
	for range 5 {
		requests.Store(0)
		if got, err := c.Ends(ask); len(got) > 0 || !Unreachable(err) || !c.Silent() {
			t.Fatalf("%v, error %v, nobody answers %v", got, err, c.Silent())
		}
		// Each is asked twice, and again for the metadata, under either of its addresses.
		if n := requests.Load(); n > 4*brokers {
			t.Errorf("%d requests, want no more than four to each of %d brokers", n, brokers)
		}
	}
	away.Store(false)
	found := func() bool {
		got, err := c.Ends(ask)
		return err == nil && len(got["a"]) == partitions && !c.Silent()
	}
	for deadline := time.Now().Add(bound); !found(); {
		if time.Now().After(deadline) {
			t.Fatal("brokers that are back are not found")
		}
	}
}

func TestNoPartitionsAskNobody(t *testing.T) {
	fake, config := startFake(t)
	c := connect(t, config)
	fake.Close()
	if got, err := c.Ends(nil); len(got) != 0 || err != nil {
		t.Errorf("ends of nothing: %v, %v", got, err)
	}
}
