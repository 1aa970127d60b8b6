package kafka

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/twmb/franz-go/pkg/kmsg"
)

var onlyNames = cmpopts.IgnoreFields(Topic{}, "ID", "Replication", "MaxMessageBytes", "config", "keeps", "limited")

func TestSurveyTellsWhatThereIs(t *testing.T) {
	fake, config := startFake(t)
	c := connect(t, config)
	createTopic(t, c, "main", 3, nil)
	createTopic(t, c, "small", 1, map[string]string{"max.message.bytes": "9000000", "retention.ms": "-1"})
	createTopic(t, c, "large", 4, map[string]string{"max.message.bytes": "9000000", "retention.ms": "1000"})
	createTopic(t, c, "DLT", 3, nil)
	for _, key := range []int16{createTopicsKey, createPartitionsKey} {
		fake.ControlKey(key, func(r kmsg.Request) (kmsg.Response, error, bool) {
			t.Errorf("a survey changes something: %T", r)
			return nil, nil, false
		})
	}
	got, err := c.Survey("main", []TopicSpec{{"absent", day}, {"small", day}, {"large", day}, {"DLT", 0}})
	if err != nil {
		t.Fatal(err)
	}
	want := Survey{Main: TopicState{Topic: Topic{Name: "main", Partitions: 3}}, Topics: []TopicState{
		{Topic: Topic{Name: "absent"}, Missing: true},
		{Topic: Topic{Name: "small", Partitions: 1}, Lacks: 2},
		{Topic: Topic{Name: "large", Partitions: 4}, Problems: []string{
			"topic large: it has 4 partitions, main has 3: a record keeps its partition number, so make the topic anew with 3 partitions",
			"topic large: retention.ms is 1000 (1s), which may delete records that still wait: set retention.ms=86400000 or more, or -1",
		}},
		{Topic: Topic{Name: "DLT", Partitions: 3}, Warnings: []string{
			"topic DLT: max.message.bytes is 1048588: a large record with its headers may not fit and is then dead-lettered or held; set max.message.bytes=1114124",
			"topic DLT: retention.ms is 604800000 (168h0m0s): older dead letters are deleted; set retention.ms=-1 to keep them",
		}},
	}}
	if diff := cmp.Diff(want, got, onlyNames, cmpopts.SortSlices(func(a, b string) bool { return a < b })); diff != "" {
		t.Errorf("survey (-want +got):\n%s", diff)
	}
}

// Without its measure no topic is judged, but what there is is told.
func TestSurveyWithoutMain(t *testing.T) {
	c := connect(t, startBroker(t))
	createTopic(t, c, "tier", 1, map[string]string{"cleanup.policy": "compact"})
	got, err := c.Survey("main", []TopicSpec{{"tier", day}, {"DLT", 0}})
	if err != nil {
		t.Fatal(err)
	}
	want := Survey{
		Main: TopicState{Topic: Topic{Name: "main"}, Missing: true, Problems: []string{
			"main topic main does not exist: create it, or correct the relay's topic; retryd never creates a main topic",
		}},
		Topics: []TopicState{{Topic: Topic{Name: "tier", Partitions: 1}}, {Topic: Topic{Name: "DLT"}, Missing: true}},
	}
	if diff := cmp.Diff(want, got, onlyNames); diff != "" {
		t.Errorf("survey (-want +got):\n%s", diff)
	}
}

func TestSurveyTellsWhatIsHidden(t *testing.T) {
	_, c := startGuarded(t, onTopic("main", kmsg.ACLOperationRead), onTopic("main", kmsg.ACLOperationDescribeConfigs),
		onTopic("tier", kmsg.ACLOperationDescribe))
	got, err := c.Survey("main", []TopicSpec{{"tier", day}, {"DLT", 0}})
	if err != nil {
		t.Fatal(err)
	}
	problem := func(topic string) []string {
		return []string{"topic " + topic + " may not be looked at (kafka server: The client is not authorized to access this topic): grant Describe and DescribeConfigs on it"}
	}
	want := Survey{Main: TopicState{Topic: Topic{Name: "main", Partitions: 1}}, Topics: []TopicState{
		{Topic: Topic{Name: "tier", Partitions: 1}, Hidden: true, Problems: problem("tier")}, // DescribeConfigs is missing
		{Topic: Topic{Name: "DLT"}, Hidden: true, Problems: problem("DLT")},
	}}
	if diff := cmp.Diff(want, got, onlyNames); diff != "" {
		t.Errorf("survey (-want +got):\n%s", diff)
	}
	found, hidden, err := c.Existing("main", "tier", "DLT", "absent")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]Topic{"main": {Name: "main", Partitions: 1}, "tier": {Name: "tier", Partitions: 1}}, found, onlyNames); diff != "" {
		t.Errorf("existing topics (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"DLT", "absent"}, hidden); diff != "" {
		t.Errorf("hidden topics (-want +got):\n%s", diff)
	}
}
