package tier

import (
	"time"

	"github.com/retryd/retryd/internal/metrics"
	"github.com/retryd/retryd/internal/window"
)

// How full the room for the completed set may become.
const (
	setFull   = 0.9  // reading pauses; what was fetched by then still comes
	setResume = 0.85 // and goes on; a tier whose jitter mixes less than this is never late by a pause
	// setCost is how many bits one more completed record adds to a set at most, by
	// measurement, in the shape that suits a set of long runs least.
	setCost = 1.5
)

// far is why reading pauses in a tier where all is well: nothing behind is due soon.
const far metrics.Pause = "far"

// throttle pauses fetching when there is no room or reading is far enough ahead, and
// resumes it when there is room again. The client's channel is drained all the same.
func (c *claim) throttle(now time.Time) {
	src := c.consumer.source
	ahead, early := c.ahead(now, src.least), c.ahead(now, src.soonest())
	c.mu.Lock()
	before := c.paused
	c.paused = c.whyPause(ahead, early)
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
// room goes on at a lower mark. What is left to be read early, before it is needed, waits
// for room in the completed set as if it were far ahead. The caller holds mu.
func (c *claim) whyPause(ahead, early bool) metrics.Pause {
	records, full, set := c.relay.deps.Window.Records, c.share.Full(), setFull
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
	case ahead || early && c.setAtWorst() >= set:
		return far
	case c.setAtWorst() >= set:
		return metrics.PauseCompleted
	}
	return ""
}

// setAtWorst returns how full the room for the completed set becomes, if what is pending
// completes in the worst order and nothing more is read: so the last commit can tell all
// that is complete. Main's records complete nearly in the order of their offsets, and
// hardly need more than they do. What an earlier owner had told is read again in any case.
// The caller holds mu.
func (c *claim) setAtWorst() float64 {
	switch {
	case c.offsets.Restoring():
		return 0
	case c.consumer.source.main():
		return c.setUsed
	}
	const room = float64(window.SetRoom)
	mixed := c.setUsed*room + setCost*float64(c.offsets.Pending())
	return min(mixed, float64(c.offsets.Span())) / room
}

// hasRoom reports whether there is room again for a claim that had none. The caller
// holds mu.
func (c *claim) hasRoom() bool { return c.paused != "" && c.whyPause(c.paused == far, false) == "" }

// ahead reports whether nothing behind the newest record is normally due within
// the horizon. A record is due at its timestamp plus its tier's least delay or
// later; one whose headers say otherwise may be late, never early.
func (c *claim) ahead(now time.Time, least time.Duration) bool {
	return least > 0 && c.newest.Add(least).After(now.Add(c.relay.deps.Window.Horizon))
}

func (c *claim) resume() {
	c.consumer.group.Resume(c.topicPartition())
	c.fetching = time.Now()
}

func (c *claim) topicPartition() map[string][]int32 {
	return map[string][]int32{c.consumer.source.topic: {c.partition}}
}
