package tier

import (
	"time"

	"github.com/retryd/retryd/internal/metrics"
)

// setResume is how full the completed set may be when reading goes on, after it did not
// fit beside a commit.
const setResume = 0.75

// far is why reading pauses in a tier where all is well: nothing behind is due soon.
const far metrics.Pause = "far"

// throttle pauses fetching when there is no room or reading is far enough ahead, and
// resumes it when there is room again. The client's channel is drained all the same.
func (c *claim) throttle(now time.Time) {
	ahead := c.ahead(now)
	c.mu.Lock()
	before := c.paused
	c.paused = c.whyPause(ahead)
	paused := c.paused != ""
	c.mu.Unlock()
	switch {
	case paused && before == "":
		c.consumer.group.Pause(c.topicPartition())
	case !paused && before != "":
		c.resume()
	}
}

// whyPause returns why nothing more is to be read, if so. What has paused for want of
// room goes on at a lower mark. The caller holds mu.
func (c *claim) whyPause(ahead bool) metrics.Pause {
	records, full, set := c.relay.deps.Window.Records, c.share.Full(), 1.0
	switch c.paused {
	case metrics.PauseRecords:
		records = records/2 + 1
	case metrics.PauseBytes:
		full = !c.share.Roomy()
	case metrics.PauseCompleted:
		set = setResume
	}
	switch {
	case c.offsets.Pending() >= records:
		return metrics.PauseRecords
	case full:
		return metrics.PauseBytes
	case c.setUsed >= set:
		return metrics.PauseCompleted
	case ahead:
		return far
	}
	return ""
}

// hasRoom reports whether there is room again for a claim that had none. The caller
// holds mu.
func (c *claim) hasRoom() bool { return c.paused != "" && c.whyPause(c.paused == far) == "" }

// ahead reports whether nothing behind the newest record is normally due within
// the horizon. A record is due at its timestamp plus its tier's least delay or
// later; one whose headers say otherwise may be late, never early.
func (c *claim) ahead(now time.Time) bool {
	least := c.consumer.source.least
	return least > 0 && c.newest.Add(least).After(now.Add(c.relay.deps.Window.Horizon))
}

func (c *claim) resume() {
	c.consumer.group.Resume(c.topicPartition())
	c.fetching = time.Now()
}

func (c *claim) topicPartition() map[string][]int32 {
	return map[string][]int32{c.consumer.source.topic: {c.partition}}
}
