package tier

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/IBM/sarama"
	"go.uber.org/zap"

	"github.com/retryd/retryd/internal/kafka"
	"github.com/retryd/retryd/internal/metrics"
	"github.com/retryd/retryd/internal/policy"
)

// routes is where records can go, as the topics were when they were last looked at.
type routes struct {
	topics map[string]kafka.Topic
	tiers  []*target // tier i at i-1
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

// prepare brings the topics into being and resolves where main starts. It tries
// until that stands, or until ctx ends: then it returns false.
func (r *Relay) prepare(ctx context.Context) bool {
	for {
		err := r.plan()
		if err == nil {
			err = r.resolveStart()
		}
		if err == nil {
			r.status.clear()
			return true
		}
		r.fault(err)
		select {
		case <-ctx.Done():
			return false
		case <-time.After(r.patience(err)):
		}
	}
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
	for _, w := range planned.Warnings {
		if n, ok := r.limiter.Allow(w, "", time.Now()); ok && n == 0 {
			r.log.Warn(w)
		}
	}
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
func (r *Relay) sources() []source {
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
	return append(sources, r.retired()...)
}

// retired finds tier topics beyond the last configured one. Their records wait for
// what their headers say, and fail into the live schedule or the dead-letter topic.
func (r *Relay) retired() []source {
	var names []string
	for step := len(r.schedule.Steps) + 1; step <= policy.MaxSteps; step++ {
		names = append(names, fmt.Sprintf("%s.retry.%d", r.config.Prefix, step))
	}
	if len(names) == 0 {
		return nil
	}
	found, err := r.cluster.Topics(names...)
	if err != nil {
		r.warn("looking for retired tiers", r.config.Prefix, err)
		return nil
	}
	var sources []source
	for i, name := range names {
		if _, exists := found[name]; !exists {
			continue
		}
		step := len(r.schedule.Steps) + 1 + i
		sources = append(sources, source{topic: name, group: r.config.TierGroup(name), label: strconv.Itoa(step), step: step})
		r.log.Info("tier topic is beyond the configured tiers: it is consumed until it is deleted", zap.String("topic", name))
	}
	return sources
}
