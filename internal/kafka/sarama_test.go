package kafka

import (
	"errors"
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
	s, _ := c.ConsumerConfig(time.Minute)
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

func TestExplainLeavesOutWhatTellsNothing(t *testing.T) {
	tests := []struct{ err, want string }{
		{"connect to a:9092: kafka: client has run out of available brokers to talk to: dial tcp: connection refused", "connect to a:9092: no broker answers: dial tcp: connection refused"},
		{"kafka: error while consuming orders/0: EOF", "orders/0: EOF"},
		{"commit: kafka server: Not authorized", "commit: Not authorized"},
		{"no answer from a:9092 in time: use of closed network connection", "no answer from a:9092 in time"},
		{"topic orders does not exist", "topic orders does not exist"},
	}
	for _, tt := range tests {
		if got := Explain(errors.New(tt.err)); got != tt.want {
			t.Errorf("%q became %q, want %q", tt.err, got, tt.want)
		}
	}
}
