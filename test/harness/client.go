package harness

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"testing"
	"time"

	"github.com/IBM/sarama"
)

// adminBound is how long a topic may take to appear or to vanish.
const adminBound = 30 * time.Second

// ClientConfig returns a sarama configuration for tests: every write is
// acknowledged by all replicas and idempotent, an outage is waited for, Java's
// partitioner spreads the keys, and reading is read_committed from the earliest
// offset.
func ClientConfig() *sarama.Config {
	c := sarama.NewConfig()
	c.ClientID = "retryd-test"
	c.Version = sarama.MaxVersion
	c.Metadata.AllowAutoTopicCreation = false
	c.Metadata.Retry.Max = 120
	c.Metadata.Retry.Backoff = 250 * time.Millisecond
	c.Producer.RequiredAcks = sarama.WaitForAll
	c.Producer.Idempotent = true
	c.Producer.Retry.Max = 60
	c.Producer.MaxMessageBytes = 8 << 20 // what is too large is the topic's to say
	c.Producer.Partitioner = sarama.NewMurmur2Partitioner
	c.Producer.Return.Successes = true
	c.Net.MaxOpenRequests = 1 // idempotence asks for it
	c.Consumer.IsolationLevel = sarama.ReadCommitted
	c.Consumer.Offsets.Initial = sarama.OffsetOldest
	c.Consumer.Offsets.AutoCommit.Enable = false
	return c
}

// NewClient connects to the brokers, for a test that needs more than this package
// offers. The client is closed at the end of the test.
func NewClient(t testing.TB, addrs []string) sarama.Client {
	t.Helper()
	client, err := sarama.NewClient(addrs, ClientConfig())
	if err != nil {
		t.Fatalf("connect to Kafka: %v", err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

var notInTopicNames = regexp.MustCompile(`[^a-zA-Z0-9-]+`)

// TopicName returns a legal topic name that only this run of this test uses. It
// leaves room for suffixes such as .retry.1.
func TopicName(t testing.TB) string {
	name := notInTopicNames.ReplaceAllString(t.Name(), "-")
	return fmt.Sprintf("%.150s.%08x", name, rand.Uint32())
}

// CreateTopic makes a topic with the cluster's default replication and returns
// once every partition has a leader. configs may be nil.
func CreateTopic(t testing.TB, addrs []string, name string, partitions int32, configs map[string]string) {
	t.Helper()
	if err := MakeTopic(addrs, name, partitions, configs); err != nil {
		t.Fatal(err)
	}
}

// AddPartitions lets a topic grow to so many partitions, and waits until each has a leader.
// A producer that is open already may not see them for minutes.
func AddPartitions(t testing.TB, addrs []string, name string, total int32) {
	t.Helper()
	err := withAdmin(addrs, func(client sarama.Client, admin sarama.ClusterAdmin) error {
		if err := admin.CreatePartitions(name, total, nil, false); err != nil {
			return err
		}
		return poll(pollInterval, adminBound, "leaders of topic "+name, func() (bool, error) {
			return led(client, name, int(total)), nil
		})
	})
	if err != nil {
		t.Fatalf("add partitions to topic %s: %v", name, err)
	}
}

// MakeTopic is CreateTopic outside of tests.
func MakeTopic(addrs []string, name string, partitions int32, configs map[string]string) error {
	err := withAdmin(addrs, func(client sarama.Client, admin sarama.ClusterAdmin) error {
		return createTopic(client, admin, name, partitions, configs)
	})
	if err != nil {
		return fmt.Errorf("create topic %s: %w", name, err)
	}
	return nil
}

func createTopic(client sarama.Client, admin sarama.ClusterAdmin, name string, partitions int32, configs map[string]string) error {
	detail := &sarama.TopicDetail{NumPartitions: partitions, ReplicationFactor: -1, ConfigEntries: map[string]*string{}}
	for key, value := range configs {
		detail.ConfigEntries[key] = &value
	}
	if err := admin.CreateTopic(name, detail, false); err != nil {
		return err
	}
	return poll(pollInterval, adminBound, "leaders of topic "+name, func() (bool, error) {
		return led(client, name, int(partitions)), nil
	})
}

// led reports whether all partitions of the topic have a leader.
func led(client sarama.Client, topic string, partitions int) bool {
	if client.RefreshMetadata(topic) != nil {
		return false
	}
	writable, err := client.WritablePartitions(topic)
	return err == nil && len(writable) == partitions
}

// DeleteTopic deletes a topic and returns once the cluster knows no such topic.
func DeleteTopic(t testing.TB, addrs []string, name string) {
	t.Helper()
	err := withAdmin(addrs, func(client sarama.Client, admin sarama.ClusterAdmin) error {
		if err := admin.DeleteTopic(name); err != nil {
			return err
		}
		return poll(pollInterval, adminBound, "the end of topic "+name, func() (bool, error) {
			return gone(admin, name)
		})
	})
	if err != nil {
		t.Fatalf("delete topic %s: %v", name, err)
	}
}

func gone(admin sarama.ClusterAdmin, topic string) (bool, error) {
	topics, err := admin.DescribeTopics([]string{topic})
	if err != nil {
		return false, err
	}
	return len(topics) == 1 && errors.Is(topics[0].Err, sarama.ErrUnknownTopicOrPartition), nil
}

// withAdmin calls use with a client that is closed afterwards. The client asks
// for metadata once at a time, since polling is up to the caller.
func withAdmin(addrs []string, use func(sarama.Client, sarama.ClusterAdmin) error) (err error) {
	config := ClientConfig()
	config.Metadata.Retry.Max = 1
	client, err := sarama.NewClient(addrs, config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	admin, err := sarama.NewClusterAdminFromClient(client)
	if err != nil {
		return err
	}
	return use(client, admin)
}
