package tier

import (
	"errors"
	"slices"
	"strconv"
	"sync"
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

// leaderMoves is how long a partition may take to get another leader: a broker that
// fell silent is given up after 9 s (broker.session.timeout.ms).
const leaderMoves = 15 * time.Second

// failed tells of an error between two fetches or two heartbeats. The client tries
// again by itself. A partition without a leader does not end the session, so it is told
// here; heartbeats that fail do, and the end of the session tells of those. So does an
// offset that is gone: the next session says what became of the records.
func (c *consumer) failed(err error) {
	c.lastError.note(time.Now(), explain(err))
	var fetch *sarama.ConsumerError
	if !errors.As(err, &fetch) {
		return
	}
	t := troubleOf(kindRead, partitionName(fetch.Topic, fetch.Partition), fetch.Err)
	switch {
	case kafka.Unreachable(fetch.Err):
		t.grace = leaderMoves
	case errors.Is(fetch.Err, sarama.ErrOffsetOutOfRange):
		t.grace, t.hush = moment, moment
	}
	c.relay.tell(t)
}

// partitionName is what a trouble with one partition is about.
func partitionName(topic string, p int32) string {
	return topic + "/" + strconv.Itoa(int(p))
}

// members are a relay's consumers. They are safe for concurrent use.
type members struct {
	mu   sync.Mutex
	list []*consumer
}

// expect names all consumers, before any of them runs.
func (m *members) expect(consumers []*consumer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.list = slices.Clone(consumers)
}

// forget takes out the consumer of a retired tier.
func (m *members) forget(c *consumer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.list = slices.DeleteFunc(m.list, func(each *consumer) bool { return each == c })
}

// all returns the consumers, main's first; none before the topics stood once.
func (m *members) all() []*consumer {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.list)
}
