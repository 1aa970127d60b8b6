package kafka

import (
	"cmp"
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
// with the error. It is the first one, by topic and partition.
func (c *Cluster) Ends(topics map[string][]int32) (map[string]map[int32]int64, error) {
	return c.list(everywhere(topics, sarama.OffsetNewest))
}

// Begins returns the earliest offset that still exists, per partition. It asks and
// fails as Ends does.
func (c *Cluster) Begins(topics map[string][]int32) (map[string]map[int32]int64, error) {
	return c.list(everywhere(topics, sarama.OffsetOldest))
}

// Since returns, per partition, the offset of the first record written at or after
// the partition's time in epoch milliseconds; -1 where there is none. It asks and
// fails as Ends does.
func (c *Cluster) Since(millis map[string]map[int32]int64) (map[string]map[int32]int64, error) {
	return c.list(millis)
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
func (c *Cluster) list(query map[string]map[int32]int64) (map[string]map[int32]int64, error) {
	if len(query) == 0 {
		return nil, nil
	}
	results, err := c.admin.ListOffsets(query, &sarama.ListOffsetsOptions{IsolationLevel: sarama.ReadCommitted})
	if err != nil { // of some broker; others may have answered
		err = fmt.Errorf("list offsets: %w", err)
		_ = c.client.RefreshMetadata() // a leader that went away is replaced
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
			err = cmp.Or(err, no)
		}
	}
	if len(stale) > 0 {
		_ = c.client.RefreshMetadata(stale...) // the next try finds leaders that moved
	}
	return offsets, err
}

// learn sorts what is known of a topic's partitions from the first error.
func learn(topic string, results map[int32]*sarama.OffsetResult) (offsets map[int32]int64, err error) {
	offsets = make(map[int32]int64, len(results))
	for _, p := range slices.Sorted(maps.Keys(results)) {
		r := results[p]
		if r.Err == nil || errors.Is(r.Err, sarama.ErrNoError) {
			offsets[p] = r.Offset
			continue
		}
		err = cmp.Or(err, listError(topic, p, r.Err))
	}
	return offsets, err
}

// listError says what to do about an offset that could not be learnt.
func listError(topic string, partition int32, err error) error {
	var no sarama.KError
	if refused(err) && errors.As(err, &no) {
		return hidden(topic, no)
	}
	return fmt.Errorf("list offsets of %s/%d: %w", topic, partition, err)
}
