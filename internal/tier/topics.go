package tier

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/IBM/sarama"
	"go.uber.org/zap"

	"github.com/retryd/retryd/internal/kafka"
	"github.com/retryd/retryd/internal/logging"
	"github.com/retryd/retryd/internal/metrics"
	"github.com/retryd/retryd/internal/policy"
)

// routes is where records can go, as the topics were when they were last looked at.
type routes struct {
	topics map[string]kafka.Topic // main, the tiers and the dead-letter topic
	tiers  []*target              // tier i at i-1
	dlt    *target
}

// target returns where a decision sends a record.
func (rt *routes) target(d policy.Decision) *target {
	if d.Action == policy.ActionForward {
		return rt.tiers[d.Step-1]
	}
	return rt.dlt
}

// source is one topic that a relay consumes.
type source struct {
	topic   string
	group   string
	label   string // main, or the tier's number
	step    int    // the attempts of a record without x-attempt: 0 on main, i in tier i
	least   time.Duration
	delay   time.Duration // of a record without x-not-before
	retired bool          // no longer configured, but still there
}

func (s source) main() bool { return s.step == 0 }

// writer writes a record and tells what came of it; see kafka.Target.
type writer interface {
	Send(m *sarama.ProducerMessage, done kafka.Done)
}

// target is one topic that records are written to.
type target struct {
	writer
	topic      string
	partitions int32
	dlt        bool
}

// prepare brings the topics into being, resolves where main starts and finds what to
// consume. It tries until that stands, or until ctx ends: then it returns false.
func (r *Relay) prepare(ctx context.Context) ([]source, bool) {
	for ctx.Err() == nil {
		sources, err := r.tryPrepare()
		if err == nil {
			r.status.clear()
			return sources, true
		}
		r.fault(err)
		sleep(ctx, r.patience(err))
	}
	return nil, false
}

func (r *Relay) tryPrepare() ([]source, error) {
	if err := r.plan(); err != nil {
		return nil, err
	}
	if err := r.resolveStart(); err != nil {
		return nil, err
	}
	return r.sources()
}

// patience is how long to wait after an error: a cluster that does not answer is
// asked again soon, somebody's mistake takes a person.
func (r *Relay) patience(err error) time.Duration {
	if isFault(err) {
		return r.recheck
	}
	return min(time.Second, r.recheck)
}

// isFault tells what a person has to mend from what the cluster will.
func isFault(err error) bool {
	var planned *kafka.PlanError
	return errors.As(err, &planned) || errors.Is(err, errStartNeeded)
}

// plan looks at the topics, creates what is missing, and replaces the routes.
func (r *Relay) plan() error {
	planned, err := r.cluster.Plan(r.config.Topic, r.specs(), r.deps.Topics.Create, r.topicChanged)
	if err != nil {
		return err
	}
	r.warnOnce(planned.Warnings)
	rt := &routes{topics: planned.Topics}
	for _, name := range r.config.TierTopics() {
		t, err := r.open(planned.Topics[name])
		if err != nil {
			return err
		}
		rt.tiers = append(rt.tiers, t)
	}
	if rt.dlt, err = r.open(planned.Topics[r.config.DLT.Topic]); err != nil {
		return err
	}
	rt.dlt.dlt = true
	r.routes.Store(rt)
	return nil
}

// topicChanged tells of a topic that was created or got partitions.
func (r *Relay) topicChanged(c kafka.Change) {
	topic, partitions := zap.String(logging.FieldTopic, c.Topic), zap.Int32("partitions", c.To)
	switch {
	case c.From > 0:
		r.log.Warn("topic grew with its main topic", topic, zap.Int32("from", c.From), partitions)
	case r.routes.Load() != nil:
		r.log.Warn("topic was missing and is created anew: what it held is gone", topic, partitions)
	default:
		r.log.Info("topic created", topic, partitions)
	}
}

// warnOnce logs the warnings that the plan before this one did not have.
func (r *Relay) warnOnce(warnings []string) {
	for _, w := range warnings {
		if !slices.Contains(r.warned, w) {
			r.log.Warn(w)
		}
	}
	r.warned = warnings
}

func (r *Relay) open(t kafka.Topic) (*target, error) {
	opened, err := r.deps.Producers.Target(t.Name, t.MaxMessageBytes)
	if err != nil {
		return nil, err
	}
	return &target{writer: opened, topic: t.Name, partitions: t.Partitions}, nil
}

// leastTierRetention is kept by every tier, however short its delay: it is the
// longest outage that a held record survives.
const leastTierRetention = 7 * 24 * time.Hour

func (r *Relay) specs() []kafka.TopicSpec {
	var specs []kafka.TopicSpec
	for i, name := range r.config.TierTopics() {
		specs = append(specs, kafka.TopicSpec{
			Name:      name,
			Retention: max(leastTierRetention, 3*r.schedule.Steps[i].Delay),
		})
	}
	return append(specs, kafka.TopicSpec{Name: r.config.DLT.Topic})
}

// sources lists the topics to consume: main, the tiers, and tiers of an earlier,
// longer schedule that still exist.
func (r *Relay) sources() ([]source, error) {
	var sources []source
	if r.config.Consume {
		sources = append(sources, source{topic: r.config.Topic, group: r.config.Group, label: metrics.TierMain})
	}
	for i, name := range r.config.TierTopics() {
		step := i + 1
		sources = append(sources, source{
			topic: name, group: r.config.TierGroup(name), label: strconv.Itoa(step), step: step,
			least: r.schedule.LeastDelay(step), delay: r.schedule.Steps[i].Delay,
		})
	}
	retired, err := r.retired()
	return append(sources, retired...), err
}

// retired finds topics named like tiers that are not, or no longer, those of the
// configured ones: of a longer schedule, or of a tier that was given a name of its
// own. Their records wait for what their headers say, and fail into the live
// schedule or the dead-letter topic.
func (r *Relay) retired() ([]source, error) {
	var sources []source
	var names []string
	inUse := r.routes.Load().topics
	for step := 1; step <= policy.MaxSteps; step++ {
		name := fmt.Sprintf("%s.retry.%d", r.config.Prefix, step)
		if _, live := inUse[name]; live || len(name) > kafka.MaxTopicName {
			continue
		}
		names = append(names, name)
		sources = append(sources, r.retiredSource(name, step))
	}
	found, err := r.cluster.Topics(names...)
	if err != nil {
		return nil, fmt.Errorf("look for retired tiers: %w", err)
	}
	sources = slices.DeleteFunc(sources, func(s source) bool {
		_, exists := found[s.topic]
		return !exists
	})
	for _, s := range sources {
		r.log.Info("topic of a tier that is not configured: it is consumed until it is deleted", zap.String(logging.FieldTopic, s.topic))
	}
	return sources, nil
}

// retiredSource is labelled by the tier's number, unless a configured tier has that:
// then it also has that tier's delay.
func (r *Relay) retiredSource(topic string, step int) source {
	s := source{topic: topic, group: r.config.TierGroup(topic), label: strconv.Itoa(step), step: step, retired: true}
	if step <= len(r.schedule.Steps) {
		s.label, s.delay = fmt.Sprintf("retired-%d", step), r.schedule.Steps[step-1].Delay
	}
	return s
}
