package tier

import (
	"errors"

	"github.com/IBM/sarama"
	"go.uber.org/zap"

	"github.com/retryd/retryd/internal/kafka"
	"github.com/retryd/retryd/internal/logging"
	"github.com/retryd/retryd/internal/metrics"
	"github.com/retryd/retryd/internal/window"
)

// locate finds the starting offset of each partition, makes its claim, and steers the
// client there, where it has not begun to read.
func (s *session) locate(gs sarama.ConsumerGroupSession, partitions []int32) (map[int32]*claim, error) {
	topic, cluster := s.consumer.source.topic, s.consumer.relay.cluster
	want := map[string][]int32{topic: partitions}
	committed, err := cluster.Committed(s.consumer.source.group, want)
	if err != nil {
		return nil, err
	}
	// After the commits: what is written meanwhile must not look as if it had been lost.
	begins, err := cluster.Begins(want)
	if err != nil {
		return nil, err
	}
	ends, err := cluster.HighWatermarks(want) // another tool may have committed beyond an open transaction
	if err != nil {
		return nil, err
	}
	var flawed flaws
	claims := make(map[int32]*claim, len(partitions))
	for _, p := range partitions {
		at, has := committed[topic][p]
		start, completed := s.startOf(p, at, has, extent{begins[topic][p], ends[topic][p]}, &flawed)
		// The client starts at the commit. This lowers it; what lies below the earliest
		// record it raises itself.
		gs.ResetOffset(topic, p, start, "")
		c := newClaim(s, p, start)
		c.offsets.Restore(completed)
		claims[p] = c
	}
	s.consumer.tellFlaws(flawed)
	return claims, nil
}

// flaws are the partitions whose commits cannot be taken as they are.
type flaws struct {
	corrupt []int32 // the metadata cannot be read
	anew    []int32 // the topic was made anew since
	deleted []int32 // offsets that were not read are gone
	offsets int64   // how many; of their records at most as many
	cut     []int32 // the partition ends below what they tell as complete
	lost    []int32 // the partition ends below their offsets
}

// extent is what exists of a partition: the offsets from begin to before end.
type extent struct{ begin, end int64 }

// startOf returns where a partition is read from, and what is completed above that: the
// commit says so, unless it belongs to another topic of the same name, or to records that
// the cluster has lost: others take their offsets, so all that there is counts as unread.
// What no longer exists is not read, and what does not exist yet is not completed.
func (s *session) startOf(p int32, at kafka.Committed, has bool, exists extent, f *flaws) (start int64, completed []window.Run) {
	if !has {
		return exists.begin, nil
	}
	meta, err := window.ParseMetadata(at.Metadata, at.Offset)
	switch {
	case errors.Is(err, window.ErrNoMetadata): // a commit of another tool: only its offset counts
	case err != nil:
		f.corrupt = append(f.corrupt, p)
		s.consumer.metrics.MetadataIgnored(metrics.MetadataCorrupt)
	case otherTopic(meta.TopicID, s.topicID):
		f.anew = append(f.anew, p)
		s.consumer.metrics.MetadataIgnored(metrics.MetadataOtherTopic)
		return exists.begin, nil
	}
	if at.Offset > exists.end {
		f.lost = append(f.lost, p)
		s.consumer.metrics.MetadataIgnored(metrics.MetadataBeyondEnd)
		return exists.begin, nil
	}
	done := window.Count(window.Clip(meta.Completed, at.Offset, exists.begin))
	if unread := exists.begin - at.Offset - done; unread > 0 {
		f.deleted = append(f.deleted, p)
		f.offsets += unread
	}
	completed = window.Clip(meta.Completed, 0, exists.end)
	if window.Count(completed) < window.Count(meta.Completed) {
		f.cut = append(f.cut, p)
		s.consumer.metrics.MetadataIgnored(metrics.MetadataBeyondEnd)
	}
	return max(at.Offset, exists.begin), completed
}

// tellFlaws logs what was wrong, once for all partitions.
func (c *consumer) tellFlaws(f flaws) {
	topic := zap.String(logging.FieldTopic, c.source.topic)
	if len(f.corrupt) > 0 {
		c.relay.log.Warn("commit metadata is unusable, the offset alone counts", topic, zap.Int32s("partitions", f.corrupt))
	}
	if len(f.anew) > 0 {
		c.relay.log.Warn("topic was made anew since the last commit: it is read from its earliest offset", topic, zap.Int32s("partitions", f.anew))
	}
	if len(f.cut) > 0 {
		c.relay.log.Warn("partition ends below what its commit tells as complete: the cluster has lost records, and what comes in their place is delivered", topic, zap.Int32s("partitions", f.cut))
	}
	if len(f.lost) > 0 {
		c.relay.log.Error("partition ends below its committed offset: the cluster has lost records, and it is read from its earliest offset", topic, zap.Int32s("partitions", f.lost))
	}
	if len(f.deleted) > 0 {
		c.relay.log.Error("retention deleted offsets before they were read: records, or only markers of transactions", topic, zap.Int32s("partitions", f.deleted), zap.Int64("offsets", f.offsets))
	}
}
