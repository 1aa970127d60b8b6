package tier

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/retryd/retryd/internal/kafka"
	"github.com/retryd/retryd/internal/metrics"
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

// DeadLetterTopic is a topic in which records end.
type DeadLetterTopic struct {
	Name  string
	Label string // in metrics: metrics.TargetDLT, TargetReview or TargetQuarantine
	Role  string // for people: dead letter, review, quarantine
	Key   string // the key of its name, relative to the relay
}

// DeadLetterTopics returns the topics in which records end: the dead-letter topic, the
// review topic if there is one, then those that rules name, each once.
func (c Config) DeadLetterTopics() []DeadLetterTopic {
	topics := []DeadLetterTopic{{c.DLT.Topic, metrics.TargetDLT, "dead letter", "dlt.topic"}}
	if c.Review.Enabled {
		topics = append(topics, DeadLetterTopic{c.Review.Topic, metrics.TargetReview, "review", "review.topic"})
	}
	named := map[string]bool{}
	for i, rule := range c.Endpoint.Rules {
		if rule.DLT != "" && !named[rule.DLT] {
			named[rule.DLT] = true
			topics = append(topics, DeadLetterTopic{rule.DLT, metrics.TargetQuarantine, "quarantine", fmt.Sprintf("endpoint.rules[%d].dlt", i)})
		}
	}
	return topics
}

// TopicSpecs returns what the topics beside main have to be like: those of RetryTopics
// and then those of DeadLetterTopics, in their order.
func (c Config) TopicSpecs() []kafka.TopicSpec {
	var specs []kafka.TopicSpec
	for _, t := range c.RetryTopics() {
		specs = append(specs, kafka.TopicSpec{Name: t.Name, Retention: max(leastTierRetention, 3*t.Delay)})
	}
	for _, t := range c.DeadLetterTopics() {
		specs = append(specs, kafka.TopicSpec{Name: t.Name})
	}
	return specs
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
	inUse := []string{c.Topic}
	for _, s := range c.TopicSpecs() {
		inUse = append(inUse, s.Name)
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
