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

// resolveStart settles, once, where the main group begins: if it has no commit
// yet, the offset of every partition is committed before the first read, so that
// a partition that appears later is the only one that begins at its earliest.
func (r *Relay) resolveStart() error {
	if r.started || !r.config.Consume {
		return nil
	}
	main := r.routes.Load().topics[r.config.Topic]
	partitions := map[string][]int32{main.Name: numbers(main.Partitions)}
	committed, err := r.cluster.Committed(r.config.Group, partitions)
	if err != nil {
		return err
	}
	if len(committed[main.Name]) == 0 {
		if err := r.commitStart(main, partitions); err != nil {
			return err
		}
	}
	r.started = true
	return nil
}

func (r *Relay) commitStart(main kafka.Topic, partitions map[string][]int32) error {
	begins, err := r.cluster.Begins(partitions)
	if err != nil {
		return err
	}
	ends, err := r.cluster.Ends(partitions)
	if err != nil {
		return err
	}
	at, err := startAt(r.config.Start, begins[main.Name], ends[main.Name], func(millis int64) (map[int32]int64, error) {
		since, err := r.cluster.Since(partitions, millis)
		return since[main.Name], err
	})
	if err != nil {
		return fmt.Errorf("group %s on topic %s: %w", r.config.Group, main.Name, err)
	}
	offsets := kafka.Offsets{}
	for p, offset := range at {
		offsets.Set(main.Name, p, kafka.Committed{
			Offset:   offset,
			Metadata: window.Metadata{TopicID: main.ID}.Encode(offset),
		})
	}
	// A group without members takes commits without a member (generation -1). If it
	// has members, another instance was faster: its commits are found at the next try.
	err = r.cluster.Commit(kafka.Member{Group: r.config.Group, Generation: -1}, offsets)
	if err == nil {
		r.log.Info("group starts", zap.String(logging.FieldGroup, r.config.Group), zap.String(logging.FieldTopic, main.Name),
			zap.String("start", r.config.Start), zap.Int64("records", between(at, ends[main.Name])))
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
	records := between(begins, ends)
	switch {
	case records == 0 || start == "latest":
		return ends, nil
	case start == "earliest":
		return begins, nil
	case start == "":
		return nil, fmt.Errorf("%w: the group has no committed offset and the topic holds about %d records; say start: earliest to deliver them, latest to skip them, or a time (RFC 3339)", errStartNeeded, records)
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

// numbers lists the partitions 0 to n-1.
func numbers(n int32) []int32 {
	list := make([]int32, n)
	for i := range list {
		list[i] = int32(i)
	}
	return list
}
