package kafka

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/IBM/sarama"
	"github.com/eapache/go-resiliency/breaker"
)

func TestUnreachableTellsAbsenceFromRefusal(t *testing.T) {
	tests := []struct {
		name string
		err  error
		want bool
	}{
		{"no error", nil, false},

		{"nobody listens", &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, true},
		{"connection reset", &net.OpError{Op: "read", Err: syscall.ECONNRESET}, true},
		{"unknown host", &net.DNSError{Err: "no such host", IsNotFound: true}, true},
		{"connection closed by the broker", io.EOF, true},
		{"closed within an answer", io.ErrUnexpectedEOF, true},
		{"answer overdue", fmt.Errorf("no answer from a:9092 in time: %w", net.ErrClosed), true},
		{"read timeout", os.ErrDeadlineExceeded, true},
		{"nobody within the caller's time", context.DeadlineExceeded, true},

		{"no broker left", sarama.Wrap(sarama.ErrOutOfBrokers, errors.New("whatever they said")), true},
		{"not connected", sarama.ErrNotConnected, true},
		{"broker unknown by now", sarama.ErrBrokerNotFound, true},
		{"no controller", sarama.ErrControllerNotAvailable, true},
		{"no leader found for long", breaker.ErrBreakerOpen, true},

		{"no leader", sarama.ErrLeaderNotAvailable, true},
		{"leader moved", sarama.ErrNotLeaderForPartition, true},
		{"leader of an old epoch", sarama.ErrFencedLeaderEpoch, true},
		{"leader of an epoch to come", sarama.ErrUnknownLeaderEpoch, true},
		{"leader not caught up", sarama.ErrOffsetNotAvailable, true},
		{"replica down", sarama.ErrReplicaNotAvailable, true},
		{"replicas too slow", sarama.ErrRequestTimedOut, true},
		{"too few replicas", sarama.ErrNotEnoughReplicas, true},
		{"too few replicas by now", sarama.ErrNotEnoughReplicasAfterAppend, true},
		{"disk full", sarama.ErrKafkaStorageError, true},
		{"epoch of a producer over", sarama.ErrInvalidProducerEpoch, true},
		{"write after one that failed", sarama.ErrOutOfOrderSequenceNumber, true},
		{"producer forgotten", sarama.ErrUnknownProducerID, true},
		{"broker starts", sarama.ErrBrokerNotAvailable, true},
		{"broker lost another", sarama.ErrNetworkException, true},
		{"no coordinator", sarama.ErrConsumerCoordinatorNotAvailable, true},
		{"coordinator moved", sarama.ErrNotCoordinatorForConsumer, true},
		{"coordinator loads", sarama.ErrOffsetsLoadInProgress, true},
		{"controller moved", sarama.ErrNotController, true},
		{"while consuming", &sarama.ConsumerError{Topic: "a", Err: sarama.ErrNotLeaderForPartition}, true},
		{"while producing", &sarama.ProducerError{Msg: &sarama.ProducerMessage{Topic: "a"}, Err: io.EOF}, true},
		{"among others", errors.Join(errors.New("first"), fmt.Errorf("second: %w", io.EOF)), true},

		{"topic denied", sarama.ErrTopicAuthorizationFailed, false},
		{"group denied", sarama.ErrGroupAuthorizationFailed, false},
		{"writing denied", sarama.ErrClusterAuthorizationFailed, false},
		{"nobody left who lets the client in", sarama.Wrap(sarama.ErrOutOfBrokers, sarama.ErrSASLAuthenticationFailed), false},
		{"denied while consuming", &sarama.ConsumerError{Topic: "a", Err: sarama.ErrTopicAuthorizationFailed}, false},
		{"something to mend", hidden("a", sarama.ErrTopicAuthorizationFailed), false},
		{"no topic", sarama.ErrUnknownTopicOrPartition, false},
		{"no topic in a plan", ErrNoTopic, false},
		{"too large", ErrTooLarge, false},
		{"fenced", ErrFenced, false},
		{"member unknown", sarama.ErrUnknownMemberId, false},
		{"group rebalances", sarama.ErrRebalanceInProgress, false},
		{"session timeout not allowed", sarama.ErrInvalidSessionTimeout, false},
		{"offset not there", sarama.ErrOffsetOutOfRange, false},
		{"broker too old", sarama.ErrUnsupportedVersion, false},
		{"client setting", sarama.ConfigurationError("wrong"), false},
		{"retryd stops", fmt.Errorf("dial: %w", context.Canceled), false},
		{"retryd stops while it dials", &net.OpError{Op: "dial", Err: context.Canceled}, false},
		{"retryd closed its producers", errClosed, false},
		{"retryd closed its client", sarama.ErrClosedClient, false},
		{"anything else", errors.New("a surprise"), false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Unreachable(tt.err); got != tt.want {
				t.Errorf("Unreachable(%v) is %v, want %v", tt.err, got, tt.want)
			}
			if tt.err == nil {
				return
			}
			if wrapped := fmt.Errorf("commit: %w", tt.err); Unreachable(wrapped) != tt.want {
				t.Errorf("Unreachable(%v) is %v, want %v", wrapped, !tt.want, tt.want)
			}
		})
	}
}
