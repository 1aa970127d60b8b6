package scenarios

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/google/go-cmp/cmp"

	"github.com/retryd/retryd/internal/kafka"
	"github.com/retryd/retryd/test/harness"
)

// What the embedded broker answers otherwise than Apache Kafka, of the package that
// speaks to the cluster.

func kafkaConfig(t *testing.T) kafka.Config {
	t.Helper()
	c := kafka.DefaultConfig()
	c.Brokers, c.SessionTimeout = suite.Kafka(t).Addrs(), 6*time.Second
	return c
}

func kafkaCluster(t *testing.T) *kafka.Cluster {
	t.Helper()
	cluster, err := kafka.Connect(t.Context(), kafkaConfig(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cluster.Close(); err != nil {
			t.Error(err)
		}
	})
	return cluster
}

// planned tries as a relay does: only a *kafka.PlanError is an answer.
func planned(t *testing.T, c *kafka.Cluster, main string, specs []kafka.TopicSpec, create bool) (p kafka.Planned, err error) {
	t.Helper()
	harness.WaitFor(t, bound, "a plan of "+main, func() bool {
		p, err = c.Plan(main, specs, create, func(kafka.Change) {})
		var problems *kafka.PlanError
		return err == nil || errors.As(err, &problems)
	})
	return p, err
}

func TestKafkaAcceptsThePlannedTopics(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		main map[string]string
		want map[string]string
	}{
		{"settings of main", map[string]string{"max.message.bytes": "2000000", "min.insync.replicas": "2", "cleanup.policy": "compact"},
			map[string]string{"max.message.bytes": "2065536", "min.insync.replicas": "2"}},
		{"defaults of the cluster", nil, map[string]string{"max.message.bytes": "1114124", "min.insync.replicas": "1"}},
		{"the largest records that Kafka can express", map[string]string{"max.message.bytes": "2147483647"},
			map[string]string{"max.message.bytes": "2147483647"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c, main := kafkaCluster(t), harness.TopicName(t)
			harness.CreateTopic(t, suite.Kafka(t).Addrs(), main, 3, tt.main)
			tier, dlt := main+".retry.1", main+".DLT"
			specs := []kafka.TopicSpec{{Name: tier, Retention: 7 * 24 * time.Hour}, {Name: dlt}}
			first, err := planned(t, c, main, specs, true)
			if err != nil || len(first.Warnings) > 0 {
				t.Fatalf("planned with warnings %q: %v", first.Warnings, err)
			}
			tt.want["cleanup.policy"], tt.want["message.timestamp.type"] = "delete", "CreateTime"
			tt.want["retention.bytes"], tt.want["retention.ms"] = "-1", "604800000"
			expectConfig(t, tier, tt.want)
			tt.want["retention.ms"] = "-1"
			expectConfig(t, dlt, tt.want)

			again, err := planned(t, c, main, specs, false)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(first, again, cmp.AllowUnexported(kafka.Topic{})); diff != "" {
				t.Errorf("planned again (-first +again):\n%s", diff)
			}
		})
	}
}

// expectConfig compares the named keys of a topic's configuration.
func expectConfig(t *testing.T, topic string, want map[string]string) {
	t.Helper()
	admin, err := sarama.NewClusterAdmin(suite.Kafka(t).Addrs(), harness.ClientConfig())
	if err != nil {
		t.Fatal(err)
	}
	defer admin.Close()
	resource := sarama.ConfigResource{Type: sarama.TopicResource, Name: topic}
	described, err := admin.DescribeConfigs([]*sarama.ConfigResource{&resource}, sarama.DescribeConfigsOptions{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, e := range described[0].Configs {
		if _, asked := want[e.Name]; asked {
			got[e.Name] = e.Value
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("configuration of %s (-want +got):\n%s", topic, diff)
	}
}

func TestKafkaTopicsThatBreakPromisesAreNamed(t *testing.T) {
	t.Parallel()
	c, main, addrs := kafkaCluster(t), harness.TopicName(t), suite.Kafka(t).Addrs()
	tier, dlt := main+".retry.1", main+".DLT"
	specs := []kafka.TopicSpec{{Name: tier, Retention: 7 * 24 * time.Hour}, {Name: dlt}}
	harness.CreateTopic(t, addrs, main, 2, nil)
	expect := func(create bool, want ...string) {
		t.Helper()
		_, err := planned(t, c, main, specs, create)
		var problems *kafka.PlanError
		if !errors.As(err, &problems) {
			t.Fatalf("plan: %v", err)
		}
		if diff := cmp.Diff(want, problems.Problems); diff != "" {
			t.Errorf("problems (-want +got):\n%s", diff)
		}
	}
	expect(false,
		"topic "+tier+" does not exist: create it (partitions: 2), or set topics.create: true",
		"topic "+dlt+" does not exist: create it (partitions: 2), or set topics.create: true")
	harness.CreateTopic(t, addrs, tier, 2, map[string]string{"retention.ms": "60000", "message.timestamp.type": "LogAppendTime"})
	harness.CreateTopic(t, addrs, dlt, 3, map[string]string{"cleanup.policy": "compact,delete", "retention.bytes": "1000000"})
	expect(true,
		"topic "+tier+": message.timestamp.type is LogAppendTime, which overwrites the time of the decision: set message.timestamp.type=CreateTime",
		"topic "+tier+": retention.ms is 60000 (1m0s), which may delete records that still wait: set retention.ms=604800000 or more, or -1",
		"topic "+dlt+": cleanup.policy is compact,delete, which deletes records of the same key: set cleanup.policy=delete",
		"topic "+dlt+": retention.bytes is 1000000, which deletes records by size: set retention.bytes=-1",
		"topic "+dlt+": it has 3 partitions, "+main+" has 2: a record keeps its partition number, so make the topic anew with 2 partitions")
}

// What Kafka itself refuses takes a person, not patience.
func TestKafkaRefusalOfATopicIsAProblem(t *testing.T) {
	t.Parallel()
	c, main := kafkaCluster(t), harness.TopicName(t)
	harness.CreateTopic(t, suite.Kafka(t).Addrs(), main, 1, nil)
	_, err := planned(t, c, main, []kafka.TopicSpec{{Name: main + ".DLT", Retention: -7 * time.Hour}}, true)
	if err == nil || !strings.HasPrefix(err.Error(), "topic "+main+".DLT does not exist and Kafka refuses to create it (") {
		t.Errorf("plan: %v", err)
	}
}

func TestKafkaGrowthOfMainIsFollowed(t *testing.T) {
	t.Parallel()
	c, main, addrs := kafkaCluster(t), harness.TopicName(t), suite.Kafka(t).Addrs()
	harness.CreateTopic(t, addrs, main, 3, nil)
	harness.CreateTopic(t, addrs, main+".DLT", 1, map[string]string{"retention.ms": "-1", "max.message.bytes": "2000000"})
	var changes []kafka.Change
	p, err := c.Plan(main, []kafka.TopicSpec{{Name: main + ".DLT"}}, true, func(done kafka.Change) { changes = append(changes, done) })
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Topics[main+".DLT"].Partitions; got != 3 {
		t.Errorf("%d partitions, want 3", got)
	}
	want := []kafka.Change{{Topic: main + ".DLT", From: 1, To: 3}}
	if diff := cmp.Diff(want, changes); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

type kafkaAnswer struct {
	name string
	err  error
}

func TestKafkaSizeLimits(t *testing.T) {
	t.Parallel()
	const limit = 20000
	noise := make([]byte, 5*limit)
	rand.Read(noise)
	tests := []struct {
		name  string
		known int // the limit that the client knows of
		value []byte
		want  error
	}{
		{"compressible beyond the limit", limit, bytes.Repeat([]byte("x"), 2_000_000), nil},
		{"incompressible beyond the limit", limit, noise, kafka.ErrTooLarge},
		{"incompressible up to the limit", limit, noise[:limit-256], nil},
		{"beyond a limit that shrank", 1 << 20, noise, kafka.ErrTooLarge},
		{"compressible beyond a limit that shrank", 1 << 20, bytes.Repeat([]byte("x"), 1_000_000), nil},
	}
	producers := kafka.NewProducers(kafkaConfig(t))
	t.Cleanup(producers.Close)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			topic := harness.TopicName(t)
			harness.CreateTopic(t, suite.Kafka(t).Addrs(), topic, 1, map[string]string{"max.message.bytes": "20000"})
			var to *kafka.Target
			harness.WaitFor(t, bound, "a producer", func() (done bool) {
				var err error
				to, err = producers.Target(topic, tt.known)
				return err == nil
			})
			const neighbours = 40
			answers := make(chan kafkaAnswer, neighbours+1)
			send := func(name string, value []byte) {
				m := &sarama.ProducerMessage{Value: sarama.ByteEncoder(value)}
				to.Send(m, func(_ int64, err error) { answers <- kafkaAnswer{name, err} })
			}
			for range neighbours / 2 {
				send("neighbour", noise[:100])
			}
			send("record", tt.value)
			for range neighbours / 2 {
				send("neighbour", noise[:100])
			}
			deadline := time.After(bound)
			for range neighbours + 1 {
				select {
				case a := <-answers:
					want := error(nil)
					if a.name == "record" {
						want = tt.want
					}
					if !errors.Is(a.err, want) || (want == nil) != (a.err == nil) {
						t.Errorf("%s: %v, want %v", a.name, a.err, want)
					}
				case <-deadline:
					t.Fatal("still waiting for answers")
				}
			}
		})
	}
}

func TestKafkaKeepsMetadataUpToItsLimit(t *testing.T) {
	t.Parallel()
	c, topic := kafkaCluster(t), harness.TopicName(t)
	harness.CreateTopic(t, suite.Kafka(t).Addrs(), topic, 1, nil)
	partitions := map[string][]int32{topic: {0}}
	nobody := kafka.Member{Group: topic, Generation: -1}
	if got, err := c.Committed(topic, partitions); err != nil || len(got) != 0 {
		t.Fatalf("a group never seen committed %v, %v", got, err)
	}
	commit := func(metadata string) error {
		return c.Commit(nobody, kafka.Offsets{topic: {0: {Offset: 3, Metadata: metadata}}})
	}
	kept := strings.Repeat("€", 4096) // the limit counts characters
	tests := []struct {
		name     string
		metadata string
		want     error
	}{
		{"none", "", nil},
		{"as many characters as fit", kept, nil},
		{"one more", kept + "€", sarama.ErrOffsetMetadataTooLarge},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := commit(tt.metadata); !errors.Is(err, tt.want) || (err == nil) != (tt.want == nil) {
				t.Fatalf("commit: %v, want %v", err, tt.want)
			}
		})
	}
	got, err := c.Committed(topic, partitions)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(kafka.Offsets{topic: {0: {Offset: 3, Metadata: kept}}}, got); diff != "" {
		t.Errorf("committed (-want +got):\n%s", diff)
	}
}

func TestKafkaFencesWhoIsNotAMember(t *testing.T) {
	t.Parallel()
	c, config, topic := kafkaCluster(t), kafkaConfig(t), harness.TopicName(t)
	harness.CreateTopic(t, config.Brokers, topic, 1, nil)
	at := func(offset int64) kafka.Offsets { return kafka.Offsets{topic: {0: {Offset: offset}}} }
	nobody := kafka.Member{Group: topic, Generation: -1}
	if err := c.Commit(nobody, at(1)); err != nil {
		t.Fatalf("a group without members: %v", err)
	}
	member, leave := kafkaMember(t, config, topic)
	defer leave()
	if err := c.Commit(member, at(2)); err != nil {
		t.Fatalf("a member: %v", err)
	}
	stale, unknown := member, member
	stale.Generation--
	unknown.ID = "somebody"
	future := member
	future.Generation = math.MaxInt32
	for name, m := range map[string]kafka.Member{"nobody": nobody, "stale": stale, "unknown": unknown, "future": future} {
		if err := c.Commit(m, at(9)); !errors.Is(err, kafka.ErrFenced) {
			t.Errorf("%s: %v, want %v", name, err, kafka.ErrFenced)
		}
	}
	leave()
	if err := c.Commit(member, at(9)); !errors.Is(err, kafka.ErrFenced) {
		t.Errorf("a member that left: %v, want %v", err, kafka.ErrFenced)
	}
	got, err := c.Committed(topic, map[string][]int32{topic: {0}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(at(2), got); diff != "" {
		t.Errorf("committed (-want +got):\n%s", diff)
	}
	if err := c.Commit(nobody, at(3)); err != nil {
		t.Errorf("a group that all have left: %v", err)
	}
}

// kafkaMember joins the group that is named like its topic, until leave is called.
func kafkaMember(t *testing.T, config kafka.Config, topic string) (m kafka.Member, leave func()) {
	t.Helper()
	group, err := sarama.NewConsumerGroup(config.Brokers, topic, consumerConfig(config))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	joined, left := make(chan kafka.Member, 1), make(chan struct{})
	go func() {
		for err := range group.Errors() {
			t.Log("consumer group:", err)
		}
		close(left)
	}()
	consumed := make(chan error, 1)
	go func() { consumed <- group.Consume(ctx, []string{topic}, idleMember(joined)) }()
	gone := false
	leave = func() {
		if gone {
			return
		}
		gone = true
		cancel()
		if err := errors.Join(<-consumed, group.Close()); err != nil {
			t.Error(err)
		}
		<-left
	}
	select {
	case m = <-joined:
		m.Group = topic
		return m, leave
	case <-time.After(bound):
		leave()
		t.Fatal("still waiting for a member to join")
		panic("unreachable")
	}
}

// idleMember reads nothing.
type idleMember chan kafka.Member

func (i idleMember) Setup(s sarama.ConsumerGroupSession) error {
	i <- kafka.Member{ID: s.MemberID(), Generation: s.GenerationID()}
	return nil
}

func (idleMember) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (idleMember) ConsumeClaim(s sarama.ConsumerGroupSession, _ sarama.ConsumerGroupClaim) error {
	<-s.Context().Done()
	return nil
}

func consumerConfig(c kafka.Config) *sarama.Config {
	s, _ := c.ConsumerConfig(c.RebalanceTimeout(time.Second), 1, 1<<20)
	return s
}
