package kafka

import (
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"testing"

	"github.com/IBM/sarama"
	"github.com/eapache/go-resiliency/breaker"
)

func TestExplainSpeaksToAnOperator(t *testing.T) {
	dial := func(port int) error {
		return &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port}, Err: syscall.ECONNREFUSED}
	}
	consuming := func(err error) error { return &sarama.ConsumerError{Topic: "orders", Partition: 1, Err: err} }
	tests := []struct {
		name string
		err  error
		want string
	}{
		{"no broker", fmt.Errorf("connect to a:9092: %w", sarama.Wrap(sarama.ErrOutOfBrokers, dial(9092), dial(9093))),
			"connect to a:9092: no broker answers: dial tcp 127.0.0.1:9092: connection refused; dial tcp 127.0.0.1:9093: connection refused"},
		{"a broker hangs", fmt.Errorf("list offsets: no answer from a:9092 in time: %w", net.ErrClosed), "list offsets: no answer from a:9092 in time"},
		{"a broker ends", fmt.Errorf("describe topics: %w", io.EOF), "describe topics: the broker closed the connection"},
		{"a broker ends and nothing else is said", io.EOF, "the broker closed the connection"},
		{"a broker ends within an answer", consuming(io.ErrUnexpectedEOF), "orders/1: the connection broke"},
		{"a broker has ended", fmt.Errorf("commit: %w", sarama.ErrNotConnected), "commit: no connection to the broker"},
		{"no coordinator", fmt.Errorf("find the coordinator of group g: %w", sarama.ErrConsumerCoordinatorNotAvailable),
			"find the coordinator of group g: the group's coordinator is not available"},
		{"a coordinator that moved", sarama.ErrNotCoordinatorForConsumer, "the group's coordinator moved"},
		{"a coordinator that starts", sarama.ErrOffsetsLoadInProgress, "the group's coordinator is loading"},
		{"no leader", consuming(sarama.ErrLeaderNotAvailable), "orders/1: the partition has no leader for the moment"},
		{"a leader that moved", consuming(sarama.ErrNotLeaderForPartition), "orders/1: the partition's leader moved"},
		{"no leader for long", breaker.ErrBreakerOpen, "the partition's leader could not be found a moment ago"},
		{"no topic", fmt.Errorf("list offsets of orders/0: %w", sarama.ErrUnknownTopicOrPartition), "list offsets of orders/0: the topic or partition does not exist"},
		{"too few replicas", sarama.ErrNotEnoughReplicas, "fewer replicas are in sync than min.insync.replicas"},
		{"too few replicas after the write", sarama.ErrNotEnoughReplicasAfterAppend, "fewer replicas are in sync than min.insync.replicas"},
		{"a full disk", sarama.ErrKafkaStorageError, "the broker's disk fails or is full"},
		{"a producer's new epoch", sarama.ErrInvalidProducerEpoch, "a write before this one failed"},
		{"a gap in what was written", sarama.ErrOutOfOrderSequenceNumber, "a write before this one failed"},
		{"a producer that was forgotten", sarama.ErrUnknownProducerID, "the broker does not know the producer any more"},
		{"a slow replica", sarama.ErrRequestTimedOut, "the brokers did not answer one another in time"},
		{"a broker's bug", sarama.ErrUnknown, "the broker failed: its log says how"},
		{"a group that is denied", sarama.ErrGroupAuthorizationFailed, "not authorized: grant Read on the group"},
		{"reading that is denied", consuming(sarama.ErrTopicAuthorizationFailed), "orders/1: not authorized: grant Read on the topic"},
		{"joining that is denied", sarama.ErrTopicAuthorizationFailed, "not authorized: grant Read on the topic"},
		{"what is denied and says itself what to grant", groupDenied("g", sarama.ErrGroupAuthorizationFailed),
			"group g may not be used (not authorized): grant Read on it"},
		{"retryd's own words", errors.New("topic orders does not exist"), "topic orders does not exist"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Explain(tt.err); got != tt.want {
				t.Errorf("%q became %q, want %q", tt.err, got, tt.want)
			}
		})
	}
}
