package kafka

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/IBM/sarama"
	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Keys of the protocol's requests.
const (
	produceKey          = 0
	metadataKey         = 3
	offsetCommitKey     = 8
	offsetFetchKey      = 9
	createTopicsKey     = 19
	describeConfigsKey  = 32
	createPartitionsKey = 37
)

func TestConnectSaysWhoDidNotAnswer(t *testing.T) {
	closed := silence(t)
	closed.Close()
	addr := closed.Addr().String()
	_, err := Connect(t.Context(), configFor([]string{addr}))
	if !errors.Is(err, sarama.ErrOutOfBrokers) {
		t.Fatalf("connect: %v, want %v", err, sarama.ErrOutOfBrokers)
	}
	if want := "connect to " + addr + ": "; err.Error()[:len(want)] != want {
		t.Errorf("connect: %q does not begin with %q", err, want)
	}
}

func TestTopicsDescribesWhatExists(t *testing.T) {
	c := connect(t, startBroker(t))
	createTopic(t, c, "a", 3, nil)
	got, err := c.Topics("a", "b")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]Topic{"a": {Name: "a", ID: got["a"].ID, Partitions: 3, Replication: 1}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(Topic{})); diff != "" {
		t.Errorf("topics (-want +got):\n%s", diff)
	}
	if got["a"].ID == [16]byte{} {
		t.Error("the topic has no id")
	}
	if all, err := c.Topics(); len(all) != 0 || err != nil {
		t.Errorf("no names describe %v, %v", all, err)
	}
}

func TestTopicMadeAnewHasAnotherID(t *testing.T) {
	c := connect(t, startBroker(t))
	ids := map[[16]byte]bool{}
	for range 2 {
		createTopic(t, c, "a", 1, nil)
		topics, err := c.Topics("a")
		if err != nil {
			t.Fatal(err)
		}
		ids[topics["a"].ID] = true
		if err := c.admin.DeleteTopic("a"); err != nil {
			t.Fatal(err)
		}
	}
	if len(ids) != 2 {
		t.Errorf("both topics have the id %v", ids)
	}
}

// A cluster client must get over every broken connection by itself: it lives as
// long as the process.
func TestBrokenConnectionsAreReplaced(t *testing.T) {
	fake, config := startFake(t, kfake.SeedTopics(1, "a"))
	c := connect(t, config)
	partitions := map[string][]int32{"a": {0}}
	tests := []struct {
		name string
		key  int16
		call func() error
	}{
		{"topics", metadataKey, func() error { _, err := c.Topics("a"); return err }},
		{"ends", 2, func() error { _, err := c.Ends(partitions); return err }},
		{"plan", describeConfigsKey, func() error { _, err := c.Plan("a", nil, true, unchanged); return err }},
		{"committed", offsetFetchKey, func() error { _, err := c.Committed("g", partitions); return err }},
		{"commit", offsetCommitKey, func() error {
			return c.Commit(Member{Group: "g", Generation: -1}, Offsets{"a": {0: {Offset: 1}}})
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			broke := make(chan struct{}, 1)
			fake.ControlKey(tt.key, func(kmsg.Request) (kmsg.Response, error, bool) {
				broke <- struct{}{}
				return nil, errors.New("the connection breaks"), true // once
			})
			first := tt.call() // some calls are tried again by the client library
			receive(t, "the connection to break", broke)
			if err := tt.call(); err != nil {
				t.Errorf("after a call that ended with %v, the next one: %v", first, err)
			}
		})
	}
}

// A call in progress would end by its timeouts too, after another try.
func TestHangUpEndsWhatWaitsForAnAnswer(t *testing.T) {
	m, fake, config := startMute(t)
	c := connect(t, config)
	asked := make(chan struct{}, 1)
	fake.ControlKey(createTopicsKey, func(kmsg.Request) (kmsg.Response, error, bool) {
		fake.KeepControl()
		m.muted.Store(true)
		asked <- struct{}{}
		return nil, nil, false
	})
	result := make(chan error, 1)
	go func() {
		result <- c.admin.CreateTopic("a", &sarama.TopicDetail{NumPartitions: 1, ReplicationFactor: 1}, false)
	}()
	receive(t, "the request", asked)
	c.HangUp()
	if err := receive(t, "the end of the call", result); err == nil || strings.Contains(err.Error(), "in time") {
		t.Errorf("the call ended with %v, want a broken connection", err)
	}
	if _, err := c.Topics("a"); !errors.Is(err, context.Canceled) {
		t.Errorf("a later call: %v, want %v", err, context.Canceled)
	}
}

// Access that is denied takes a person: it must read like a fault, not like a
// cluster that is away.
func TestRefusalsAreProblems(t *testing.T) {
	denied := kerr.TopicAuthorizationFailed.Code
	tests := []struct {
		name   string
		key    int16
		answer func(kmsg.Request) kmsg.Response
		want   string
	}{
		{"describe", metadataKey, func(r kmsg.Request) kmsg.Response {
			resp := r.ResponseKind().(*kmsg.MetadataResponse)
			for _, asked := range r.(*kmsg.MetadataRequest).Topics {
				topic := kmsg.NewMetadataResponseTopic()
				topic.Topic, topic.ErrorCode = asked.Topic, denied
				resp.Topics = append(resp.Topics, topic)
			}
			return resp
		}, "topic main may not be looked at (kafka server: The client is not authorized to access this topic): grant Describe and DescribeConfigs on it"},
		{"describe configuration", describeConfigsKey, func(r kmsg.Request) kmsg.Response {
			resp := r.ResponseKind().(*kmsg.DescribeConfigsResponse)
			for _, asked := range r.(*kmsg.DescribeConfigsRequest).Resources {
				resource := kmsg.NewDescribeConfigsResponseResource()
				resource.ResourceType, resource.ResourceName, resource.ErrorCode = asked.ResourceType, asked.ResourceName, denied
				resp.Resources = append(resp.Resources, resource)
			}
			return resp
		}, "topic main may not be looked at (kafka server: The client is not authorized to access this topic): grant Describe and DescribeConfigs on it"},
		{"create", createTopicsKey, func(r kmsg.Request) kmsg.Response {
			resp := r.ResponseKind().(*kmsg.CreateTopicsResponse)
			topic := kmsg.NewCreateTopicsResponseTopic()
			topic.Topic, topic.ErrorCode = r.(*kmsg.CreateTopicsRequest).Topics[0].Topic, denied
			resp.Topics = append(resp.Topics, topic)
			return resp
		}, "topic main.DLT does not exist and Kafka refuses to create it (kafka server: The client is not authorized to access this topic): create it (partitions: 2), or let retryd do it"},
		{"add partitions", createPartitionsKey, func(r kmsg.Request) kmsg.Response {
			resp := r.ResponseKind().(*kmsg.CreatePartitionsResponse)
			topic := kmsg.NewCreatePartitionsResponseTopic()
			topic.Topic, topic.ErrorCode = r.(*kmsg.CreatePartitionsRequest).Topics[0].Topic, denied
			resp.Topics = append(resp.Topics, topic)
			return resp
		}, "topic small has 1 partitions, main has 2, and Kafka refuses to add some (kafka server: The client is not authorized to access this topic): add partitions, or let retryd do it"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			fake, config := startFake(t, kfake.SeedTopics(2, "main"), kfake.SeedTopics(1, "small"))
			c := connect(t, config)
			fake.ControlKey(tt.key, func(r kmsg.Request) (kmsg.Response, error, bool) {
				fake.KeepControl()
				return tt.answer(r), nil, true
			})
			spec := TopicSpec{Name: "main.DLT"}
			if tt.key == createPartitionsKey {
				spec.Name = "small"
			}
			_, err := c.Plan("main", []TopicSpec{spec}, true, unchanged)
			var problems *PlanError
			if !errors.As(err, &problems) {
				t.Fatalf("plan: %v, want a *PlanError", err)
			}
			if diff := cmp.Diff([]string{tt.want}, problems.Problems); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}
