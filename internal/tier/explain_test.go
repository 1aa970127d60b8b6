package tier

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/IBM/sarama"

	"github.com/retryd/retryd/internal/kafka"
)

func TestFaultIsWhatAPersonHasToMend(t *testing.T) {
	tests := []struct {
		name string
		err  error
		want bool
	}{
		{"a cluster that does not answer", fmt.Errorf("describe topics: %w", sarama.ErrOutOfBrokers), false},
		{"a connection that broke", io.EOF, false},
		{"a group that gathers", errJoining, false},
		{"a session that was lost", whyJoining(sarama.ErrUnknownMemberId), false},
		{"a commit while the group gathers", sarama.ErrRebalanceInProgress, false},
		{"nothing looked at yet", errUnchecked, false},
		{"another member was faster", fmt.Errorf("commit: %w", kafka.ErrFenced), false},
		{"a start that is missing", fmt.Errorf("group g: %w", errStartNeeded), true},
		{"a topic that is missing", &kafka.PlanError{Problems: []string{"topic orders does not exist"}}, true},
		{"a group that is not granted", sarama.ErrGroupAuthorizationFailed, true},
		{"a session timeout that the brokers refuse", sarama.ErrInvalidSessionTimeout, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := isFault(tt.err); got != tt.want {
				t.Errorf("fault: %v, want %v", got, tt.want)
			}
		})
	}
}

func TestExplainSaysHowToMend(t *testing.T) {
	tests := []struct {
		name string
		text string
		want string
	}{
		{"session timeout", explain(sarama.ErrInvalidSessionTimeout),
			"kafka.session_timeout is outside of what the brokers allow: group.min.session.timeout.ms, by default 6 s, to group.max.session.timeout.ms"},
		{"a completed set that the brokers refuse", explain(sarama.ErrOffsetMetadataTooLarge), "the brokers' offset.metadata.max.bytes is too small: make it 4096, its default, or more"},
		{"a record that is too large", explain(kafka.ErrTooLarge), "record is larger than the topic's max.message.bytes: raise that"},
		{"a topic that may not be read", explain(sarama.ErrTopicAuthorizationFailed), "not authorized: grant Read on the topic"},
		{"a topic that is gone", explain(errors.New("gone")), "gone"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.text != tt.want {
				t.Errorf("%q, want %q", tt.text, tt.want)
			}
		})
	}
}
