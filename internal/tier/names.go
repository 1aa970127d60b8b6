package tier

import (
	"fmt"
	"slices"
	"time"

	"github.com/retryd/retryd/internal/kafka"
	"github.com/retryd/retryd/internal/policy"
)

// leastTierRetention is kept by every tier, however short its delay: it is the
// longest outage that a held record survives.
const leastTierRetention = 7 * 24 * time.Hour

// TopicSpecs returns what the topics beside main have to be like, the tiers in their
// order and then the dead-letter topic. The configuration must be valid.
func (c Config) TopicSpecs() []kafka.TopicSpec {
	schedule, _ := c.Schedule()
	var specs []kafka.TopicSpec
	for i, name := range c.TierTopics() {
		specs = append(specs, kafka.TopicSpec{
			Name:      name,
			Retention: max(leastTierRetention, 3*schedule.Steps[i].Delay),
		})
	}
	return append(specs, kafka.TopicSpec{Name: c.DLT.Topic})
}

// RetiredTopics returns the names that tiers of a longer schedule, or tiers before
// they got names of their own, would have had. A topic of such a name that exists is
// consumed until it is deleted.
func (c Config) RetiredTopics() []string {
	var names []string
	for _, t := range c.retiredTiers() {
		names = append(names, t.topic)
	}
	return names
}

// retiredTier is a tier that may have been, and its topic.
type retiredTier struct {
	step  int
	topic string
}

func (c Config) retiredTiers() []retiredTier {
	inUse := append(c.TierTopics(), c.Topic, c.DLT.Topic)
	var tiers []retiredTier
	for step := 1; step <= policy.MaxSteps; step++ {
		name := fmt.Sprintf("%s.retry.%d", c.Prefix, step)
		if !slices.Contains(inUse, name) && len(name) <= kafka.MaxTopicName {
			tiers = append(tiers, retiredTier{step, name})
		}
	}
	return tiers
}

// OrderingSentence says what the relay's ordering gives and what it costs.
func (c Config) OrderingSentence() string {
	return "a record that fails steps aside and holds up no other one; the price is that records of the same key may be delivered out of their order, also two at the same time"
}
