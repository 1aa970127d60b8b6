package kafka

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/IBM/sarama"
)

// Ends returns, per partition, the offset behind the last record that a
// read_committed consumer gets: an open transaction lies beyond it.
//
// It asks each broker once, for all its partitions. An error says that some
// partitions could not be learnt; they are left out, and the others are returned
// with the error. It is the first one, by topic and partition, that says more than
// that a topic does not exist.
func (c *Cluster) Ends(topics map[string][]int32) (map[string]map[int32]int64, error) {
	return c.list(everywhere(topics, sarama.OffsetNewest), sarama.ReadCommitted)
}

// HighWatermarks returns, per partition, the offset behind the last record, also of one
// whose transaction is open: the largest offset that a group may have committed. It asks
// and fails as Ends does.
func (c *Cluster) HighWatermarks(topics map[string][]int32) (map[string]map[int32]int64, error) {
	return c.list(everywhere(topics, sarama.OffsetNewest), sarama.ReadUncommitted)
}

// Begins returns the earliest offset that still exists, per partition. It asks and
// fails as Ends does.
func (c *Cluster) Begins(topics map[string][]int32) (map[string]map[int32]int64, error) {
	return c.list(everywhere(topics, sarama.OffsetOldest), sarama.ReadCommitted)
}

// Since returns, per partition, the offset of the first record written at or after
// the partition's time in epoch milliseconds; -1 where there is none. It asks and
// fails as Ends does.
func (c *Cluster) Since(millis map[string]map[int32]int64) (map[string]map[int32]int64, error) {
	return c.list(millis, sarama.ReadCommitted)
}

func everywhere(topics map[string][]int32, at int64) map[string]map[int32]int64 {
	query := make(map[string]map[int32]int64, len(topics))
	for topic, partitions := range topics {
		query[topic] = make(map[int32]int64, len(partitions))
		for _, p := range partitions {
			query[topic][p] = at
		}
	}
	return query
}

// list asks for the offset at a time, or at a place that the protocol gives a
// negative number.
func (c *Cluster) list(query map[string]map[int32]int64, isolation sarama.IsolationLevel) (map[string]map[int32]int64, error) {
	if len(query) == 0 {
		return nil, nil
	}
	if err := c.findBrokers(); err != nil {
		return nil, fmt.Errorf("list offsets: %w", err)
	}
	results, err := c.admin.ListOffsets(query, &sarama.ListOffsetsOptions{IsolationLevel: isolation})
	refreshed := err != nil
	if refreshed { // of some broker; others may have answered
		err = fmt.Errorf("list offsets: %w", err)
		_ = c.refresh() // a leader that went away is replaced
	}
	offsets := make(map[string]map[int32]int64, len(results))
	var stale []string
	for _, topic := range slices.Sorted(maps.Keys(results)) {
		learnt, no := learn(topic, results[topic])
		if len(learnt) > 0 {
			offsets[topic] = learnt
		}
		if no != nil {
			stale = append(stale, topic)
			err = graver(err, no)
		}
	}
	if len(stale) > 0 && !refreshed {
		_ = c.refresh(stale...) // the next try finds leaders that moved
	}
	return offsets, err
}

// findBrokers asks for the cluster's metadata where the client library has struck
// brokers off its list, since they did not answer. It would ask again for each
// partition that one of them leads: while all hang, that is 10 s each.
func (c *Cluster) findBrokers() error {
	if int64(len(c.client.Brokers())) >= c.known.Load() {
		return nil
	}
	if err := c.refresh(); c.Silent() {
		return err
	}
	return nil
}

// refresh asks for the metadata of topics, or of all that are known, and notes whether a
// broker gave it.
func (c *Cluster) refresh(topics ...string) error {
	err := c.client.RefreshMetadata(topics...)
	silent := errors.Is(err, sarama.ErrOutOfBrokers)
	c.silent.Store(silent)
	if !silent {
		c.known.Store(int64(len(c.client.Brokers())))
	}
	return err
}

// Silent reports whether no broker answered at all when Ends, Begins or Since failed
// last. It asks nobody.
func (c *Cluster) Silent() bool { return c.silent.Load() }

// learn sorts what is known of a topic's partitions from the first error.
func learn(topic string, results map[int32]*sarama.OffsetResult) (offsets map[int32]int64, err error) {
	offsets = make(map[int32]int64, len(results))
	for _, p := range slices.Sorted(maps.Keys(results)) {
		r := results[p]
		if r.Err == nil || errors.Is(r.Err, sarama.ErrNoError) {
			offsets[p] = r.Offset
			continue
		}
		err = graver(err, listError(topic, p, r.Err))
	}
	return offsets, err
}

// graver returns the first of two errors, or the one that says more than that a topic
// does not exist.
func graver(first, second error) error {
	if first == nil || NoTopic(first) && !NoTopic(second) {
		return second
	}
	return first
}

// listError says what to do about an offset that could not be learnt.
func listError(topic string, partition int32, err error) error {
	var no sarama.KError
	if refused(err) && errors.As(err, &no) {
		return hidden(topic, no)
	}
	return fmt.Errorf("list offsets of %s/%d: %w", topic, partition, err)
}
