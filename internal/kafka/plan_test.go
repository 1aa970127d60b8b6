package kafka

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"
	"golang.org/x/sync/errgroup"
)

func TestPlanCreatesWhatIsMissing(t *testing.T) {
	fake, config := startFake(t)
	c := connect(t, config)
	createTopic(t, c, "main", 3, map[string]string{
		"max.message.bytes": "2000000", "min.insync.replicas": "1", "cleanup.policy": "compact", "retention.ms": "1000",
	})
	created := map[string]map[string]string{}
	fake.ControlKey(createTopicsKey, func(r kmsg.Request) (kmsg.Response, error, bool) {
		fake.KeepControl()
		topic := r.(*kmsg.CreateTopicsRequest).Topics[0]
		created[topic.Topic] = map[string]string{}
		for _, c := range topic.Configs {
			created[topic.Topic][c.Name] = *c.Value
		}
		return nil, nil, false
	})
	specs := []TopicSpec{{Name: "main.retry.1", Retention: 8 * day}, {Name: "main.DLT"}}
	var changes []Change
	first, err := c.Plan("main", specs, true, func(done Change) { changes = append(changes, done) })
	if err != nil {
		t.Fatal(err)
	}
	if len(first.Warnings) > 0 {
		t.Errorf("warnings: %q", first.Warnings)
	}
	for name, want := range map[string]map[string]string{
		"main.retry.1": {"retention.ms": "691200000"},
		"main.DLT":     {"retention.ms": "-1"},
	} {
		want["cleanup.policy"] = "delete"
		want["message.timestamp.type"] = "CreateTime"
		want["retention.bytes"] = "-1"
		want["max.message.bytes"] = "2065536"
		want["min.insync.replicas"] = "1"
		if diff := cmp.Diff(want, created[name]); diff != "" {
			t.Errorf("configuration of %s (-want +got):\n%s", name, diff)
		}
		if topic := first.Topics[name]; topic.Partitions != 3 || topic.MaxMessageBytes != 2065536 || topic.Name != name {
			t.Errorf("planned %+v", topic)
		}
	}
	if main := first.Topics["main"]; main.Partitions != 3 || main.MaxMessageBytes != 2000000 {
		t.Errorf("planned %+v", main)
	}
	for _, create := range []bool{true, false} { // and again, and only to check
		again, err := c.Plan("main", specs, create, unchanged)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(first, again, cmp.AllowUnexported(Topic{})); diff != "" {
			t.Errorf("planned again with create %v (-first +again):\n%s", create, diff)
		}
	}
}

func TestPlanNamesAllProblemsAtOnce(t *testing.T) {
	week := TopicSpec{Name: "tier", Retention: 7 * day}
	tests := []struct {
		name   string
		topics map[string]int32 // partitions
		config map[string]map[string]string
		specs  []TopicSpec
		create bool
		want   []string
		absent bool // some topic is
	}{
		{"main is missing", nil, nil, []TopicSpec{week}, true, []string{
			"main topic main does not exist: create it, or correct the relay's topic; retryd never creates a main topic",
		}, true},
		{"nothing may be created", map[string]int32{"main": 3, "small": 2}, nil,
			[]TopicSpec{week, {Name: "small"}, {Name: "DLT"}}, false, []string{
				"topic tier does not exist: create it (partitions: 3), or set topics.create: true",
				"topic small has 2 partitions, main has 3: add partitions, or set topics.create: true",
				"topic DLT does not exist: create it (partitions: 3), or set topics.create: true",
			}, true},
		{"existing topics break promises", map[string]int32{"main": 1, "tier": 1, "DLT": 2},
			map[string]map[string]string{
				"tier": {"retention.ms": "1000", "max.message.bytes": "2000000"},
				"DLT":  {"cleanup.policy": "compact", "message.timestamp.type": "LogAppendTime", "retention.bytes": "5"},
			},
			[]TopicSpec{week, {Name: "DLT"}}, true, []string{
				"topic tier: retention.ms is 1000 (1s), which may delete records that still wait: set retention.ms=604800000 or more, or -1",
				"topic DLT: cleanup.policy is compact, which deletes records of the same key: set cleanup.policy=delete",
				"topic DLT: message.timestamp.type is LogAppendTime, which overwrites the time of the decision: set message.timestamp.type=CreateTime",
				"topic DLT: retention.bytes is 5, which deletes records by size: set retention.bytes=-1",
				"topic DLT: it has 2 partitions, main has 1: a record keeps its partition number, so make the topic anew with 1 partitions",
			}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := connect(t, startBroker(t))
			for topic, partitions := range tt.topics {
				createTopic(t, c, topic, partitions, tt.config[topic])
			}
			_, err := c.Plan("main", tt.specs, tt.create, unchanged)
			var problems *PlanError
			if !errors.As(err, &problems) {
				t.Fatalf("plan: %v, want a *PlanError", err)
			}
			if diff := cmp.Diff(tt.want, problems.Problems); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
			if NoTopic(err) != tt.absent {
				t.Errorf("a topic is missing: %v, want %v", NoTopic(err), tt.absent)
			}
		})
	}
}

func TestPlanWarnsOfWhatOnlyWeakens(t *testing.T) {
	c := connect(t, startBroker(t))
	createTopic(t, c, "main", 1, map[string]string{"max.message.bytes": "1000000"})
	createTopic(t, c, "tier", 1, map[string]string{"max.message.bytes": "1000000", "retention.ms": "-1"})
	createTopic(t, c, "DLT", 1, map[string]string{"max.message.bytes": "2000000", "retention.ms": "604800000"})
	p, err := c.Plan("main", []TopicSpec{{Name: "tier", Retention: day}, {Name: "DLT"}}, true, unchanged)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"topic tier: max.message.bytes is 1000000: a large record with its headers may not fit and is then dead-lettered or held; set max.message.bytes=1065536",
		"topic DLT: retention.ms is 604800000 (168h0m0s): older dead letters are deleted; set retention.ms=-1 to keep them",
	}
	if diff := cmp.Diff(want, p.Warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

// unchanged is for plans whose changes do not matter.
func unchanged(Change) {}

func TestPlanFollowsMainsGrowth(t *testing.T) {
	c := connect(t, startBroker(t))
	createTopic(t, c, "main", 2, nil)
	specs := []TopicSpec{{Name: "tier", Retention: 7 * day}, {Name: "DLT"}}
	if _, err := c.Plan("main", specs, true, unchanged); err != nil {
		t.Fatal(err)
	}
	if err := c.admin.CreatePartitions("main", 5, nil, false); err != nil {
		t.Fatal(err)
	}
	var changes []Change
	p, err := c.Plan("main", specs, true, func(done Change) { changes = append(changes, done) })
	if err != nil {
		t.Fatal(err)
	}
	want := []Change{{Topic: "tier", From: 2, To: 5}, {Topic: "DLT", From: 2, To: 5}}
	if diff := cmp.Diff(want, changes); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	for name, topic := range p.Topics {
		if topic.Partitions != 5 {
			t.Errorf("%s has %d partitions", name, topic.Partitions)
		}
	}
	changes = nil
	if _, err := c.Plan("main", specs, true, func(done Change) { changes = append(changes, done) }); err != nil || len(changes) > 0 {
		t.Errorf("planned again: %v, %v", changes, err)
	}
}

// Instances start together.
func TestPlansAtTheSameTimeAgree(t *testing.T) {
	config := startBroker(t)
	c := connect(t, config)
	createTopic(t, c, "main", 4, nil)
	specs := []TopicSpec{{Name: "1", Retention: day}, {Name: "2", Retention: day}, {Name: "3", Retention: day}, {Name: "DLT"}}
	planned := make([]Planned, 4)
	var plans errgroup.Group
	for i := range planned {
		own := connect(t, config)
		plans.Go(func() (err error) {
			planned[i], err = own.Plan("main", specs, true, unchanged)
			return err
		})
	}
	if err := plans.Wait(); err != nil {
		t.Fatal(err)
	}
	for i := range planned {
		if diff := cmp.Diff(planned[0], planned[i], cmp.AllowUnexported(Topic{})); diff != "" {
			t.Errorf("plan %d (-first +this):\n%s", i, diff)
		}
	}
}

func TestPartitionsThatAnotherInstanceAddedAreNoError(t *testing.T) {
	fake, config := startFake(t, kfake.SeedTopics(4, "main", "tier"))
	c := connect(t, config)
	fake.ControlKey(createPartitionsKey, func(r kmsg.Request) (kmsg.Response, error, bool) {
		resp := r.ResponseKind().(*kmsg.CreatePartitionsResponse)
		topic := kmsg.NewCreatePartitionsResponseTopic()
		topic.Topic, topic.ErrorCode = "tier", kerr.InvalidPartitions.Code
		resp.Topics = append(resp.Topics, topic)
		return resp, nil, true
	})
	seen := Topic{Name: "tier", Partitions: 2} // a moment ago
	if done, err := c.addPartitions(Topic{Name: "main", Partitions: 4}, seen); done || err != nil {
		t.Errorf("done %v, %v: want another instance's doing, and no error", done, err)
	}
}

// A topic may be deleted, or main may grow, while a plan is made: no person has to
// mend that.
func TestPlanThatIsOutrunIsMadeAgain(t *testing.T) {
	main := TopicState{Topic: Topic{Name: "main", Partitions: 3}}
	tests := []struct {
		name string
		tier TopicState
		want string
	}{
		{"deleted", TopicState{Topic: Topic{Name: "tier"}, Missing: true}, "describe topic tier: topic does not exist"},
		{"outgrown", TopicState{Topic: Topic{Name: "tier", Partitions: 2}, Lacks: 1}, "topic tier has 2 partitions and main topic main already 3"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Survey{Main: main, Topics: []TopicState{tt.tier}}.planned()
			var problems *PlanError
			if err == nil || err.Error() != tt.want || errors.As(err, &problems) {
				t.Errorf("planned: %v, want %s", err, tt.want)
			}
		})
	}
}

func TestRetentionMillis(t *testing.T) {
	tests := []struct {
		name string
		d    time.Duration
		want string
	}{
		{"for ever", 0, "-1"},
		{"a week", 7 * day, "604800000"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := retentionMillis(tt.d); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}
