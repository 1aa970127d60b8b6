package kafka

import (
	"errors"
	"testing"

	"github.com/IBM/sarama"
	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// startGuarded runs a cluster with an authorizer, in which everybody may do what
// the grants say and nothing else.
func startGuarded(t *testing.T, grants ...kfake.ACL) (*kfake.Cluster, *Cluster) {
	t.Helper()
	for i := range grants {
		grants[i].Allow, grants[i].Pattern = true, kmsg.ACLResourcePatternTypeLiteral
	}
	fake, config := startFake(t, kfake.EnableACLs(), kfake.User("PLAIN", "ANONYMOUS", "unused", grants...),
		kfake.SeedTopics(1, "main", "tier", "DLT"))
	return fake, connect(t, config)
}

func onTopic(name string, op kmsg.ACLOperation) kfake.ACL {
	return kfake.ACL{Resource: kmsg.ACLResourceTypeTopic, Name: name, Operation: op}
}

func onGroup(name string, op kmsg.ACLOperation) kfake.ACL {
	return kfake.ACL{Resource: kmsg.ACLResourceTypeGroup, Name: name, Operation: op}
}

func onCluster(op kmsg.ACLOperation) kfake.ACL {
	return kfake.ACL{Resource: kmsg.ACLResourceTypeCluster, Name: "kafka-cluster", Operation: op}
}

func TestAccessIsWhatIsGranted(t *testing.T) {
	_, c := startGuarded(t,
		onTopic("main", kmsg.ACLOperationRead), onTopic("main", kmsg.ACLOperationDescribeConfigs),
		onTopic("DLT", kmsg.ACLOperationWrite), onTopic("absent", kmsg.ACLOperationAlter),
		onGroup("g", kmsg.ACLOperationRead),
		onCluster(kmsg.ACLOperationDescribe), onCluster(kmsg.ACLOperationCreate))
	topics, err := c.TopicAccess("main", "tier", "DLT", "absent")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string][]Operation{
		"main": {Read, Describe, DescribeConfigs}, "tier": nil,
		"DLT": {Write, Describe}, "absent": {Alter, Describe},
	}, topics); diff != "" {
		t.Errorf("topics (-want +got):\n%s", diff)
	}
	groups, err := c.GroupAccess("g", "other")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string][]Operation{"g": {Read, Describe}, "other": nil}, groups); diff != "" {
		t.Errorf("groups (-want +got):\n%s", diff)
	}
	cluster, err := c.ClusterAccess()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Operation{Create, Describe}, cluster); diff != "" {
		t.Errorf("cluster (-want +got):\n%s", diff)
	}
}

func TestClusterWithoutAuthorizerAllowsEverything(t *testing.T) {
	c := connect(t, startBroker(t))
	topics, err := c.TopicAccess("absent")
	if err != nil {
		t.Fatal(err)
	}
	groups, err := c.GroupAccess("g")
	if err != nil {
		t.Fatal(err)
	}
	cluster, err := c.ClusterAccess()
	if err != nil {
		t.Fatal(err)
	}
	got := [][]Operation{topics["absent"], groups["g"], cluster}
	want := [][]Operation{
		{Read, Write, Create, Delete, Alter, Describe, DescribeConfigs, AlterConfigs},
		{Read, Delete, Describe},
		{Read, Write, Create, Delete, Alter, Describe, ClusterAction, DescribeConfigs, AlterConfigs, IdempotentWrite},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("access (-want +got):\n%s", diff)
	}
}

func TestAccessToNothingAsksNobody(t *testing.T) {
	fake, config := startFake(t)
	c := connect(t, config)
	fake.Close()
	topics, err := c.TopicAccess()
	groups, gerr := c.GroupAccess()
	if len(topics)+len(groups) != 0 || err != nil || gerr != nil {
		t.Errorf("topics %v, %v; groups %v, %v", topics, err, groups, gerr)
	}
}

// Whatever is denied must read like something to grant, wherever it is noticed.
func TestDenialsSayWhatToGrant(t *testing.T) {
	read := []kfake.ACL{onTopic("main", kmsg.ACLOperationRead), onGroup("g", kmsg.ACLOperationRead)}
	partition := map[string][]int32{"main": {0}}
	tests := []struct {
		name   string
		grants []kfake.ACL
		ask    func(*Cluster) error
		want   string
	}{
		{"describe a group", nil, func(c *Cluster) error { _, err := c.Group("g"); return err },
			"group g may not be used (not authorized): grant Read on it"},
		{"fetch commits of a group", read[:1], func(c *Cluster) error { _, err := c.Committed("g", partition); return err },
			"group g may not be used (not authorized): grant Read on it"},
		{"commit for a group", read[:1], func(c *Cluster) error { return c.Commit(Member{Group: "g", Generation: -1}, Offsets{"main": {0: {}}}) },
			"group g may not be used (not authorized): grant Read on it"},
		{"commit for a topic", read[1:], func(c *Cluster) error { return c.Commit(Member{Group: "g", Generation: -1}, Offsets{"main": {0: {}}}) },
			"topic main may not be read (not authorized): grant Read on it"},
		{"list offsets", nil, func(c *Cluster) error { _, err := c.Ends(partition); return err },
			"topic main may not be looked at (not authorized): grant Describe and DescribeConfigs on it"},
		{"describe topics", nil, func(c *Cluster) error { _, err := c.Topics("main"); return err },
			"topic main may not be looked at (not authorized): grant Describe and DescribeConfigs on it"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, c := startGuarded(t, tt.grants...)
			err := tt.ask(c)
			var planned *PlanError
			if !errors.As(err, &planned) || Unreachable(err) {
				t.Fatalf("%v, want a *PlanError", err)
			}
			if got := Explain(err); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

func TestDeniedWriteSaysWhatToGrant(t *testing.T) {
	fake, config := startFake(t, kfake.SeedTopics(1, "DLT"))
	fake.ControlKey(produceKey, func(r kmsg.Request) (kmsg.Response, error, bool) {
		fake.KeepControl()
		resp := r.ResponseKind().(*kmsg.ProduceResponse)
		for _, asked := range r.(*kmsg.ProduceRequest).Topics {
			topic := kmsg.NewProduceResponseTopic()
			topic.Topic, topic.TopicID = asked.Topic, asked.TopicID
			partition := kmsg.NewProduceResponseTopicPartition()
			partition.ErrorCode = int16(sarama.ErrTopicAuthorizationFailed)
			topic.Partitions = append(topic.Partitions, partition)
			resp.Topics = append(resp.Topics, topic)
		}
		return resp, nil, true
	})
	to := target(t, newProducers(t, config), "DLT", 1<<20)
	a := receive(t, "the refusal", send(to, text("x")))
	var planned *PlanError
	if !errors.As(a.err, &planned) {
		t.Fatalf("%v, want a *PlanError", a.err)
	}
	if got, want := Explain(a.err), "topic DLT may not be written (not authorized): grant Write on it"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestDeniedProducerSaysWhatToGrant(t *testing.T) {
	fake, config := startFake(t, kfake.EnableACLs())
	defer fake.Close()
	_, err := newProducers(t, config).Target("DLT", 1<<20)
	var planned *PlanError
	if !errors.As(err, &planned) {
		t.Fatalf("%v, want a *PlanError", err)
	}
	want := "no topic may be written (not authorized): grant Write on the topics of the tiers and on the dead-letter topic, before Kafka 2.8 also IdempotentWrite on the cluster"
	if got := Explain(err); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
