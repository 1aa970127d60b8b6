package kafka

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/IBM/sarama"
)

// headroom is what a hop's headers may add to a record of the main topic.
const headroom = 64 << 10

func (c *Cluster) addPartitions(base, t Topic) (done bool, err error) {
	err = c.admin.CreatePartitions(t.Name, base.Partitions, nil, false)
	switch {
	case refused(err):
		return false, &PlanError{Problems: []string{fmt.Sprintf("topic %s has %d partitions, %s has %d, and Kafka refuses to add some (%v): add partitions, or let retryd do it", t.Name, t.Partitions, base.Name, base.Partitions, err)}}
	case err != nil && !errors.Is(err, sarama.ErrInvalidPartitions): // another instance was faster
		return false, fmt.Errorf("add partitions to topic %s: %w", t.Name, err)
	}
	return err == nil, c.await(t.Name, base.Partitions)
}

func (c *Cluster) createTopic(base Topic, s TopicSpec) (done bool, err error) {
	entry := func(v string) *string { return &v }
	detail := &sarama.TopicDetail{
		NumPartitions:     base.Partitions,
		ReplicationFactor: base.Replication,
		ConfigEntries: map[string]*string{
			"cleanup.policy":         entry("delete"),
			"message.timestamp.type": entry("CreateTime"),
			"retention.ms":           entry(retentionMillis(s.Retention)),
			"retention.bytes":        entry("-1"),
			"max.message.bytes":      entry(strconv.Itoa(roomFor(base.MaxMessageBytes))),
		},
	}
	if isr := base.config["min.insync.replicas"]; isr != "" {
		detail.ConfigEntries["min.insync.replicas"] = entry(isr)
	}
	err = c.admin.CreateTopic(s.Name, detail, false)
	switch {
	case refused(err):
		return false, &PlanError{Problems: []string{fmt.Sprintf("topic %s does not exist and Kafka refuses to create it (%v): create it (partitions: %d), or let retryd do it", s.Name, err, base.Partitions)}}
	case err != nil && !errors.Is(err, sarama.ErrTopicAlreadyExists): // another instance was faster
		return false, fmt.Errorf("create topic %s: %w", s.Name, err)
	}
	return err == nil, c.await(s.Name, base.Partitions)
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
