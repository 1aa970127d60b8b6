package tier

import (
	"github.com/retryd/retryd/internal/kafka"
	"github.com/retryd/retryd/internal/window"
)

// position is what a commit says of a partition. The zero value is none.
type position struct {
	kafka.Committed
	mark   window.Mark // of the offsets that it tells
	untold int64       // offsets that are complete above it and did not fit
}

// position returns what is to be committed, of which last is what was acknowledged:
// nothing is looked at while nothing is completed. It is called by the one that commits.
func (c *claim) position(last position) position {
	c.mu.Lock()
	mark := c.offsets.Mark()
	if last.Metadata != "" && mark == last.mark {
		c.mu.Unlock()
		return last
	}
	completed := c.offsets.Completed()
	c.mu.Unlock()

	meta := window.Metadata{TopicID: c.session.topicID, Completed: completed}
	text, told, used := meta.Encode(mark.Low)
	c.mu.Lock()
	c.setUsed = used
	c.mu.Unlock()
	return position{
		Committed: kafka.Committed{Offset: mark.Low, Metadata: text},
		mark:      mark, untold: window.Count(completed[told:]),
	}
}
