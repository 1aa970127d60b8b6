package tier

import (
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"github.com/retryd/retryd/internal/kafka"
	"github.com/retryd/retryd/internal/logging"
	"github.com/retryd/retryd/internal/window"
)

// errStartNeeded says that only a person knows where a new group begins.
var errStartNeeded = errors.New("start is needed")

// Start is where the group on the main topic begins, if it has not begun.
type Start struct {
	Committed bool  // the group has commits: nothing begins anew, and the rest is zero
	Needed    bool  // the topic has records, and the relay's start does not say what to do with them
	Records   int64 // what a first start would read
	Total     int64 // what the topic holds; both count offsets, so markers of transactions too

	topic kafka.Topic
	at    map[int32]int64 // per partition, unless Needed
}

// FirstStart looks where the group of a relay that consumes its main topic would
// begin. It changes nothing. An error that wraps kafka.ErrNoTopic says that the topic
// does not exist.
func FirstStart(cluster *kafka.Cluster, c Config) (Start, error) {
	found, err := cluster.Topics(c.Topic)
	if err != nil {
		return Start{}, err
	}
	topic, exists := found[c.Topic]
	if !exists {
		return Start{}, fmt.Errorf("main topic %s: %w", c.Topic, kafka.ErrNoTopic)
	}
	partitions := map[string][]int32{topic.Name: numbers(topic.Partitions)}
	committed, err := cluster.Committed(c.Group, partitions)
	if err != nil || len(committed[topic.Name]) > 0 {
		return Start{Committed: err == nil}, err
	}
	begins, err := cluster.Begins(partitions)
	if err != nil {
		return Start{}, err
	}
	ends, err := cluster.Ends(partitions)
	if err != nil {
		return Start{}, err
	}
	s := Start{topic: topic, Total: between(begins[topic.Name], ends[topic.Name])}
	s.at, err = startAt(c.Start, begins[topic.Name], ends[topic.Name], func(millis int64) (map[int32]int64, error) {
		since, err := cluster.Since(atOnce(topic, millis))
		return since[topic.Name], err
	})
	if errors.Is(err, errStartNeeded) {
		s.Needed = true
		return s, nil
	}
	s.Records = between(s.at, ends[topic.Name])
	return s, err
}

// resolveStart settles, once, where the main group begins: if it has no commit
// yet, the offset of every partition is committed before the first read, so that
// a partition that appears later is the only one that begins at its earliest.
func (r *Relay) resolveStart() error {
	if r.started || !r.config.Consume {
		return nil
	}
	first, err := FirstStart(r.cluster, r.config)
	switch {
	case err != nil:
		return err
	case first.Needed:
		return fmt.Errorf("group %s has no committed offset and topic %s holds about %d records: %w; say start: earliest to deliver them, latest to skip them, or a time (RFC 3339)",
			r.config.Group, r.config.Topic, first.Total, errStartNeeded)
	case !first.Committed:
		err = r.commitStart(first)
	}
	r.started = err == nil
	return err
}

// commitStart commits as somebody who is no member (generation -1), which a group
// without members allows. If it has members, another instance was faster: its commits
// are found at the next try.
func (r *Relay) commitStart(first Start) error {
	offsets := kafka.Offsets{}
	for p, offset := range first.at {
		text, _, _ := window.Metadata{TopicID: first.topic.ID}.Encode(offset)
		offsets.Set(first.topic.Name, p, kafka.Committed{Offset: offset, Metadata: text})
	}
	err := r.cluster.Commit(kafka.Member{Group: r.config.Group, Generation: -1}, offsets)
	if err == nil {
		r.log.Info("group starts", zap.String(logging.FieldGroup, r.config.Group), zap.String(logging.FieldTopic, first.topic.Name),
			zap.String("start", r.config.Start), zap.Int64("records", first.Records))
	}
	return err
}

// between counts the offsets from some to others, over all partitions.
func between(from, to map[int32]int64) int64 {
	var n int64
	for p, end := range to {
		n += max(0, end-from[p])
	}
	return n
}

// startAt returns the offset per partition at which a new group begins. An empty
// topic needs no word.
func startAt(start string, begins, ends map[int32]int64, since func(millis int64) (map[int32]int64, error)) (map[int32]int64, error) {
	switch {
	case between(begins, ends) == 0 || start == "latest":
		return ends, nil
	case start == "earliest":
		return begins, nil
	case start == "":
		return nil, errStartNeeded
	}
	t, err := time.Parse(time.RFC3339, start)
	if err != nil {
		return nil, fmt.Errorf("start: %w", err)
	}
	found, err := since(t.UnixMilli())
	if err != nil {
		return nil, err
	}
	at := make(map[int32]int64, len(ends))
	for p, end := range ends {
		at[p] = end
		if offset, ok := found[p]; ok && offset >= 0 {
			at[p] = offset
		}
	}
	return at, nil
}

// atOnce asks for the offset at one time in all partitions.
func atOnce(t kafka.Topic, millis int64) map[string]map[int32]int64 {
	at := make(map[int32]int64, t.Partitions)
	for _, p := range numbers(t.Partitions) {
		at[p] = millis
	}
	return map[string]map[int32]int64{t.Name: at}
}

// numbers lists the partitions 0 to n-1.
func numbers(n int32) []int32 {
	list := make([]int32, n)
	for i := range list {
		list[i] = int32(i)
	}
	return list
}
