package control

import (
	"slices"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/retryd/retryd/internal/kafka"
	"github.com/retryd/retryd/internal/logging"
)

// lookInterval is how often the topic is looked at: for what was mended, and for a topic
// that was made anew, which a reader need not notice.
const lookInterval = 30 * time.Second

// look makes sure that the topic stands, and keeps what is known of it.
func (c *Control) look(cluster *kafka.Cluster) (kafka.Topic, error) {
	topic, err := c.plan(cluster)
	if err == nil {
		c.topic.Store(&topic)
		c.planned = true
	}
	return topic, err
}

// looks are those beside the reading of a topic, one at a time: a cluster that takes its
// time does not hold up what is read.
type looks struct {
	due     time.Time // of the next
	found   chan look // nil while none is under way
	running sync.WaitGroup
}

type look struct {
	topic kafka.Topic
	err   error
}

// relook begins a look when it is due. It ends the reading of a topic that was made anew:
// what else is found is told, and it is read on.
func (c *Control) relook(l *looks, cluster *kafka.Cluster, topic kafka.Topic) error {
	switch {
	case l.found != nil:
		select {
		case found := <-l.found:
			l.due, l.found = time.Now().Add(lookInterval), nil
			if found.err == nil && found.topic.ID != topic.ID {
				return errAnew
			}
			if !passes(found.err) { // else nobody has answered, and nothing was found
				c.deps.Looked(found.err)
			}
		default:
		}
	case !time.Now().Before(l.due):
		found := make(chan look, 1)
		l.found = found
		l.running.Go(func() {
			topic, err := c.look(cluster)
			found <- look{topic, err}
		})
	}
	return nil
}

// planTopic makes or checks the topic.
func (c *Control) planTopic(cluster *kafka.Cluster) (kafka.Topic, error) {
	topic, warnings, err := cluster.PlanCompacted(c.deps.Topics.Control, c.deps.Like, c.deps.Topics.Create, c.created)
	if err != nil {
		return topic, err
	}
	for _, w := range warnings {
		if !slices.Contains(c.warned, w) {
			c.deps.Log.Warn(w)
		}
	}
	c.warned = warnings
	return topic, nil
}

func (c *Control) created(change kafka.Change) {
	topic := zap.String(logging.FieldTopic, change.Topic)
	if c.planned {
		c.deps.Log.Warn("control topic was missing and is created anew: pauses and stops that this instance knows are written again", topic)
		return
	}
	c.deps.Log.Info("topic created", topic, zap.Int32("partitions", change.To))
}
