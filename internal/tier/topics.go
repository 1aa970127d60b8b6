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
	for {
		sources, err := r.tryPrepare()
		if err == nil {
			r.status.clear()
			return sources, true
		}
		r.fault(err)
		select {
		case <-ctx.Done():
			return nil, false
		case <-time.After(r.patience(err)):
		}
	}
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
	planned, err := r.cluster.Plan(r.config.Topic, r.specs(), r.Topics.Create)
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
	opened, err := r.Producers.Target(t.Name, t.MaxMessageBytes)
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

// retired finds tier topics beyond the last configured one. Their records wait for
// what their headers say, and fail into the live schedule or the dead-letter topic.
func (r *Relay) retired() ([]source, error) {
	var sources []source
	var names []string
	inUse := r.routes.Load().topics
	for step := len(r.schedule.Steps) + 1; step <= policy.MaxSteps; step++ {
		name := fmt.Sprintf("%s.retry.%d", r.config.Prefix, step)
		if _, live := inUse[name]; live {
			continue // a custom name of something else
		}
		names = append(names, name)
		sources = append(sources, source{topic: name, group: r.config.TierGroup(name), label: strconv.Itoa(step), step: step})
	}
	if len(names) == 0 {
		return nil, nil
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
		r.log.Info("tier topic is beyond the configured tiers: it is consumed until it is deleted", zap.String(logging.FieldTopic, s.topic))
	}
	return sources, nil
}
