package tier

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"
)

const (
	// recheckInterval is how often a relay looks at its topics: for a fault that was
	// mended, for partitions that were added and for topics that were made anew.
	recheckInterval = 30 * time.Second
	// readQuiet is how long a topic that could not be read must have given no error
	// before it counts as read again; while reading fails, there is one every 2 s
	// (sarama's Consumer.Retry.Backoff). A record shows it at once.
	readQuiet = 20 * time.Second
)

// watch looks at the topics again until ctx ends, and passes on what changed. Relays
// that started together look at different times.
func (r *Relay) watch(ctx context.Context) {
	next := time.NewTimer(rand.N(r.recheck))
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-next.C:
			r.watching.beat(r.age())
			r.look()
			r.watching.rest()
			next.Reset(r.recheck)
		}
	}
}

func (r *Relay) look() {
	if err := r.plan(); err != nil {
		r.raise(kindTopics, r.config.Topic, err)
	} else {
		r.over(kindTopics, r.config.Topic)
	}
	r.checkTopics()
	for _, topic := range r.troubles.lapsed(kindRead, time.Now().Add(-readQuiet)) {
		r.over(kindRead, topic)
	}
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
