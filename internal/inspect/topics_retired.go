package inspect

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/retryd/retryd/internal/kafka"
	"github.com/retryd/retryd/internal/tier"
)

// addRetired adds the tiers of an earlier, longer schedule that still exist.
func (t *Topics) addRetired(cluster *kafka.Cluster, relay tier.Config) error {
	names := relay.RetiredTopics()
	found, hidden, err := cluster.Existing(names...)
	if err != nil {
		return fmt.Errorf("look for retired tiers: %w", err)
	}
	if len(hidden) > 0 {
		t.Warnings = append(t.Warnings, fmt.Sprintf("topics named %s.retry.* may not be looked at: a tier that is no longer configured would not be found; grant Read on them", relay.Prefix))
	}
	for _, name := range names {
		topic, exists := found[name]
		if !exists {
			continue
		}
		retired := Topic{
			Name: name, Role: RoleRetired, Tier: retiredTier(relay, name), State: StateOK, Partitions: topic.Partitions,
			Problems: []string{}, Warnings: []string{},
		}
		left, _, err := unread(cluster, relay.TierGroup(name), topic)
		switch {
		case err == nil:
			retired.Left, retired.Deletable = &left, left == 0
		case kafka.Unreachable(err):
			return err
		default:
			retired.Warnings = append(retired.Warnings, fmt.Sprintf("topic %s: what is left in it cannot be told: %s", name, kafka.Explain(err)))
		}
		t.Topics = append(t.Topics, retired)
	}
	return nil
}

// retiredTier labels a retired tier as the daemon does: by the number in its name, or
// apart from the configured tier that has this number.
func retiredTier(relay tier.Config, topic string) string {
	label := strings.TrimPrefix(topic, relay.Prefix+".retry.")
	if number, err := strconv.Atoi(label); err == nil && number <= len(relay.TierTopics()) {
		return "retired-" + label
	}
	return label
}

// unread counts the records of a topic that a group has not committed: it has not
// completed them. What retention deleted does not count. begun reports whether it has
// committed anything there.
func unread(cluster *kafka.Cluster, group string, topic kafka.Topic) (left int64, begun bool, err error) {
	partitions := map[string][]int32{topic.Name: nil}
	for p := range topic.Partitions {
		partitions[topic.Name] = append(partitions[topic.Name], p)
	}
	committed, err := cluster.Committed(group, partitions)
	if err != nil {
		return 0, false, err
	}
	begins, err := cluster.Begins(partitions)
	if err != nil {
		return 0, false, err
	}
	ends, err := cluster.Ends(partitions)
	if err != nil {
		return 0, false, err
	}
	for _, p := range partitions[topic.Name] {
		done := max(begins[topic.Name][p], committed[topic.Name][p].Offset)
		left += max(0, ends[topic.Name][p]-done)
	}
	return left, len(committed[topic.Name]) > 0, nil
}
