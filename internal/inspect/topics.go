package inspect

import (
	"errors"
	"slices"

	"github.com/retryd/retryd/internal/kafka"
	"github.com/retryd/retryd/internal/metrics"
	"github.com/retryd/retryd/internal/tier"
)

// Topics is what there is of one relay's topics, or of those that all relays share, held
// against what is needed.
type Topics struct {
	Relay    string   `json:"name"`     // empty: of all relays
	Topics   []Topic  `json:"topics"`   // main, the tiers, park topics, dead letters, review, quarantine topics, then retired tiers; of all relays: the control topic
	Changes  []Change `json:"changes"`  // what was done
	Problems []string `json:"problems"` // of no single topic: what Kafka refused to create
	Warnings []string `json:"warnings"` // of no single topic
}

// Topic is one topic of a relay.
type Topic struct {
	Name       string   `json:"topic"`
	Role       Role     `json:"role"`
	Tier       string   `json:"tier"`                   // main, the tier's number, or park-24h; empty where records end
	State      State    `json:"state"`                  // of a retired tier always ok
	Partitions int32    `json:"partition_count"`        // that there are; 0 if it is missing or hidden
	Wanted     int32    `json:"wanted_partition_count"` // as many as main has; 0 if that is not known, and of a retired tier
	Keeps      *Seconds `json:"keeps_seconds"`          // for which records must be kept at least; nil: for ever where records end and for control, else as you like
	Left       *int64   `json:"records_left"`           // of a retired tier: those that the group has not completed; nil if that is not known
	Deletable  bool     `json:"deletable"`              // a retired tier that holds nothing any more
	Problems   []string `json:"problems"`
	Warnings   []string `json:"warnings"`
}

// Role is what a relay uses a topic for.
type Role string

// The roles.
const (
	RoleMain       Role = "main"
	RoleTier       Role = "tier"
	RolePark       Role = "park"
	RoleDLT        Role = "dead_letter"
	RoleReview     Role = "review"
	RoleQuarantine Role = "quarantine" // a rule names it
	RoleRetired    Role = "retired"
	RoleControl    Role = "control" // of all relays
)

// Ends reports whether records end there: they are kept for ever.
func (r Role) Ends() bool { return r == RoleDLT || r == RoleReview || r == RoleQuarantine }

// State says what a topic lacks; the first that applies.
type State string

// The states.
const (
	StateOK      State = "ok"
	StateMissing State = "missing"
	StateHidden  State = "hidden" // it may not be looked at
	StateGrow    State = "grow"   // it has fewer partitions than main
	StateProblem State = "problem"
)

// Change is a topic that was created, where From is 0, or that got partitions.
type Change struct {
	Topic string `json:"topic"`
	From  int32  `json:"from_partition_count"`
	To    int32  `json:"to_partition_count"`
}

// Stands reports whether nothing is missing and nothing breaks a promise.
func (t Topics) Stands() bool {
	return len(t.Problems) == 0 && !slices.ContainsFunc(t.Topics, func(each Topic) bool { return each.State != StateOK })
}

// SurveyTopics looks at the topics of a relay and changes nothing. An error says
// that the cluster did not answer.
func SurveyTopics(cluster *kafka.Cluster, relay tier.Config) (Topics, error) {
	specs := relay.TopicSpecs()
	survey, err := cluster.Survey(relay.Topic, specs)
	if err != nil {
		return Topics{}, err
	}
	t := Topics{Relay: relay.Name, Changes: []Change{}, Problems: []string{}, Warnings: []string{}}
	main := survey.Main.Topic.Partitions
	t.Topics = append(t.Topics, describeTopic(RoleMain, survey.Main, main))
	t.Topics[0].Tier = metrics.TierMain
	retry, ends := relay.RetryTopics(), relay.DeadLetterTopics()
	for i, state := range survey.Topics {
		if i >= len(retry) {
			t.Topics = append(t.Topics, describeTopic(endRole(ends[i-len(retry)]), state, main))
			continue
		}
		described, keeps := describeTopic(RoleTier, state, main), Seconds(specs[i].Retention)
		described.Tier, described.Keeps = retry[i].Label, &keeps
		if retry[i].Park {
			described.Role = RolePark
		}
		t.Topics = append(t.Topics, described)
	}
	err = t.addRetired(cluster, relay)
	return t, err
}

// endRole is the role of a topic in which records end.
func endRole(t tier.DeadLetterTopic) Role {
	switch t.Label {
	case metrics.TargetReview:
		return RoleReview
	case metrics.TargetQuarantine:
		return RoleQuarantine
	}
	return RoleDLT
}

func describeTopic(role Role, s kafka.TopicState, main int32) Topic {
	t := Topic{
		Name: s.Topic.Name, Role: role, State: StateOK,
		Partitions: s.Topic.Partitions, Wanted: main,
		Problems: plain(s.Problems),
		Warnings: plain(s.Warnings),
	}
	switch {
	case s.Missing:
		t.State = StateMissing
	case s.Hidden:
		t.State = StateHidden
	case s.Lacks > 0:
		t.State = StateGrow
	case len(s.Problems) > 0:
		t.State = StateProblem
	}
	return t
}

// CreateTopics does what the start of the relay would do, and looks again. What Kafka
// refuses is among the problems.
func CreateTopics(cluster *kafka.Cluster, relay tier.Config) (Topics, error) {
	changes := []Change{}
	_, err := cluster.Plan(relay.Topic, relay.TopicSpecs(), true, func(c kafka.Change) {
		changes = append(changes, Change(c))
	})
	var refused *kafka.PlanError
	if err != nil && !errors.As(err, &refused) {
		return Topics{}, err
	}
	t, err := SurveyTopics(cluster, relay)
	t.Changes = changes
	if refused != nil && err == nil {
		t.addProblems(plain(refused.Problems))
	}
	return t, err
}

// addProblems adds what the survey did not find as well. Of a topic that is missing
// it says to create it; why Kafka refused that takes its place.
func (t *Topics) addProblems(problems []string) {
	for _, p := range problems {
		found := slices.ContainsFunc(t.Topics, func(each Topic) bool { return slices.Contains(each.Problems, p) })
		if !found {
			t.Problems = append(t.Problems, p)
		}
	}
}

// plain returns texts in which Kafka may speak, as Explain has them; no nil.
func plain(texts []string) []string {
	explained := make([]string, len(texts))
	for i, text := range texts {
		explained[i] = Explain(errors.New(text))
	}
	return explained
}
