package tier

import (
	"errors"
	"time"

	"github.com/IBM/sarama"

	"github.com/retryd/retryd/internal/kafka"
)

// Whether a consumer is a member of its group is told by Setup, by lost and by absent,
// which come in turn from one goroutine: so the last word is the newest.

// lost tells that a session has ended, and why. Most often the next one begins within
// a moment; where commits had failed, nothing was delivered before.
func (c *consumer) lost(cause error) {
	t := troubleOf(kindMember, c.source.group, whyJoining(cause))
	t.hush, t.passing, t.common = c.relay.usually(), true, true
	if c.relay.troubles.has(kindCommit, c.source.group) {
		t.grace = 0
	}
	c.tell(t)
}

// absent tells why a try to join has failed.
func (c *consumer) absent(err error) {
	c.lastError.note(time.Now(), explain(err))
	c.tell(troubleOf(kindMember, c.source.group, err))
}

// tell makes a trouble known, unless the consumer is to end.
func (c *consumer) tell(t trouble) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.gone {
		c.relay.tell(t)
	}
}

// failed tells of an error between two fetches or two heartbeats. The client tries
// again by itself; brokers that do not answer end the session, too, if they stay away,
// and so do heartbeats that fail: the end of the session tells of those.
func (c *consumer) failed(err error) {
	c.lastError.note(time.Now(), explain(err))
	var fetch *sarama.ConsumerError
	switch {
	case !errors.As(err, &fetch):
	case kafka.Unreachable(err):
		c.relay.warn(kindRead.began(), c.source.topic, err)
	default:
		c.relay.raise(kindRead, c.source.topic, err)
	}
}
