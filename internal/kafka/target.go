package kafka

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/IBM/sarama"
)

// ErrTooLarge says that a record does not fit its topic, even alone and
// compressed.
var ErrTooLarge = errors.New("record is larger than the topic's max.message.bytes")

// Target is one topic that records are forwarded to.
type Target struct {
	topic string
	limit int // largest record that the topic takes without compression
	small *lane
	large *lane // shared by all targets: one record at a time

	producers [2]*producer // of the lanes
}

// Learn makes sure that the topic's partitions are known to those who write, which else
// notice within 30 s that it has got more, and refuse a record for a new one until then.
// An error says that no broker answered, or that it does not know them yet either.
func (t *Target) Learn(partitions int32) error {
	for _, p := range t.producers {
		if err := p.learn(t.topic, int(partitions)); err != nil {
			return fmt.Errorf("ask for the partitions of topic %s: %w", t.topic, err)
		}
	}
	return nil
}

// Done is told, once, what came of a Send, from another goroutine unless the
// producers are closed. It must not block. err is nil when every in-sync replica
// has the record, ErrTooLarge when it can never fit, a *PlanError when the topic may
// not be written, anything else when it may or may not have been written. offset is
// where it was written; it is 0 if the broker only said that it has it already
// (DUPLICATE_SEQUENCE_NUMBER), so nothing may depend on it.
type Done func(offset int64, err error)

// Send writes one record. It does not block.
func (t *Target) Send(m *sarama.ProducerMessage, done Done) {
	m.Topic = t.topic
	if m.ByteSize(2) > t.limit {
		t.sendAlone(m, done)
		return
	}
	t.small.send(m, func(offset int64, err error) {
		if err != nil && refusedForSize(err) {
			// One record over the limit fails its whole batch: each goes again alone.
			t.sendAlone(fresh(m), done)
			return
		}
		done(offset, t.explained(err))
	})
}

func (t *Target) sendAlone(m *sarama.ProducerMessage, done Done) {
	t.large.send(m, func(offset int64, err error) { done(offset, t.explained(err)) })
}

// explained gives the refusal of a record that was alone in its batch its name.
func (t *Target) explained(err error) error {
	switch {
	case err == nil:
		return nil
	case refusedForSize(err):
		return fmt.Errorf("%w: %w", ErrTooLarge, err)
	}
	return cmp.Or(writeDenied(t.topic, err), err)
}

// refusedForSize reports whether a batch is too large for its topic
// (max.message.bytes), for the topic's segments (segment.bytes), or for the client,
// which says so by a configuration error (sarama v1.61.1, async_producer.go:657).
func refusedForSize(err error) bool {
	var byClient sarama.ConfigurationError
	return errors.Is(err, sarama.ErrMessageSizeTooLarge) || errors.Is(err, sarama.ErrMessageSetSizeTooLarge) ||
		errors.As(err, &byClient)
}

// fresh copies what the caller set: a message that was sent carries state of the
// client library.
func fresh(m *sarama.ProducerMessage) *sarama.ProducerMessage {
	return &sarama.ProducerMessage{
		Topic: m.Topic, Key: m.Key, Value: m.Value, Headers: m.Headers,
		Partition: m.Partition, Timestamp: m.Timestamp,
	}
}
