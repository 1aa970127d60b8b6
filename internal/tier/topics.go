package tier

import (
	"context"
	"errors"
	"slices"
	"sync"
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
	topics map[string]kafka.Topic // main, the retry topics and the dead-letter topics
	tiers  []*target              // tier i at i-1, behind them the park topics: place p at p-1
	dlt    *target
	apart  map[string]*target // by name: the dead-letter topics that Decision.DLT names
}

// target returns where a decision sends a record.
func (rt *routes) target(d policy.Decision) *target {
	switch d.Action {
	case policy.ActionForward:
		return rt.tiers[d.Step-1]
	case policy.ActionMove, policy.ActionRepark:
		return rt.tiers[d.Place-1]
	}
	if t := rt.apart[d.DLT]; t != nil {
		return t
	}
	return rt.dlt
}

// writer writes a record and tells what came of it; see kafka.Target.
type writer interface {
	Send(m *sarama.ProducerMessage, done kafka.Done)
}

// target is one topic that records are written to.
type target struct {
	writer
	topic      string
	label      string // in metrics
	partitions int32
	dlt        bool // the relay's dead-letter topic, which takes what does not fit elsewhere
}

// prepare brings the topics into being, resolves where main starts and finds what to
// consume. It tries until that stands, or until ctx ends: then it returns false.
func (r *Relay) prepare(ctx context.Context) ([]source, bool) {
	for {
		leave, ok := r.deps.enter(ctx)
		if !ok {
			return nil, false
		}
		sources, err := r.tryPrepare()
		leave()
		switch {
		case err == nil:
			return sources, true
		case ctx.Err() != nil:
			return nil, false
		}
		r.raise(kindTopics, r.config.Topic, err)
		sleep(ctx, r.patience(err))
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

// patience is how long to wait after a look at the topics. What is in order, or takes a
// person, is looked at again in a while; a cluster that does not answer, or does not
// know everywhere yet what was just created, is asked again soon.
func (r *Relay) patience(err error) time.Duration {
	var planned *kafka.PlanError
	if err == nil || errors.As(err, &planned) || errors.Is(err, errStartNeeded) || errors.Is(err, sarama.ErrGroupAuthorizationFailed) {
		return r.recheck
	}
	return min(time.Second, r.recheck)
}

// slotTime is how long a slot is kept at most: who waits for a broker that hangs does
// not hold up the others.
const slotTime = 10 * time.Second

// enter waits for one of the slots of those who reach for the cluster; leave gives it
// back, unless that took longer than slotTime. ok is false if ctx ends first.
func (d Deps) enter(ctx context.Context) (leave func(), ok bool) {
	if ctx.Err() != nil {
		return nil, false
	}
	select {
	case d.Starts <- struct{}{}:
	case <-ctx.Done():
		return nil, false
	}
	free := sync.OnceFunc(func() { <-d.Starts })
	late := time.AfterFunc(slotTime, free)
	return func() {
		late.Stop()
		free()
	}, true
}

// plan looks at the topics, creates what is missing, and replaces the routes.
func (r *Relay) plan() error {
	planned, err := r.cluster.Plan(r.config.Topic, r.config.TopicSpecs(), r.deps.Topics.Create, r.topicChanged)
	if err != nil {
		return err
	}
	r.warnOnce(planned.Warnings)
	rt := &routes{topics: planned.Topics, apart: map[string]*target{}}
	for _, retry := range r.config.RetryTopics() {
		t, err := r.open(planned.Topics[retry.Name], retry.Label)
		if err != nil {
			return err
		}
		rt.tiers = append(rt.tiers, t)
	}
	if err := r.openDeadLetters(rt); err != nil {
		return err
	}
	r.routes.Store(rt)
	return nil
}

// openDeadLetters adds the topics in which records end.
func (r *Relay) openDeadLetters(rt *routes) error {
	for _, dead := range r.config.DeadLetterTopics() {
		t, err := r.open(rt.topics[dead.Name], dead.Label)
		if err != nil {
			return err
		}
		if t.dlt = dead.Label == metrics.TargetDLT; t.dlt {
			rt.dlt = t
			continue
		}
		rt.apart[dead.Name] = t
	}
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

func (r *Relay) open(t kafka.Topic, label string) (*target, error) {
	opened, err := r.deps.Producers.Target(t.Name, t.MaxMessageBytes)
	if err != nil {
		return nil, err
	}
	if err := opened.Learn(t.Partitions); err != nil {
		return nil, err
	}
	return &target{writer: opened, topic: t.Name, label: label, partitions: t.Partitions}, nil
}
