package tier

import (
	"github.com/retryd/retryd/internal/kafka"
	"github.com/retryd/retryd/internal/window"
)

// commitSize bounds the metadata of one commit, in bytes. Kafka stores a commit as one
// batch, which __consumer_offsets takes up to 1 MiB (max.message.bytes).
const commitSize = 768 << 10

// position is what a commit says of a partition. The zero value is none.
type position struct {
	kafka.Committed
	mark   window.Mark // of the offsets that it tells
	limit  int         // of the metadata's characters
	untold int64       // offsets that are complete above it and did not fit
}

// position returns what is to be committed, of which last is what was acknowledged:
// nothing is looked at while nothing is completed and there is as much room. It is called by the one that
// commits.
func (c *claim) position(last position, limit int) position {
	c.mu.Lock()
	mark := c.offsets.Mark()
	if last.Metadata != "" && mark == last.mark && limit == last.limit {
		c.mu.Unlock()
		return last
	}
	completed := c.offsets.Completed()
	c.mu.Unlock()

	meta := window.Metadata{TopicID: c.session.topicID, Completed: completed}
	text, used := meta.Encode(mark.Low, limit)
	c.mu.Lock()
	c.setUsed = used
	c.mu.Unlock()
	at := position{Committed: kafka.Committed{Offset: mark.Low, Metadata: text}, mark: mark, limit: limit}
	if used > 1 {
		told, _ := window.ParseMetadata(text, mark.Low)
		at.untold = window.Count(completed) - window.Count(told.Completed)
	}
	return at
}

// metadataLimit returns how many characters each partition of the session may have.
func (s *session) metadataLimit() int {
	return min(window.MaxMetadata, commitSize/max(len(s.claimed()), 1))
}
