package kafka

import (
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/google/go-cmp/cmp"
)

// What cannot be seen on one broker: that a write waits for all replicas, and that
// a client gives no record away.
func TestProducersWaitForAllReplicas(t *testing.T) {
	s := DefaultConfig().producerConfig(t.Context(), 5000)
	got := map[string]any{
		"acks": s.Producer.RequiredAcks, "idempotent": s.Producer.Idempotent, "in flight": s.Net.MaxOpenRequests,
		"limit": s.Producer.MaxMessageBytes, "create topics": s.Metadata.AllowAutoTopicCreation,
	}
	want := map[string]any{
		"acks": sarama.WaitForAll, "idempotent": true, "in flight": 1,
		"limit": 5000, "create topics": false,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("producer (-want +got):\n%s", diff)
	}
	if err := s.Validate(); err != nil {
		t.Error(err)
	}
}

func TestConsumersLeaveCommitsToRetryd(t *testing.T) {
	c := DefaultConfig()
	s, _ := c.ConsumerConfig(time.Minute, 1, 1<<20)
	got := map[string]any{
		"automatic commits": s.Consumer.Offsets.AutoCommit.Enable, "without a commit": s.Consumer.Offsets.Initial,
		"isolation": s.Consumer.IsolationLevel, "create topics": s.Metadata.AllowAutoTopicCreation,
		"session": s.Consumer.Group.Session.Timeout, "rebalance": s.Consumer.Group.Rebalance.Timeout,
		"join is waited for": s.Net.ReadTimeout > s.Consumer.Group.Rebalance.Timeout,
	}
	want := map[string]any{
		"automatic commits": false, "without a commit": sarama.OffsetOldest,
		"isolation": sarama.ReadCommitted, "create topics": false,
		"session": c.SessionTimeout, "rebalance": time.Minute,
		"join is waited for": true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("consumer (-want +got):\n%s", diff)
	}
	if err := s.Validate(); err != nil {
		t.Error(err)
	}
}

// A group takes a way to share out its partitions that all its members know.
func TestMembersOfBothAssignmentsHaveOneInCommon(t *testing.T) {
	for assignment, want := range map[string][]string{
		AssignSticky:            {"sticky", "cooperative-sticky"},
		AssignCooperativeSticky: {"cooperative-sticky"},
	} {
		c := DefaultConfig()
		c.PartitionAssignment = assignment
		s, _ := c.ConsumerConfig(time.Minute, 1, 1<<20)
		var got []string
		for _, strategy := range s.Consumer.Group.Rebalance.GroupStrategies {
			got = append(got, strategy.Name())
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", assignment, diff)
		}
	}
}

// Heartbeats and the goodbye to a group wait behind a fetch.
func TestFetchesWaitLongerTheMoreGroupsThereAre(t *testing.T) {
	tests := []struct {
		name    string
		groups  int
		session time.Duration
		want    time.Duration
	}{
		{"one relay", 4, 45 * time.Second, 250 * time.Millisecond},
		{"the last that does not count", 25, 45 * time.Second, 250 * time.Millisecond},
		{"the first that counts", 26, 45 * time.Second, 260 * time.Millisecond},
		{"the most that counts", 200, 45 * time.Second, 2 * time.Second},
		{"more than any process should have", 1000, 45 * time.Second, 2 * time.Second},
		{"a short session", 200, 3 * time.Second, time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := DefaultConfig()
			c.SessionTimeout = tt.session
			s, _ := c.ConsumerConfig(time.Minute, tt.groups, 1<<20)
			if got := s.Consumer.MaxWaitTime; got != tt.want {
				t.Errorf("waits %s, want %s", got, tt.want)
			}
		})
	}
}
