package kafka

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// TopicSpec is one topic that a plan wants beside its main topic.
type TopicSpec struct {
	Name string
	// Retention is the least time for which records must be kept; 0 means for
	// ever, which an existing topic need not grant: it gets a warning.
	Retention time.Duration
}

// Planned is the outcome of a plan.
type Planned struct {
	Topics   map[string]Topic // main and every spec
	Warnings []string         // what works, but not as well as it could
}

// Change is something that a plan did to a topic.
type Change struct {
	Topic    string
	From, To int32 // partitions; From is 0 for a topic that was created
}

// PlanError lists everything that keeps a plan from standing. Each problem names
// topic, value and fix.
type PlanError struct {
	Problems []string
	missing  bool // some of its topics do not exist
}

func (e *PlanError) Error() string { return strings.Join(e.Problems, "; ") }

// Is has NoTopic hold for an error about topics that do not exist.
func (e *PlanError) Is(target error) bool { return e.missing && target == ErrNoTopic }

// Plan brings the topics beside main into being, or only checks them if create is
// false. main is never created. New topics get main's partition count,
// replication factor and min.insync.replicas; changed is told of each change as it
// is made. Plan is idempotent; a *PlanError says what somebody has to mend, and NoTopic
// holds for it if a topic does not exist. Any other error says that the cluster did not
// answer.
func (c *Cluster) Plan(main string, specs []TopicSpec, create bool, changed func(Change)) (Planned, error) {
	s, err := c.Survey(main, specs)
	if err != nil {
		return Planned{}, err
	}
	if len(s.Main.Problems) == 0 && slices.ContainsFunc(s.Topics, TopicState.incomplete) {
		if err := c.establish(s, specs, create, changed); err != nil {
			return Planned{}, err
		}
		if s, err = c.Survey(main, specs); err != nil {
			return Planned{}, err
		}
	}
	return s.planned()
}

// planned is the plan, if it stands: nothing is to be created any more.
func (s Survey) planned() (Planned, error) {
	main := s.Main.Topic
	if len(s.Main.Problems) > 0 {
		return Planned{}, &PlanError{s.Main.Problems, s.Main.Missing}
	}
	p := Planned{Topics: map[string]Topic{main.Name: main}}
	var problems []string
	for _, t := range s.Topics {
		switch {
		case t.Missing:
			return Planned{}, fmt.Errorf("describe topic %s: %w", t.Topic.Name, ErrNoTopic)
		case t.Lacks > 0:
			return Planned{}, fmt.Errorf("topic %s has %d partitions and main topic %s already %d", t.Topic.Name, t.Topic.Partitions, main.Name, main.Partitions)
		}
		p.Topics[t.Topic.Name] = t.Topic
		problems, p.Warnings = append(problems, t.Problems...), append(p.Warnings, t.Warnings...)
	}
	if len(problems) > 0 {
		return Planned{}, &PlanError{Problems: problems}
	}
	return p, nil
}

// establish creates what a survey found missing, and the partitions that topics
// lack because main grew. It tells of what it did itself: another instance may
// have been faster.
func (c *Cluster) establish(s Survey, specs []TopicSpec, create bool, changed func(Change)) error {
	var problems []string
	missing := false
	for i, t := range s.Topics {
		if !t.incomplete() {
			continue
		}
		done, err := c.establishTopic(s.Main.Topic, t, specs[i], create)
		var planned *PlanError
		switch {
		case errors.As(err, &planned):
			problems, missing = append(problems, planned.Problems...), missing || t.Missing
		case err != nil:
			return err
		case done:
			changed(Change{Topic: t.Topic.Name, From: t.Topic.Partitions, To: s.Main.Topic.Partitions})
		}
	}
	if len(problems) > 0 {
		return &PlanError{problems, missing}
	}
	return nil
}

func (c *Cluster) establishTopic(base Topic, t TopicState, s TopicSpec, create bool) (done bool, err error) {
	switch {
	case t.Missing && !create:
		return false, &PlanError{Problems: []string{fmt.Sprintf("topic %s does not exist: create it (partitions: %d), or set topics.create: true", s.Name, base.Partitions)}}
	case t.Missing:
		return c.createTopic(base, s)
	case !create:
		return false, &PlanError{Problems: []string{fmt.Sprintf("topic %s has %d partitions, %s has %d: add partitions, or set topics.create: true", s.Name, t.Topic.Partitions, base.Name, base.Partitions)}}
	default:
		return c.addPartitions(base, t.Topic)
	}
}
