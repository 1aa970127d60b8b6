package tier

import (
	"errors"
	"time"

	"github.com/retryd/retryd/internal/kafka"
)

// release drops what is merely held and waits for what is outside: an attempt that
// started may finish, and so may its forward. What is judged already is written
// once more, or its attempt would be repeated.
func (c *claim) release() {
	for _, j := range c.close() {
		c.relay.sendHeld(j)
	}
	c.drain()
	c.share.Leave()
}

// close ends the holding. It lets out what is judged already, and returns it.
func (c *claim) close() (last []*job) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.window.Clear()
	c.parking.Clear()
	for j, ok := c.unwritten.Pop(); ok; j, ok = c.unwritten.Pop() {
		c.note(j)
		last = append(last, j)
	}
	if len(c.outside) == 0 {
		close(c.idle)
	}
	return last
}

// errGaveUp says that what was in flight did not come back in time.
var errGaveUp = errors.New("no answer or acknowledgement in time")

func (c *claim) drain() {
	patience := time.NewTimer(c.relay.config.Endpoint.Timeout + kafka.ForwardTimeout)
	defer patience.Stop()
	select {
	case <-c.idle:
	case <-patience.C:
		c.relay.warn("gave up on records in flight, they are delivered again", c.consumer.source.topic, errGaveUp)
	case <-c.consumer.abort.Done():
	}
}
