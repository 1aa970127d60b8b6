package kafka

import (
	"errors"
	"fmt"

	"github.com/IBM/sarama"
)

// refused tells a cluster's no, which takes a person, from what passes.
func refused(err error) bool {
	for _, no := range []sarama.KError{
		sarama.ErrTopicAuthorizationFailed, sarama.ErrGroupAuthorizationFailed, sarama.ErrClusterAuthorizationFailed,
		sarama.ErrSASLAuthenticationFailed, sarama.ErrUnsupportedSASLMechanism, sarama.ErrIllegalSASLState,
		sarama.ErrPolicyViolation, sarama.ErrInvalidConfig, sarama.ErrInvalidTopic,
	} {
		if errors.Is(err, no) {
			return true
		}
	}
	return false
}

// hidden says that a topic may not be looked at.
func hidden(topic string, err error) *PlanError {
	return &PlanError{Problems: []string{fmt.Sprintf("topic %s may not be looked at (%v): grant Describe and DescribeConfigs on it", topic, err)}}
}

// groupDenied says what to grant if err is the refusal of a group's use, else it is
// nil.
func groupDenied(group string, err error) error {
	if !errors.Is(err, sarama.ErrGroupAuthorizationFailed) {
		return nil
	}
	return &PlanError{Problems: []string{fmt.Sprintf("group %s may not be used (%v): grant Read on it", group, sarama.ErrGroupAuthorizationFailed)}}
}

// offsetDenied says what to grant if err is the refusal of a commit, which takes
// Read on the group and on the topic, else it is nil.
func offsetDenied(group, topic string, err error) error {
	if !errors.Is(err, sarama.ErrTopicAuthorizationFailed) {
		return groupDenied(group, err)
	}
	return readDenied(topic)
}

// readDenied says what to grant where a topic may not be read.
func readDenied(topic string) *PlanError {
	return &PlanError{Problems: []string{fmt.Sprintf("topic %s may not be read (%v): grant Read on it", topic, sarama.ErrTopicAuthorizationFailed)}}
}

// writeDenied says what to grant if err is the refusal of a record, else it is nil.
func writeDenied(topic string, err error) error {
	if !errors.Is(err, sarama.ErrTopicAuthorizationFailed) {
		return nil
	}
	return &PlanError{Problems: []string{fmt.Sprintf("topic %s may not be written (%v): grant Write on it", topic, sarama.ErrTopicAuthorizationFailed)}}
}

// producerDenied says what to grant if err is the refusal of a producer's id, else
// it is nil. Whoever may write to any topic gets an id (KIP-679); before Kafka 2.8
// it takes a right of its own.
func producerDenied(err error) error {
	if !errors.Is(err, sarama.ErrClusterAuthorizationFailed) {
		return nil
	}
	return &PlanError{Problems: []string{fmt.Sprintf("no topic may be written (%v): grant Write on the topics of the tiers and on the dead-letter topic, before Kafka 2.8 also IdempotentWrite on the cluster", sarama.ErrClusterAuthorizationFailed)}}
}
