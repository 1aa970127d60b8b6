package kafka

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// nobody commits to a group without being its member.
func nobody(group string) Member { return Member{Group: group, Generation: -1} }

func TestCommitErrorTellsWhatIsFinal(t *testing.T) {
	tests := []struct {
		name   string
		answer sarama.KError
		want   error
	}{
		{"acknowledged", sarama.ErrNoError, nil},
		{"coordinator moved", sarama.ErrNotCoordinatorForConsumer, errNoCoordinator},
		{"coordinator missing", sarama.ErrConsumerCoordinatorNotAvailable, errNoCoordinator},
		{"coordinator loads", sarama.ErrOffsetsLoadInProgress, errNoCoordinator},
		{"older generation", sarama.ErrIllegalGeneration, ErrFenced},
		{"member gone", sarama.ErrUnknownMemberId, ErrFenced},
		{"instance replaced", sarama.ErrFencedInstancedId, ErrFenced},
		{"group gone", sarama.ErrGroupIDNotFound, ErrFenced},
		{"rebalance", sarama.ErrRebalanceInProgress, sarama.ErrRebalanceInProgress},
		{"metadata too large", sarama.ErrOffsetMetadataTooLarge, sarama.ErrOffsetMetadataTooLarge},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := commitError(tt.answer)
			if !errors.Is(err, tt.want) || (tt.want == nil) != (err == nil) {
				t.Fatalf("got %v, want %v", err, tt.want)
			}
			if err != nil && !errors.Is(err, tt.answer) {
				t.Errorf("%v hides %v", err, tt.answer)
			}
			if tt.want != ErrFenced && errors.Is(err, ErrFenced) {
				t.Errorf("%v is taken for final", err)
			}
		})
	}
}

func TestCommitMayRepeatAnOffsetWithOtherMetadata(t *testing.T) {
	c := connect(t, startBroker(t))
	createTopic(t, c, "a", 3, nil)
	partitions := map[string][]int32{"a": {0, 1, 2}}
	for _, metadata := range []string{"", "first", "second"} {
		want := Offsets{}
		want.Set("a", 0, Committed{Offset: 7, Metadata: metadata})
		want.Set("a", 2, Committed{Offset: 0, Metadata: metadata}) // 1 has none
		if err := c.Commit(nobody("g"), want); err != nil {
			t.Fatal(err)
		}
		got, err := c.Committed("g", partitions)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("committed (-want +got):\n%s", diff)
		}
	}
}

// Kafka refuses a commit that it cannot store as one batch of a MiB.
func TestCommitIsSplitWhereKafkaWouldRefuseIt(t *testing.T) {
	name := strings.Repeat("n", 249)
	for _, tt := range []struct {
		name                             string
		partitions, characters, requests int
	}{
		{"usual", 100, 4096, 1},
		{"all sets full", 400, 4096, 3},
		{"thousands without a set", 5000, 40, 4},
		{"nothing", 0, 0, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			offsets := Offsets{}
			for p := range int32(tt.partitions) {
				offsets.Set(name, p, Committed{Offset: int64(p), Metadata: strings.Repeat("x", tt.characters)})
			}
			m := Member{Group: name, Instance: "i", ID: "id", Generation: 3}
			requests := m.commits(sarama.NewConfig(), offsets)
			if len(requests) != tt.requests {
				t.Errorf("%d requests, want %d", len(requests), tt.requests)
			}
			for _, req := range requests {
				n := int32(0)
				for p := range int32(tt.partitions) {
					if offset, metadata, err := req.Offset(name, p); err == nil && offset == int64(p) && metadata == offsets[name][p].Metadata {
						delete(offsets[name], p)
						n++
					}
				}
				// A record of Kafka's: a key of 12 bytes and both names, a value of 26 and the metadata, and
				// 15 around them; a batch of them has 61 more.
				if stored := int(n)*(12+2*len(name)+26+tt.characters+15) + 61; stored > 1<<20 || req.ConsumerID != m.ID || req.ConsumerGroupGeneration != 3 || *req.GroupInstanceId != "i" {
					t.Errorf("%d partitions in %d bytes by %s", n, stored, req.ConsumerID)
				}
			}
			if n := len(offsets[name]); n > 0 {
				t.Errorf("%d positions are in no request", n)
			}
		})
	}
}

func TestCommittedOfAGroupNeverSeenIsEmpty(t *testing.T) {
	c := connect(t, startBroker(t))
	createTopic(t, c, "a", 1, nil)
	got, err := c.Committed("never seen", map[string][]int32{"a": {0}})
	if err != nil || len(got) != 0 {
		t.Errorf("committed: %v, %v", got, err)
	}
}

// "Nothing committed" begins at the earliest offset: only the broker may say it.
func TestCommittedIsNotGuessedFromAnIncompleteAnswer(t *testing.T) {
	fake, config := startFake(t, kfake.SeedTopics(1, "a"))
	c := connect(t, config)
	fake.ControlKey(offsetFetchKey, func(r kmsg.Request) (kmsg.Response, error, bool) {
		resp := r.ResponseKind().(*kmsg.OffsetFetchResponse)
		group := kmsg.NewOffsetFetchResponseGroup()
		group.Group = "g"
		resp.Groups = append(resp.Groups, group)
		return resp, nil, true
	})
	got, err := c.Committed("g", map[string][]int32{"a": {0}})
	if !errors.Is(err, sarama.ErrIncompleteResponse) {
		t.Errorf("committed: %v, %v, want %v", got, err, sarama.ErrIncompleteResponse)
	}
}

func TestCommitOfAStaleMemberIsFenced(t *testing.T) {
	config := startBroker(t)
	c := connect(t, config)
	createTopic(t, c, "a", 1, nil)
	current := join(t, config, "g", "a")
	at := Offsets{"a": {0: {Offset: 1}}}
	if err := c.Commit(current, at); err != nil {
		t.Fatalf("the current member: %v", err)
	}
	tests := []struct {
		name   string
		member Member
	}{
		{"older generation", Member{Group: "g", ID: current.ID, Generation: current.Generation - 1}},
		{"unknown member", Member{Group: "g", ID: "somebody", Generation: current.Generation}},
		{"no member, although the group has some", nobody("g")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := c.Commit(tt.member, Offsets{"a": {0: {Offset: 2}}}); !errors.Is(err, ErrFenced) {
				t.Errorf("commit: %v, want %v", err, ErrFenced)
			}
		})
	}
	got, err := c.Committed("g", map[string][]int32{"a": {0}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(at, got); diff != "" {
		t.Errorf("committed (-want +got):\n%s", diff)
	}
}

// A static member's place is taken by the next one with its instance id.
func TestCommitOfAnInstanceThatWasReplacedIsFenced(t *testing.T) {
	config := startBroker(t)
	c := connect(t, config)
	createTopic(t, c, "a", 1, nil)
	config.InstanceID = "one"
	older := join(t, config, "g", "a")
	at := Offsets{"a": {0: {Offset: 1}}}
	if err := c.Commit(older, at); err != nil {
		t.Fatalf("the only instance: %v", err)
	}
	newer := join(t, config, "g", "a")
	if err := c.Commit(older, at); !errors.Is(err, ErrFenced) || !errors.Is(err, sarama.ErrFencedInstancedId) {
		t.Errorf("commit of the older one: %v, want %v", err, sarama.ErrFencedInstancedId)
	}
	if err := c.Commit(newer, at); err != nil {
		t.Errorf("commit of the newer one: %v", err)
	}
}

func TestCommitFollowsItsCoordinator(t *testing.T) {
	fake, config := startFake(t, kfake.NumBrokers(3), kfake.SeedTopics(1, "a"))
	c := connect(t, config)
	for offset := range int64(5) {
		before := fake.CoordinatorFor("g")
		if err := c.Commit(nobody("g"), Offsets{"a": {0: {Offset: offset}}}); err != nil {
			t.Fatalf("commit %d: %v", offset, err)
		}
		for fake.CoordinatorFor("g") == before {
			fake.RehashCoordinators()
		}
	}
}

func TestCommitWaitsForACoordinatorThatLoads(t *testing.T) {
	fake, config := startFake(t, kfake.SeedTopics(1, "a"))
	c := connect(t, config)
	answers := make(chan int16, 2)
	answers <- kerr.CoordinatorLoadInProgress.Code
	answers <- kerr.CoordinatorNotAvailable.Code
	fake.ControlKey(offsetCommitKey, func(r kmsg.Request) (kmsg.Response, error, bool) {
		select {
		case code := <-answers:
			fake.KeepControl()
			return refuseCommit(r, code), nil, true
		default:
			return nil, nil, false
		}
	})
	if err := c.Commit(nobody("g"), Offsets{"a": {0: {Offset: 1}}}); err != nil {
		t.Errorf("commit: %v", err)
	}
	if len(answers) != 0 {
		t.Errorf("%d answers were not asked for", len(answers))
	}
}

func refuseCommit(r kmsg.Request, code int16) kmsg.Response {
	resp := r.ResponseKind().(*kmsg.OffsetCommitResponse)
	for _, asked := range r.(*kmsg.OffsetCommitRequest).Topics {
		topic := kmsg.NewOffsetCommitResponseTopic()
		topic.Topic = asked.Topic
		for _, p := range asked.Partitions {
			partition := kmsg.NewOffsetCommitResponseTopicPartition()
			partition.Partition, partition.ErrorCode = p.Partition, code
			topic.Partitions = append(topic.Partitions, partition)
		}
		resp.Topics = append(resp.Topics, topic)
	}
	return resp
}

// join makes a member of the group that stays until the end of the test.
func join(t *testing.T, c Config, group, topic string) Member {
	t.Helper()
	g, err := sarama.NewConsumerGroup(c.Brokers, group, consumerConfig(c))
	if err != nil {
		t.Fatal(err)
	}
	ctx, leave := context.WithCancel(context.Background())
	joined, left := make(chan Member, 1), make(chan struct{})
	go func() {
		defer close(left)
		for err := range g.Errors() {
			t.Log("consumer group:", err)
		}
	}()
	consumed := make(chan error, 1)
	go func() { consumed <- g.Consume(ctx, []string{topic}, idle(joined)) }()
	t.Cleanup(func() {
		leave()
		if err := errors.Join(<-consumed, g.Close()); err != nil && !errors.Is(err, sarama.ErrFencedInstancedId) {
			t.Error(err)
		}
		<-left
	})
	m := receive(t, "the member to join", joined)
	m.Group, m.Instance = group, c.InstanceID
	return m
}

// idle is a member that reads nothing.
type idle chan Member

func (i idle) Setup(s sarama.ConsumerGroupSession) error {
	i <- Member{ID: s.MemberID(), Generation: s.GenerationID()}
	return nil
}

func (idle) Cleanup(sarama.ConsumerGroupSession) error { return nil }

func (idle) ConsumeClaim(s sarama.ConsumerGroupSession, _ sarama.ConsumerGroupClaim) error {
	<-s.Context().Done()
	return nil
}

func consumerConfig(c Config) *sarama.Config {
	s, _ := c.ConsumerConfig(c.RebalanceTimeout(time.Second), 1, 1<<20)
	return s
}
