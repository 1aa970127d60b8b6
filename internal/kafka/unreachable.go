package kafka

import (
	"context"
	"errors"
	"io"
	"net"
	"os"

	"github.com/IBM/sarama"
	"github.com/eapache/go-resiliency/breaker"
)

// Unreachable reports whether err says that brokers do not answer, or that they
// cannot serve for the moment: a partition has no leader, a group no coordinator, a
// broker no disk, a topic too few replicas in sync, a producer an epoch that is over.
// Such an error is the same for all topics and passes by itself. It is false for nil,
// where a broker said no (access denied, no such topic, a wrong value), and where
// retryd itself gave up.
func Unreachable(err error) bool {
	switch {
	case err == nil, refused(err), errors.Is(err, context.Canceled):
		return false
	}
	var dial *net.OpError
	var lookup *net.DNSError
	if errors.As(err, &dial) || errors.As(err, &lookup) {
		return true
	}
	for _, away := range absences() {
		if errors.Is(err, away) {
			return true
		}
	}
	return false
}

// absences are the errors of brokers that do not answer or cannot serve.
func absences() []error {
	return []error{
		// Of the connection.
		io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, os.ErrDeadlineExceeded, context.DeadlineExceeded,
		// Of the client library, which found nobody to ask. Its breaker is open for 10 s
		// after three failures to find a partition's leader (async_producer.go:681).
		sarama.ErrOutOfBrokers, sarama.ErrNotConnected, sarama.ErrBrokerNotFound,
		sarama.ErrControllerNotAvailable, breaker.ErrBreakerOpen,
		// Of a broker, all of which Kafka's protocol calls retriable.
		sarama.ErrLeaderNotAvailable, sarama.ErrNotLeaderForPartition, sarama.ErrFencedLeaderEpoch,
		sarama.ErrUnknownLeaderEpoch, sarama.ErrOffsetNotAvailable, sarama.ErrReplicaNotAvailable,
		sarama.ErrRequestTimedOut, sarama.ErrBrokerNotAvailable, sarama.ErrNetworkException,
		sarama.ErrOffsetsLoadInProgress, sarama.ErrConsumerCoordinatorNotAvailable, sarama.ErrNotCoordinatorForConsumer,
		sarama.ErrNotController, sarama.ErrNotEnoughReplicas, sarama.ErrNotEnoughReplicasAfterAppend,
		sarama.ErrKafkaStorageError,
		// Of a broker to an idempotent producer: after a write that failed for good the
		// producer begins a new epoch, and what is retried with the old one is refused
		// (async_producer.go:1749). Written again it is taken.
		sarama.ErrInvalidProducerEpoch, sarama.ErrOutOfOrderSequenceNumber, sarama.ErrUnknownProducerID,
	}
}
