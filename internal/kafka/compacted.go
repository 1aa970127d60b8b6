package kafka

import (
	"errors"
	"fmt"
	"strings"

	"github.com/IBM/sarama"
)

// SurveyCompacted looks at a topic of one partition of which Kafka keeps the newest
// record of each key, and changes nothing. An error says that the cluster did not answer.
func (c *Cluster) SurveyCompacted(topic string) (TopicState, error) {
	found, denied, err := c.describe([]string{topic})
	if err == nil {
		err = c.configure(found, denied)
	}
	if err != nil {
		return TopicState{}, err
	}
	t := state(topic, found, denied)
	if t.seen() {
		t.Problems, t.Warnings = judgeCompacted(t.Topic)
	}
	return t, nil
}

// PlanCompacted brings such a topic into being, or only checks it if create is false. A
// new one gets the replication factor and min.insync.replicas of that one of the topics
// like it which is replicated most, and the brokers' defaults where none of these exists.
// Otherwise it is as Plan.
func (c *Cluster) PlanCompacted(topic string, like []string, create bool, changed func(Change)) (Topic, []string, error) {
	s, err := c.SurveyCompacted(topic)
	if err != nil {
		return Topic{}, nil, err
	}
	if s.Missing {
		if err := c.establishCompacted(topic, like, create, changed); err != nil {
			return Topic{}, nil, err
		}
		if s, err = c.SurveyCompacted(topic); err != nil {
			return Topic{}, nil, err
		}
	}
	switch {
	case s.Missing:
		return Topic{}, nil, fmt.Errorf("describe topic %s: %w", topic, ErrNoTopic)
	case len(s.Problems) > 0:
		return Topic{}, nil, &PlanError{Problems: s.Problems}
	}
	return s.Topic, s.Warnings, nil
}

func (c *Cluster) establishCompacted(topic string, like []string, create bool, changed func(Change)) error {
	if !create {
		return &PlanError{[]string{fmt.Sprintf("topic %s does not exist: create it (partitions: 1, cleanup.policy=compact), or set topics.create: true", topic)}, true}
	}
	base, err := c.mostReplicated(like)
	if err != nil {
		return err
	}
	err = c.admin.CreateTopic(topic, compactedDetail(base), false)
	switch {
	case refused(err):
		return &PlanError{[]string{fmt.Sprintf("topic %s does not exist and Kafka refuses to create it (%v): create it (partitions: 1, cleanup.policy=compact), or let retryd do it", topic, err)}, true}
	case err != nil && !errors.Is(err, sarama.ErrTopicAlreadyExists): // another instance was faster
		return fmt.Errorf("create topic %s: %w", topic, err)
	case err == nil:
		changed(Change{Topic: topic, To: 1})
	}
	return c.await(topic, 1)
}

// mostReplicated returns the topic with the highest replication factor, or one that
// stands for the brokers' default.
func (c *Cluster) mostReplicated(names []string) (Topic, error) {
	base := Topic{Replication: -1}
	found, denied, err := c.describe(names)
	if err == nil {
		err = c.configure(found, denied)
	}
	for _, name := range names {
		if t, ok := found[name]; ok && t.Replication > base.Replication {
			base = t
		}
	}
	return base, err
}

// compactedDetail makes small segments, since Kafka compacts none that is written to: one
// is full with 1 MiB, the least that Kafka 4 takes (KIP-1030), or after a day.
func compactedDetail(base Topic) *sarama.TopicDetail {
	entry := func(v string) *string { return &v }
	detail := &sarama.TopicDetail{
		NumPartitions:     1,
		ReplicationFactor: base.Replication,
		ConfigEntries: map[string]*string{
			"cleanup.policy":         entry("compact"),
			"message.timestamp.type": entry("CreateTime"),
			"segment.bytes":          entry("1048576"),
			"segment.ms":             entry("86400000"),
		},
	}
	if isr := base.config["min.insync.replicas"]; isr != "" {
		detail.ConfigEntries["min.insync.replicas"] = entry(isr)
	}
	return detail
}

// judgeCompacted holds an existing topic against what is wanted, as judge does.
func judgeCompacted(t Topic) (problems, warnings []string) {
	policy, known := t.config["cleanup.policy"]
	switch {
	case known && !strings.Contains(policy, "compact"):
		problems = append(problems, fmt.Sprintf("topic %s: cleanup.policy is %s, which deletes the newest record of a key in time: set cleanup.policy=compact", t.Name, policy))
	case strings.Contains(policy, "delete"):
		warnings = append(warnings, fmt.Sprintf("topic %s: cleanup.policy is %s, which deletes also the newest record of a key in time: set cleanup.policy=compact", t.Name, policy))
	}
	if t.Partitions != 1 {
		problems = append(problems, fmt.Sprintf("topic %s: it has %d partitions, between which records have no order: make the topic anew with 1 partition", t.Name, t.Partitions))
	}
	return problems, warnings
}
