package tier

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/IBM/sarama"
	"go.uber.org/zap"

	"github.com/retryd/retryd/internal/kafka"
	"github.com/retryd/retryd/internal/logging"
	"github.com/retryd/retryd/internal/metrics"
)

const (
	// rejoinPause is how long a consumer waits after a session that failed.
	rejoinPause = time.Second
	// fencedPause is how long it waits after another instance took its place with the
	// same kafka.instance_id: until that one is gone, no try succeeds.
	fencedPause = 30 * time.Second
	// hastySessions is how many sessions in a row may end within rejoinPause before
	// that counts as a failure: members that join one after another end a few.
	hastySessions = 5
)

// consumer is the member of one consumer group: it keeps joining until it is told
// to stop, one session after the other.
type consumer struct {
	relay   *Relay
	source  source
	metrics *metrics.Tier
	abort   context.Context
	group   sarama.ConsumerGroup // set by run before any session

	lastError lastEvent
	writing   pulse     // of its one commit in flight
	rejoined  time.Time // when it last joined anew for partitions without an owner; of the relay's look

	session atomic.Pointer[session] // nil between sessions
	joining atomic.Bool             // while it connects, and from the call of Consume until a session begins
	cut     atomic.Bool             // a stop has hung up on it meanwhile: leaving may fail

	mu     sync.Mutex
	end    context.CancelFunc // ends the running session, which is then begun anew
	missed int                // looks in a row that did not find the topic
	gone   bool               // the topic was deleted, and a retired tier does not come back
}

func (r *Relay) newConsumer(s source) *consumer {
	return &consumer{relay: r, source: s, metrics: r.metrics.Tier(s.label)}
}

// run is a member of the group until ctx ends or a retired tier's topic is gone.
func (c *consumer) run(ctx, abort context.Context) {
	c.abort = abort
	config, hangUp := c.clientConfig()
	ended := make(chan struct{})
	var interrupter sync.WaitGroup
	interrupter.Go(func() { c.interrupt(ctx, ended, hangUp) })
	defer interrupter.Wait()
	defer close(ended)
	for ctx.Err() == nil && !c.retiredAndGone() {
		client, err := c.connect(ctx, config)
		if err == nil {
			c.member(ctx, client)
			return
		}
		if ctx.Err() == nil {
			c.absent(err)
			sleep(ctx, rejoinPause)
		}
	}
}

// member joins again and again, and leaves the group at the end.
func (c *consumer) member(ctx context.Context, client sarama.Client) {
	var drain sync.WaitGroup
	drain.Go(func() {
		for err := range c.group.Errors() {
			c.failed(err)
		}
	})
	for hasty := 0; ctx.Err() == nil && !c.retiredAndGone(); {
		began := time.Now()
		err := c.consume(ctx)
		if hasty++; time.Since(began) > rejoinPause {
			hasty = 0
		}
		switch {
		case ctx.Err() != nil:
		case err != nil && !errors.Is(err, context.Canceled): // that was restart
			c.absent(err)
			sleep(ctx, pauseAfter(err))
		case hasty > hastySessions:
			sleep(ctx, rejoinPause)
		}
	}
	if c.cut.Load() { // leaving needs a connection that is not about to break
		hangUpOn(client, c.source.group)
	}
	if err := c.group.Close(); err != nil && !c.cut.Load() {
		c.relay.warn("cannot leave the group: its partitions rest until kafka.session_timeout is over", c.source.topic, err)
	}
	drain.Wait()
	_ = client.Close() // after the group, which needs it to leave
}

// pauseAfter is how long to wait before joining again.
func pauseAfter(err error) time.Duration {
	if errors.Is(err, sarama.ErrFencedInstancedId) {
		return fencedPause
	}
	return rejoinPause
}

func (c *consumer) consume(ctx context.Context) error {
	ctx, end := context.WithCancel(ctx)
	defer end()
	c.mu.Lock()
	c.end = end
	c.mu.Unlock()
	c.joining.Store(true)
	defer c.joined()
	return c.group.Consume(ctx, []string{c.source.topic}, handler{c})
}

// restart ends the running session; the next one begins at once.
func (c *consumer) restart() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.end != nil {
		c.end()
	}
}

func (c *consumer) retiredAndGone() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.gone
}

// checkTopic compares the topic, as found among those that exist, with the one that
// the running session reads.
func (c *consumer) checkTopic(found map[string]kafka.Topic) {
	t, exists := found[c.source.topic]
	if missed := c.looked(exists); missed > 0 {
		if c.source.retired && missed > 1 { // a broker may be behind once
			c.retire()
		}
		return // a live one is the plan's business
	}
	s := c.session.Load()
	switch {
	case s == nil:
	case otherTopic(t.ID, s.topicID):
		c.relay.log.Warn("topic was made anew: it is read from its earliest offset", zap.String(logging.FieldTopic, t.Name))
		c.restart()
	case c.relay.deps.Kafka.InstanceID != "" && !s.allOwned(t):
		// A static member that restarts is let in without another generation. If it leads
		// its group it is not told so (KIP-814), and only a leader's client looks for new
		// partitions. When it joins anew, as a member that the group knows, they are shared
		// out.
		c.joinAnew(time.Now())
	}
}

// joinAnew has partitions without an owner shared out. Those of a static member that is
// away are its own until its session has timed out: joining anew for them would only stop
// the others, so it is not done again before. Only the relay's look calls it.
func (c *consumer) joinAnew(now time.Time) {
	if !c.rejoined.IsZero() && now.Sub(c.rejoined) < 2*c.relay.deps.Kafka.SessionTimeout {
		return
	}
	c.rejoined = now
	c.relay.log.Info("partitions have no owner: the member joins its group anew, to have them shared out",
		zap.String(logging.FieldTopic, c.source.topic), zap.String(logging.FieldGroup, c.source.group))
	c.restart()
}

// looked counts the looks in a row that did not find the topic.
func (c *consumer) looked(found bool) (missed int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.missed++
	if found {
		c.missed = 0
	}
	return c.missed
}

// retire ends the consumer of a retired tier whose topic was deleted.
func (c *consumer) retire() {
	c.mu.Lock()
	c.gone = true
	c.relay.drop(kindMember, c.source.group)
	c.mu.Unlock()
	c.relay.members.forget(c)
	c.relay.log.Info("retired tier topic was deleted: it is no longer consumed", zap.String(logging.FieldTopic, c.source.topic))
	c.restart()
}

// otherTopic reports whether two ids name different topics. Zero is no id: a cluster
// before Kafka 2.8 has none.
func otherTopic(a, b [16]byte) bool {
	return a != b && a != [16]byte{} && b != [16]byte{}
}

// sleep waits, at most until ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}
