package kafka

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/IBM/sarama"
)

// Topic is what the cluster says of one topic.
type Topic struct {
	Name            string
	ID              [16]byte // a topic that is made anew gets another one (KIP-516)
	Partitions      int32
	Replication     int16
	MaxMessageBytes int
	config          map[string]string
	keeps           time.Duration // as Retention returns it, which is asked for each record
	limited         bool
}

// Retention returns for how long the topic keeps a record; limited is false if it does
// so for ever, or does not say.
func (t Topic) Retention() (keeps time.Duration, limited bool) { return t.keeps, t.limited }

// retention reads a retention.ms.
func retention(text string) (keeps time.Duration, limited bool) {
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil || ms < 0 {
		return 0, false
	}
	return time.Duration(min(ms, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond, true
}

// ErrNoTopic says that a topic does not exist.
var ErrNoTopic = errors.New("topic does not exist")

// NoTopic reports whether err says that a topic, or a partition of one, does not exist.
func NoTopic(err error) bool {
	return errors.Is(err, ErrNoTopic) || errors.Is(err, sarama.ErrUnknownTopicOrPartition)
}

// Topics describes the named topics, without their configuration. A topic that
// does not exist is left out. A *PlanError says that somebody has to grant access.
func (c *Cluster) Topics(names ...string) (map[string]Topic, error) {
	found, denied, err := c.describe(names)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if no := denied[name]; no != nil {
			return nil, no
		}
	}
	return found, nil
}

// Existing describes those of the named topics that exist, without their
// configuration. A topic that may not be looked at is in hidden, sorted, whether it
// exists or not.
func (c *Cluster) Existing(names ...string) (found map[string]Topic, hidden []string, err error) {
	found, denied, err := c.describe(names)
	return found, slices.Sorted(maps.Keys(denied)), err
}

// describe asks once for all names. denied has, per topic that may not be looked
// at, what to grant.
func (c *Cluster) describe(names []string) (found map[string]Topic, denied map[string]*PlanError, err error) {
	if len(names) == 0 {
		return nil, nil, nil // the protocol would return all there are
	}
	metadata, err := c.admin.DescribeTopics(names)
	if err != nil {
		_, _ = c.client.RefreshController() // the next try finds another one
		return nil, nil, fmt.Errorf("describe topics: %w", err)
	}
	found, denied = make(map[string]Topic, len(metadata)), map[string]*PlanError{}
	for _, m := range metadata {
		switch {
		case errors.Is(m.Err, sarama.ErrUnknownTopicOrPartition):
		case refused(m.Err):
			denied[m.Name] = hidden(m.Name, m.Err)
		case !errors.Is(m.Err, sarama.ErrNoError) && !errors.Is(m.Err, sarama.ErrLeaderNotAvailable):
			return nil, nil, fmt.Errorf("describe topic %s: %w", m.Name, m.Err)
		case len(m.Partitions) == 0: // just created: not yet known everywhere
		default:
			found[m.Name] = Topic{
				Name: m.Name, ID: m.Uuid, Partitions: int32(len(m.Partitions)),
				Replication: int16(len(m.Partitions[0].Replicas)),
			}
		}
	}
	return found, denied, nil
}

// configure adds their configurations to topics. One that is gone meanwhile is
// removed, one whose configuration may not be looked at is added to denied.
func (c *Cluster) configure(topics map[string]Topic, denied map[string]*PlanError) error {
	if len(topics) == 0 {
		return nil
	}
	names := slices.Sorted(maps.Keys(topics))
	resources := make([]*sarama.ConfigResource, 0, len(names))
	for _, n := range names {
		resources = append(resources, &sarama.ConfigResource{Type: sarama.TopicResource, Name: n})
	}
	results, err := c.admin.DescribeConfigs(resources, sarama.DescribeConfigsOptions{})
	if err != nil {
		_ = c.client.RefreshMetadata() // a broker that went away is not asked again
		return fmt.Errorf("describe the configuration of topics %s: %w", strings.Join(names, ", "), err)
	}
	for _, r := range results {
		switch {
		case errors.Is(r.ErrorCode, sarama.ErrUnknownTopicOrPartition):
			delete(topics, r.Name)
		case refused(r.ErrorCode):
			denied[r.Name] = hidden(r.Name, r.ErrorCode)
		case !errors.Is(r.ErrorCode, sarama.ErrNoError):
			return fmt.Errorf("describe the configuration of topic %s: %w", r.Name, r.ErrorCode)
		default:
			topics[r.Name] = withConfig(topics[r.Name], r.Configs)
		}
	}
	return nil
}

func withConfig(t Topic, entries []sarama.ConfigEntry) Topic {
	t.config = make(map[string]string, len(entries))
	for _, e := range entries {
		t.config[e.Name] = e.Value
	}
	t.MaxMessageBytes = messageBytes(t.config)
	if policy, known := t.config["cleanup.policy"]; !known || strings.Contains(policy, "delete") {
		t.keeps, t.limited = retention(t.config["retention.ms"])
	}
	return t
}
