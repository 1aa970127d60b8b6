package tier

import (
	"errors"

	"github.com/IBM/sarama"

	"github.com/retryd/retryd/internal/kafka"
)

// errUnchecked and errJoining are why a relay is not ready although nothing failed.
// The group answers when all others have joined, or were given up.
var (
	errUnchecked = errors.New("its topics are not checked yet")
	errJoining   = errors.New("joining; an instance that was killed is waited for, up to kafka.session_timeout")
)

// isFault tells what a person has to mend from what passes by itself: brokers that
// do not answer, a group that gathers, another member that was faster.
func isFault(err error) bool {
	for _, passing := range []error{errUnchecked, errJoining, kafka.ErrFenced} {
		if errors.Is(err, passing) {
			return false
		}
	}
	return !kafka.Unreachable(err)
}

// explain returns an error's text with what to do about it.
func explain(err error) string {
	if errors.Is(err, sarama.ErrInvalidSessionTimeout) {
		return "kafka.session_timeout is outside of what the brokers allow: group.min.session.timeout.ms, by default 6 s, to group.max.session.timeout.ms"
	}
	if errors.Is(err, kafka.ErrTooLarge) {
		return kafka.Explain(err) + ": raise that"
	}
	return kafka.Explain(err)
}

// explainWrite is explain for a topic that does not take a record.
func explainWrite(err error) string {
	if errors.Is(err, sarama.ErrTopicAuthorizationFailed) {
		return "not authorized: grant Write on the topic"
	}
	return explain(err)
}
