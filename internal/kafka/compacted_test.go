package kafka

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestCompactedTopicIsCreatedOnce(t *testing.T) {
	fake, config := startFake(t, kfake.NumBrokers(3))
	c := connect(t, config)
	createTopic(t, c, "main", 4, map[string]string{"min.insync.replicas": "2"})
	var asked kmsg.CreateTopicsRequestTopic
	fake.ControlKey(createTopicsKey, func(r kmsg.Request) (kmsg.Response, error, bool) {
		fake.KeepControl()
		asked = r.(*kmsg.CreateTopicsRequest).Topics[0]
		return nil, nil, false
	})
	var changes []Change
	for range 2 {
		topic, warnings, err := c.PlanCompacted("control", []string{"missing", "main"}, true, func(c Change) { changes = append(changes, c) })
		if err != nil || len(warnings) > 0 || topic.Name != "control" || topic.Partitions != 1 || topic.ID == [16]byte{} {
			t.Fatalf("%+v, warnings %v, error %v", topic, warnings, err)
		}
	}
	if diff := cmp.Diff([]Change{{Topic: "control", To: 1}}, changes); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	set := map[string]string{}
	for _, each := range asked.Configs {
		set[each.Name] = *each.Value
	}
	want := map[string]string{
		"cleanup.policy": "compact", "message.timestamp.type": "CreateTime", "segment.bytes": "1048576", "segment.ms": "86400000",
		"min.insync.replicas": "2",
	}
	if diff := cmp.Diff(want, set); diff != "" || asked.ReplicationFactor != 3 || asked.NumPartitions != 1 {
		t.Errorf("%d partitions, %d replicas, configuration (-want +got):\n%s", asked.NumPartitions, asked.ReplicationFactor, diff)
	}
}

func TestCompactedTopicIsHeldAgainstWhatIsWanted(t *testing.T) {
	c := connect(t, startBroker(t))
	tests := []struct {
		topic      string
		partitions int32
		policy     string
		problem    string
		warning    string
	}{
		{"good", 1, "compact", "", ""},
		{"deletes", 1, "delete", "topic deletes: cleanup.policy is delete, which deletes the newest record of a key in time: set cleanup.policy=compact", ""},
		{"both", 1, "compact,delete", "", "topic both: cleanup.policy is compact,delete, which deletes also the newest record of a key in time: set cleanup.policy=compact"},
		{"wide", 2, "compact", "topic wide: it has 2 partitions, between which records have no order: make the topic anew with 1 partition", ""},
		{"missing", 0, "", "topic missing does not exist: create it (partitions: 1, cleanup.policy=compact), or set topics.create: true", ""},
	}
	for _, tt := range tests {
		t.Run(tt.topic, func(t *testing.T) {
			if tt.partitions > 0 {
				createTopic(t, c, tt.topic, tt.partitions, map[string]string{"cleanup.policy": tt.policy})
			}
			_, warnings, err := c.PlanCompacted(tt.topic, nil, false, nil)
			var planned *PlanError
			switch {
			case tt.problem == "" && err != nil, tt.problem != "" && (!errors.As(err, &planned) || err.Error() != tt.problem):
				t.Errorf("error %v, want %q", err, tt.problem)
			case NoTopic(err) != (tt.topic == "missing"):
				t.Errorf("says that the topic is missing: %v", NoTopic(err))
			case tt.warning == "" && len(warnings) > 0, tt.warning != "" && (len(warnings) != 1 || warnings[0] != tt.warning):
				t.Errorf("warnings %q, want %q", warnings, tt.warning)
			}
		})
	}
}
