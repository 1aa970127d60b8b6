package kafka

import (
	"errors"
	"strings"

	"github.com/IBM/sarama"
	"github.com/eapache/go-resiliency/breaker"
)

// plain gives what the client library and the protocol say the words of an
// operator, on one line.
func plain() *strings.Replacer {
	return strings.NewReplacer(
		sarama.ErrOutOfBrokers.Error(), "no broker answers",
		sarama.ErrNotConnected.Error(), "no connection to the broker",
		sarama.ErrBrokerNotFound.Error(), "the broker is not known any more",
		breaker.ErrBreakerOpen.Error(), "the partition's leader could not be found a moment ago",
		sarama.ErrTopicAuthorizationFailed.Error(), "not authorized",
		sarama.ErrGroupAuthorizationFailed.Error(), "not authorized",
		sarama.ErrClusterAuthorizationFailed.Error(), "not authorized",
		sarama.ErrUnknownTopicOrPartition.Error(), "the topic or partition does not exist",
		sarama.ErrLeaderNotAvailable.Error(), "the partition has no leader for the moment",
		sarama.ErrNotLeaderForPartition.Error(), "the partition's leader moved",
		sarama.ErrReplicaNotAvailable.Error(), "a broker with a replica is down",
		sarama.ErrRequestTimedOut.Error(), "the brokers did not answer one another in time",
		sarama.ErrBrokerNotAvailable.Error(), "the broker is not available",
		sarama.ErrNetworkException.Error(), "the broker broke the connection",
		sarama.ErrOffsetsLoadInProgress.Error(), "the group's coordinator is loading",
		sarama.ErrConsumerCoordinatorNotAvailable.Error(), "the group's coordinator is not available",
		sarama.ErrNotCoordinatorForConsumer.Error(), "the group's coordinator moved",
		sarama.ErrNotEnoughReplicas.Error(), "fewer replicas are in sync than min.insync.replicas",
		sarama.ErrNotEnoughReplicasAfterAppend.Error(), "fewer replicas are in sync than min.insync.replicas",
		sarama.ErrKafkaStorageError.Error(), "the broker's disk fails or is full",
		sarama.ErrInvalidProducerEpoch.Error(), "a write before this one failed",
		sarama.ErrOutOfOrderSequenceNumber.Error(), "a write before this one failed",
		sarama.ErrUnknownProducerID.Error(), "the broker does not know the producer any more",
		sarama.ErrUnknown.Error(), "the broker failed: its log says how",
		"kafka: error while consuming ", "",
		"kafka: Failed to produce message to topic ", "",
		"kafka server: ", "",
		"kafka: ", "",
		": use of closed network connection", "",
		": unexpected EOF", ": the connection broke",
		": EOF", ": the broker closed the connection",
		"\n", "; ",
	)
}

// Explain returns an error's text for people: one line, in plain words. Where the
// cluster refuses a consumer it says what to grant; other refusals are each a
// *PlanError, whose text says so already.
func Explain(err error) string {
	text := strings.TrimPrefix(plain().Replace(": "+err.Error()), ": ")
	switch {
	case errors.Is(err, sarama.ErrGroupAuthorizationFailed):
		return text + ": grant Read on the group"
	case errors.Is(err, sarama.ErrTopicAuthorizationFailed):
		return text + ": grant Read on the topic"
	}
	return text
}
