package tier

import "time"

// throttle pauses fetching when the window is full or reading is far enough ahead,
// and resumes it when there is room again. The client's channel is drained all the
// same.
func (c *claim) throttle(now time.Time) {
	ahead := c.ahead(now)
	c.mu.Lock()
	paused, full, room := c.paused, c.isFull(), c.hasRoom()
	c.mu.Unlock()
	switch {
	case !paused && (full || ahead):
		c.pause()
	case paused && room && !ahead:
		c.resume()
	}
}

// isFull and hasRoom are the high mark and the low one of what is held and in flight.
// The caller holds mu.
func (c *claim) isFull() bool {
	return c.offsets.Pending() >= c.relay.deps.Window.Records || c.share.Full()
}

func (c *claim) hasRoom() bool {
	return c.offsets.Pending() <= c.relay.deps.Window.Records/2 && c.share.Roomy()
}

// ahead reports whether nothing behind the newest record is normally due within
// the horizon. A record is due at its timestamp plus its tier's least delay or
// later; one whose headers say otherwise may be late, never early.
func (c *claim) ahead(now time.Time) bool {
	least := c.consumer.source.least
	return least > 0 && c.newest.Add(least).After(now.Add(c.relay.deps.Window.Horizon))
}

func (c *claim) pause() {
	c.consumer.group.Pause(c.topicPartition())
	c.setPaused(true)
}

func (c *claim) resume() {
	c.consumer.group.Resume(c.topicPartition())
	c.setPaused(false)
	c.fetching = time.Now()
}

func (c *claim) setPaused(paused bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.paused = paused
}

func (c *claim) topicPartition() map[string][]int32 {
	return map[string][]int32{c.consumer.source.topic: {c.partition}}
}
