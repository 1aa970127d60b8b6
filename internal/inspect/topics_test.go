package inspect

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/retryd/retryd/internal/kafka"
)

// What a cluster has and lacks is shown by the tests of the command topics; here is
// what somebody must grant.

// create creates the topics of one on a broker that grants no more than grants.
func create(t *testing.T, grants []kfake.ACL) Topics {
	t.Helper()
	s := startGuarded(t, []string{"loans", "loans.retry.9"}, grants...)
	cfg := s.load(t, one)
	cluster, err := kafka.Connect(t.Context(), cfg.Kafka)
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	topics, err := CreateTopics(cluster, cfg.Relays[0])
	if err != nil {
		t.Fatal(err)
	}
	return topics
}

func TestTheRightsThatArePrintedCreateTopics(t *testing.T) {
	topics := create(t, enough(t))
	want := []Change{{"loans.retry.1", 0, 1}, {"loans.retry.2", 0, 1}, {"loans.DLT", 0, 1}}
	if diff := cmp.Diff(want, topics.Changes); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	if retired := topics.Topics[len(topics.Topics)-1]; retired.Name != "loans.retry.9" || retired.Tier != "9" || !retired.Deletable {
		t.Errorf("the retired tier: %+v", retired)
	}
	if !topics.Stands() || len(topics.Warnings) > 0 {
		t.Errorf("%+v", topics)
	}
}

func TestAMissingRightIsNamed(t *testing.T) {
	tests := []struct {
		name     string
		resource string
		without  []kmsg.ACLOperation // nil: all
		stands   bool
		problems []string
		warnings []string
	}{
		{"create", "loans.DLT", []kmsg.ACLOperation{kmsg.ACLOperationCreate}, false, []string{"topic loans.DLT does not exist and Kafka refuses to create it"}, nil},
		{"describe configs", "loans", []kmsg.ACLOperation{kmsg.ACLOperationDescribeConfigs}, false, []string{"topic loans may not be looked at"}, nil},
		{"tiers", "loans.retry.", nil, false, []string{"topic loans.retry.1 may not be looked at", "topic loans.retry.2 may not be looked at"}, []string{"topics named loans.retry.* may not be looked at"}},
		{"groups of tiers", "retryd-loans-retry-", nil, true, nil, []string{"topic loans.retry.9: what is left in it cannot be told"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			topics := create(t, slices.DeleteFunc(enough(t), func(a kfake.ACL) bool {
				return a.Name == tt.resource && (tt.without == nil || slices.Contains(tt.without, a.Operation))
			}))
			problems, warnings := slices.Clone(topics.Problems), slices.Clone(topics.Warnings)
			for _, topic := range topics.Topics {
				problems, warnings = append(problems, topic.Problems...), append(warnings, topic.Warnings...)
			}
			requireBeginnings(t, "problems", tt.problems, problems)
			requireBeginnings(t, "warnings", tt.warnings, warnings)
			if topics.Stands() != tt.stands {
				t.Errorf("stands: %t", topics.Stands())
			}
		})
	}
}

func requireBeginnings(t *testing.T, what string, want, got []string) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: got %d, want %d: %q", what, len(got), len(want), got)
		return
	}
	for i, text := range got {
		if !strings.HasPrefix(text, want[i]) {
			t.Errorf("%s: got %q, want one that begins %q", what, text, want[i])
		}
	}
}

func TestDescribeTopicNamesTheGravestFirst(t *testing.T) {
	tests := []struct {
		name  string
		state kafka.TopicState
		want  State
	}{
		{"all well", kafka.TopicState{Warnings: []string{"w"}}, StateOK},
		{"problem", kafka.TopicState{Problems: []string{"p"}}, StateProblem},
		{"to grow", kafka.TopicState{Lacks: 1, Problems: []string{"p"}}, StateGrow},
		{"hidden", kafka.TopicState{Hidden: true, Problems: []string{"p"}}, StateHidden},
		{"missing", kafka.TopicState{Missing: true, Problems: []string{"p"}}, StateMissing},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := describeTopic(RoleTier, tt.state, 3)
			if got.State != tt.want {
				t.Errorf("got %s, want %s", got.State, tt.want)
			}
			if got.Problems == nil || got.Warnings == nil {
				t.Error("a list is null in JSON")
			}
			if stands := (Topics{Topics: []Topic{got}}).Stands(); stands != (tt.want == StateOK) {
				t.Errorf("stands: %t", stands)
			}
		})
	}
}

func TestRefusalsAreSaidOnce(t *testing.T) {
	topics := Topics{Topics: []Topic{{Problems: []string{"known"}}}}
	topics.addProblems([]string{"known", "refused"})
	if diff := cmp.Diff([]string{"refused"}, topics.Problems); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
	if topics.Stands() {
		t.Error("topics stand that Kafka refused to make")
	}
}

func TestRetiredTiersAreLabelledAsTheDaemonDoes(t *testing.T) {
	cfg := loadText(t, `
relays:
  - topic: loans
    endpoint: {url: "http://127.0.0.1/"}
    tiers: [{delay: 5s, topic: loans.soon}, 30s]
`)
	for topic, want := range map[string]string{"loans.retry.1": "retired-1", "loans.retry.3": "3"} {
		if got := retiredTier(cfg.Relays[0], topic); got != want {
			t.Errorf("%s: got %s, want %s", topic, got, want)
		}
	}
}
