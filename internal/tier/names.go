package tier

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/retryd/retryd/internal/kafka"
	"github.com/retryd/retryd/internal/policy"
)

// leastTierRetention is kept by every tier, however short its delay: it is the
// longest outage that a held record survives.
const leastTierRetention = 7 * 24 * time.Hour

// RetryTopic is a topic in which records wait.
type RetryTopic struct {
	policy.Rest
	Name, Group string
	Label       string // the tier's number, or "park-24h"
	Role        string // for people: tier 1, park-24h
	Key         string // the key of its name, relative to the relay
}

// RetryTopics returns the topics in which records wait, each at its place (see
// policy.Rests): the tiers in their order, then the park topics, the shortest first. It
// is empty if the schedule has problems.
func (c Config) RetryTopics() []RetryTopic {
	schedule, _ := c.Schedule()
	var topics []RetryTopic
	for i, rest := range schedule.Rests() {
		t := RetryTopic{Rest: rest, Name: c.Policy.Tiers.Topic(c.Prefix, i+1), Label: strconv.Itoa(i + 1), Key: fmt.Sprintf("tiers[%d].topic", i)}
		t.Role = "tier " + t.Label
		if rest.Park {
			t = c.parkTopic(rest)
		}
		t.Group = c.TierGroup(t.Name)
		topics = append(topics, t)
	}
	return topics
}

func (c Config) parkTopic(rest policy.Rest) RetryTopic {
	i := slices.IndexFunc(c.Policy.Park, func(p policy.Park) bool { return p.Delay == rest.Delay })
	park := c.Policy.Park[i]
	setDefault(&park.Topic, c.Prefix+".park."+park.Name())
	label := "park-" + park.Name()
	return RetryTopic{Rest: rest, Name: park.Topic, Label: label, Role: label, Key: fmt.Sprintf("park[%d].topic", i)}
}

// TopicSpecs returns what the topics beside main have to be like, the retry topics in
// their order and then the dead-letter topic. The configuration must be valid.
func (c Config) TopicSpecs() []kafka.TopicSpec {
	var specs []kafka.TopicSpec
	for _, t := range c.RetryTopics() {
		specs = append(specs, kafka.TopicSpec{Name: t.Name, Retention: max(leastTierRetention, 3*t.Delay)})
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
	inUse := []string{c.Topic, c.DLT.Topic}
	for _, t := range c.RetryTopics() {
		inUse = append(inUse, t.Name)
	}
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
