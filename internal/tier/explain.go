package tier

import (
	"context"
	"errors"
	"fmt"

	"github.com/IBM/sarama"

	"github.com/retryd/retryd/internal/kafka"
	"github.com/retryd/retryd/internal/window"
)

// errUnchecked, errUnread and errJoining are why a relay is not ready although nothing failed.
// The group answers when all others have joined, or were given up. errLost is what
// becomes of a session that failed.
var (
	errUnchecked = errors.New("its topics are not checked yet")
	errUnread    = errors.New("it is not read yet")
	errJoining   = errors.New("joining; an instance that was killed is waited for, up to kafka.session_timeout")
	errLost      = errors.New("the session was lost, joining anew")
)

// whyJoining returns why a consumer joins again, by the cause of its session's end.
// Usually the members changed, or the partitions; where a partition could not be read,
// that was told.
func whyJoining(cause error) error {
	for _, usual := range []error{sarama.ErrRebalanceInProgress, sarama.ErrSessionPartitionCountChanged, sarama.ErrSessionConsumeClaimExited, context.Canceled} {
		if cause == nil || errors.Is(cause, usual) {
			return errJoining
		}
	}
	return fmt.Errorf("%w: %w", errLost, cause)
}

// isFault tells what a person has to mend from what passes by itself: brokers that
// do not answer, a group that gathers, another member that was faster, a member that was
// put out of its group or let go of its partitions too late.
func isFault(err error) bool {
	for _, passing := range []error{
		errUnchecked, errUnread, errJoining, errLost, kafka.ErrFenced,
		sarama.ErrRebalanceInProgress, sarama.ErrUnknownMemberId, sarama.ErrIllegalGeneration, sarama.ErrRebalanceTimedOut,
	} {
		if errors.Is(err, passing) {
			return false
		}
	}
	return !kafka.Unreachable(err)
}

// explain returns an error's text with what to do about it.
func explain(err error) string {
	if errors.Is(err, sarama.ErrFencedInstancedId) {
		return "another instance has taken its place with the same kafka.instance_id: give each instance its own, or stop one of them"
	}
	if errors.Is(err, sarama.ErrInvalidSessionTimeout) {
		return "kafka.session_timeout is outside of what the brokers allow: group.min.session.timeout.ms, by default 6 s, to group.max.session.timeout.ms"
	}
	if errors.Is(err, sarama.ErrOffsetMetadataTooLarge) {
		return fmt.Sprintf("the brokers' offset.metadata.max.bytes is too small: make it %d, its default, or more", window.MaxMetadata)
	}
	if errors.Is(err, kafka.ErrTooLarge) {
		return kafka.Explain(err) + ": raise that"
	}
	return kafka.Explain(err)
}
