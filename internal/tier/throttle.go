package tier

import "time"

// throttle pauses fetching when the window is full or reading is far enough ahead,
// and resumes it when there is room again. The client's channel is drained all the
// same.
func (c *claim) throttle(now time.Time) {
	limit := c.relay.deps.Window.Records
	c.mu.Lock()
	n, full := c.offsets.Len(), c.share.Full()
	c.mu.Unlock()
	ahead := c.ahead(now)
	switch {
	case !c.paused && (n >= limit || full || ahead):
		c.consumer.group.Pause(c.topicPartition())
		c.paused = true
	case c.paused && n <= limit/2 && !full && !ahead:
		c.resume()
	}
}

// ahead reports whether nothing behind the newest record is normally due within
// the horizon. A record is due at its timestamp plus its tier's least delay or
// later; one whose headers say otherwise may be late, never early.
func (c *claim) ahead(now time.Time) bool {
	least := c.consumer.source.least
	return least > 0 && c.newest.Add(least).After(now.Add(c.relay.deps.Window.Horizon))
}

func (c *claim) resume() {
	c.consumer.group.Resume(c.topicPartition())
	c.paused, c.fetching = false, time.Now()
}

func (c *claim) topicPartition() map[string][]int32 {
	return map[string][]int32{c.consumer.source.topic: {c.partition}}
}
