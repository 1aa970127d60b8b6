package tier

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/retryd/retryd/internal/kafka"
)

// recheckInterval is how often a relay looks at its topics: for a fault that was
// mended, for partitions that were added and for topics that were made anew.
const recheckInterval = 30 * time.Second

// watch looks at the topics again until ctx ends, and passes on what changed. Relays
// that started together look at different times.
func (r *Relay) watch(ctx context.Context) {
	var clock sync.WaitGroup
	clock.Go(func() { r.tick(ctx) }) // of its own: a look may wait for brokers that hang
	defer clock.Wait()
	next := time.NewTimer(time.Duration(r.uniform() * float64(r.recheck)))
	defer next.Stop()
	var looked time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-r.doubts:
			if time.Since(looked) < 2*moment { // who still doubts says so again
				continue
			}
		case <-next.C:
		}
		r.watching.beat(r.age())
		err := r.look(ctx)
		r.watching.rest()
		looked = time.Now()
		next.Reset(r.patience(err))
	}
}

// doubt asks for a look at the topics soon: somebody says that one does not exist.
func (r *Relay) doubt() {
	select {
	case r.doubts <- struct{}{}:
	default:
	}
}

// look returns why the topics are not in order. What ctx breaks off says nothing.
func (r *Relay) look(ctx context.Context) error {
	err := r.plan()
	if ctx.Err() != nil {
		return err
	}
	if err != nil {
		r.raise(kindTopics, r.config.Topic, err)
	} else {
		r.over(kindTopics, r.config.Topic)
	}
	if !kafka.Unreachable(err) { // else they would not answer either
		r.checkTopics()
	}
	return err
}

// checkTopics tells the consumers what became of their topics, whatever the plan
// says of them. Of a topic that may not be looked at nothing is known.
func (r *Relay) checkTopics() {
	consumers := r.members.all()
	var names []string
	for _, c := range consumers {
		names = append(names, c.source.topic)
	}
	found, hidden, err := r.cluster.Existing(names...)
	if err != nil {
		r.warn("cannot look at the topics", r.config.Topic, err)
		return
	}
	for _, c := range consumers {
		if !slices.Contains(hidden, c.source.topic) {
			c.checkTopic(found)
		}
	}
}
