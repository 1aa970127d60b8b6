package kafka

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/IBM/sarama"
)

// headroom is what a hop's headers may add to a record of the main topic.
const headroom = 64 << 10

func (c *Cluster) addPartitions(base, t Topic) (done bool, err error) {
	err = c.admin.CreatePartitions(t.Name, base.Partitions, nil, false)
	switch {
	case refused(err):
		return false, &PlanError{[]string{fmt.Sprintf("topic %s has %d partitions, %s has %d, and Kafka refuses to add some (%v): add partitions, or let retryd do it", t.Name, t.Partitions, base.Name, base.Partitions, err)}}
	case err != nil && !errors.Is(err, sarama.ErrInvalidPartitions): // another instance was faster
		return false, fmt.Errorf("add partitions to topic %s: %w", t.Name, err)
	}
	return err == nil, c.await(t.Name, base.Partitions)
}

func (c *Cluster) createTopic(base Topic, s TopicSpec) (done bool, err error) {
	config, err := c.topicConfigs(base.Name)
	if err != nil {
		return false, err
	}
	entry := func(v string) *string { return &v }
	detail := &sarama.TopicDetail{
		NumPartitions:     base.Partitions,
		ReplicationFactor: base.Replication,
		ConfigEntries: map[string]*string{
			"cleanup.policy":         entry("delete"),
			"message.timestamp.type": entry("CreateTime"),
			"retention.ms":           entry(retentionMillis(s.Retention)),
			"retention.bytes":        entry("-1"),
			"max.message.bytes":      entry(strconv.Itoa(roomFor(messageBytes(config[base.Name])))),
		},
	}
	if isr := config[base.Name]["min.insync.replicas"]; isr != "" {
		detail.ConfigEntries["min.insync.replicas"] = entry(isr)
	}
	err = c.admin.CreateTopic(s.Name, detail, false)
	switch {
	case refused(err):
		return false, &PlanError{[]string{fmt.Sprintf("topic %s does not exist and Kafka refuses to create it (%v): create it (partitions: %d), or let retryd do it", s.Name, err, base.Partitions)}}
	case err != nil && !errors.Is(err, sarama.ErrTopicAlreadyExists): // another instance was faster
		return false, fmt.Errorf("create topic %s: %w", s.Name, err)
	}
	return err == nil, c.await(s.Name, base.Partitions)
}

// refused tells a cluster's no, which takes a person, from what passes.
func refused(err error) bool {
	for _, no := range []sarama.KError{
		sarama.ErrTopicAuthorizationFailed, sarama.ErrClusterAuthorizationFailed,
		sarama.ErrPolicyViolation, sarama.ErrInvalidConfig, sarama.ErrInvalidTopic,
	} {
		if errors.Is(err, no) {
			return true
		}
	}
	return false
}

// hidden says that a topic may not be looked at.
func hidden(topic string, err error) error {
	return &PlanError{[]string{fmt.Sprintf("topic %s may not be looked at (%v): grant Describe and DescribeConfigs on it", topic, err)}}
}

const (
	visibleWithin = 10 * time.Second // a new topic takes a moment to be known by every broker
	visiblePoll   = 50 * time.Millisecond
)

// await waits, bounded, until the cluster shows a topic with its partitions.
func (c *Cluster) await(topic string, partitions int32) error {
	for deadline := time.Now().Add(visibleWithin); ; time.Sleep(visiblePoll) {
		topics, err := c.Topics(topic)
		if err == nil && topics[topic].Partitions >= partitions {
			err = c.client.RefreshMetadata(topic)
			if err == nil {
				return nil
			}
		}
		if time.Now().After(deadline) {
			return errors.Join(fmt.Errorf("topic %s was created with %d partitions, but they are not visible yet", topic, partitions), err)
		}
	}
}

func (c *Cluster) topicConfigs(names ...string) (map[string]map[string]string, error) {
	resources := make([]*sarama.ConfigResource, 0, len(names))
	for _, n := range names {
		resources = append(resources, &sarama.ConfigResource{Type: sarama.TopicResource, Name: n})
	}
	results, err := c.admin.DescribeConfigs(resources, sarama.DescribeConfigsOptions{})
	if err != nil {
		_ = c.client.RefreshMetadata() // a broker that went away is not asked again
		return nil, fmt.Errorf("describe the configuration of topics %s: %w", strings.Join(names, ", "), err)
	}
	configs := make(map[string]map[string]string, len(results))
	for _, r := range results {
		if refused(r.ErrorCode) {
			return nil, hidden(r.Name, r.ErrorCode)
		}
		if r.ErrorCode != sarama.ErrNoError {
			return nil, fmt.Errorf("describe the configuration of topic %s: %w", r.Name, r.ErrorCode)
		}
		configs[r.Name] = make(map[string]string, len(r.Configs))
		for _, e := range r.Configs {
			configs[r.Name][e.Name] = e.Value
		}
	}
	return configs, nil
}

// defaultMessageBytes is Kafka's max.message.bytes, for a cluster that names none.
const defaultMessageBytes = 1048588

func messageBytes(config map[string]string) int {
	if n, err := strconv.Atoi(config["max.message.bytes"]); err == nil {
		return n
	}
	return defaultMessageBytes
}

// roomFor returns the limit that takes a record of the main topic with a hop's
// headers; Kafka's own bound is an int32.
func roomFor(mainLimit int) int { return min(mainLimit+headroom, math.MaxInt32) }

func retentionMillis(d time.Duration) string {
	if d == 0 {
		return "-1"
	}
	return strconv.FormatInt(d.Milliseconds(), 10)
}
