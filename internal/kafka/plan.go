package kafka

import (
	"errors"
	"fmt"
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
type PlanError struct{ Problems []string }

func (e *PlanError) Error() string { return strings.Join(e.Problems, "; ") }

// Plan brings the topics beside main into being, or only checks them if create is
// false. main is never created. New topics get main's partition count,
// replication factor and min.insync.replicas; changed is told of each change as it
// is made. Plan is idempotent; a *PlanError says what somebody has to mend, any
// other error that the cluster did not answer.
func (c *Cluster) Plan(main string, specs []TopicSpec, create bool, changed func(Change)) (Planned, error) {
	names := []string{main}
	for _, s := range specs {
		names = append(names, s.Name)
	}
	found, err := c.Topics(names...)
	if err != nil {
		return Planned{}, err
	}
	base, ok := found[main]
	if !ok {
		return Planned{}, mainMissing(main)
	}
	var problems []string
	for _, s := range specs {
		done, err := c.establish(base, s, found, create)
		var missing *PlanError
		switch {
		case errors.As(err, &missing):
			problems = append(problems, missing.Problems...)
		case err != nil:
			return Planned{}, err
		case done:
			changed(Change{Topic: s.Name, From: found[s.Name].Partitions, To: base.Partitions})
		}
	}
	if len(problems) > 0 {
		return Planned{}, &PlanError{problems}
	}
	return c.inspect(main, specs, names)
}

func mainMissing(main string) error {
	return &PlanError{[]string{fmt.Sprintf("main topic %s does not exist: create it, or correct the relay's topic; retryd never creates a main topic", main)}}
}

// establish creates one missing topic, or the partitions that a topic lacks
// because main grew; it reports whether it did, and no other instance before.
func (c *Cluster) establish(base Topic, s TopicSpec, found map[string]Topic, create bool) (bool, error) {
	have, exists := found[s.Name]
	switch {
	case !exists && !create:
		return false, &PlanError{[]string{fmt.Sprintf("topic %s does not exist: create it (partitions: %d), or set topics.create: true", s.Name, base.Partitions)}}
	case !exists:
		return c.createTopic(base, s)
	case have.Partitions < base.Partitions && !create:
		return false, &PlanError{[]string{fmt.Sprintf("topic %s has %d partitions, %s has %d: add partitions, or set topics.create: true", s.Name, have.Partitions, base.Name, base.Partitions)}}
	case have.Partitions < base.Partitions:
		return c.addPartitions(base, have)
	}
	return false, nil
}

// inspect reads the topics as they are now and holds them against the plan.
func (c *Cluster) inspect(main string, specs []TopicSpec, names []string) (Planned, error) {
	topics, err := c.Topics(names...)
	if err != nil {
		return Planned{}, err
	}
	configs, err := c.topicConfigs(names...)
	if err != nil {
		return Planned{}, err
	}
	for name, t := range topics {
		t.config = configs[name]
		t.MaxMessageBytes = messageBytes(t.config)
		topics[name] = t
	}
	if _, ok := topics[main]; !ok {
		return Planned{}, mainMissing(main)
	}
	p := Planned{Topics: topics}
	var problems []string
	for _, s := range specs {
		t, ok := topics[s.Name]
		if !ok {
			return Planned{}, fmt.Errorf("describe topic %s: %w", s.Name, ErrNoTopic)
		}
		bad, warn := judge(topics[main], t, s)
		problems, p.Warnings = append(problems, bad...), append(p.Warnings, warn...)
	}
	if len(problems) > 0 {
		return Planned{}, &PlanError{problems}
	}
	return p, nil
}
