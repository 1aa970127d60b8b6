// Package tier is the running chain of one relay: it consumes main and tiers, holds
// each record until it is due, attempts delivery, forwards what fails to the next
// topic, and commits what is complete.
//
// The way of a record: a claim (one partition) reads it into its window, offers it
// to the relay's workers when it is due, a worker attempts it and policy decides;
// then it is complete, or it is when the next topic has acknowledged it. The
// session (one generation of a group) commits the low watermarks of its claims.
//
// What fails is never skipped: a record is complete only when the endpoint accepted
// it or another topic has it. What is not complete at a stop or a revoke is read
// again by the next owner.
package tier

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/retryd/retryd/internal/forward"
	"github.com/retryd/retryd/internal/kafka"
	"github.com/retryd/retryd/internal/logging"
	"github.com/retryd/retryd/internal/metrics"
	"github.com/retryd/retryd/internal/policy"
	"github.com/retryd/retryd/internal/record"
	"github.com/retryd/retryd/internal/window"
)

// recheckInterval is how often a relay looks at its topics: for a fault that was mended,
// for partitions that were added and for topics that were made anew.
const recheckInterval = 30 * time.Second

// Deps is what the relays of one process share.
type Deps struct {
	Kafka     kafka.Config
	Topics    kafka.TopicsConfig
	Window    window.Config
	Producers *kafka.Producers
	Budget    *window.Budget
	Metrics   *metrics.Metrics
	Log       *zap.Logger
	Version   string
}

// Relay is one relay. Make it with New, run it once with Run.
type Relay struct {
	deps     Deps
	cluster  *kafka.Cluster // set by Run
	config   Config
	schedule policy.Schedule
	codec    codec
	client   *forward.Client
	gate     *forward.Gate
	metrics  *metrics.Relay
	log      *zap.Logger
	limiter  logging.Limiter
	jobs     chan *job // unbuffered: a record leaves its window only when a worker is free

	// recheck is recheckInterval, and uniform places the jitter, in [0, 1). Tests shorten the
	// one and seed the other, before Run.
	recheck time.Duration
	uniform func() float64

	routes  atomic.Pointer[routes] // replaced whenever the topics were looked at
	started bool                   // start was resolved; used by Run alone, like warned
	warned  []string               // warnings of the last plan
	status  status
}

// New checks what only the machine can tell (files of secrets) and makes no
// connection. The configuration must be valid.
func New(c Config, d Deps) (*Relay, error) {
	schedule, errs := c.Schedule()
	if len(errs) > 0 {
		return nil, errs[0]
	}
	client, err := forward.New(c.Endpoint, c.Name, d.Version)
	if err != nil {
		return nil, fmt.Errorf("endpoint.%w", err)
	}
	r := &Relay{
		deps: d, config: c, schedule: schedule, client: client, recheck: recheckInterval, uniform: rand.Float64,
		metrics: d.Metrics.Relay(c.Name),
		log:     d.Log.With(zap.String(logging.FieldRelay, c.Name)),
		jobs:    make(chan *job),
	}
	r.codec = newCodec(c, d.Version)
	r.gate = forward.NewGate(r.paused)
	return r, nil
}

// Run consumes from cluster until ctx ends, then lets attempts and forwards in flight
// finish, commits and leaves the groups. abort gives up on what is in flight: it is
// not complete, so it is repeated by the next owner. Every error is logged, counted
// and shown by Problem; none ends a relay.
func (r *Relay) Run(ctx, abort context.Context, cluster *kafka.Cluster) {
	r.cluster = cluster
	defer r.client.Close()
	sources, ok := r.prepare(ctx)
	if !ok {
		return
	}
	working, stopWorking := context.WithCancel(abort)
	defer stopWorking()
	var workers, consumers sync.WaitGroup
	for range r.config.Endpoint.MaxInFlight {
		workers.Go(func() { r.work(working) })
	}
	members := make([]*consumer, len(sources))
	for i, s := range sources {
		members[i] = r.newConsumer(s)
	}
	r.status.expect(members)
	for _, c := range members {
		consumers.Go(func() { c.run(ctx, abort) })
	}
	r.watch(ctx)
	consumers.Wait()
	stopWorking()
	workers.Wait()
}

// Problem returns what keeps the relay from being ready, or "". fault says that
// the relay itself is at fault (a topic, a missing start), not the cluster's
// reachability or a group that is still joining.
func (r *Relay) Problem() (text string, fault bool) { return r.status.problem() }

// reportReady tells, where it changed, whether the relay is ready.
func (r *Relay) reportReady() {
	if becameReady := r.status.report(r.metrics.Ready); becameReady {
		r.log.Info("relay is ready")
	}
}

// Name returns the relay's name.
func (r *Relay) Name() string { return r.config.Name }

// watch looks at the topics again until ctx ends, and passes on what changed.
func (r *Relay) watch(ctx context.Context) {
	recheck := time.NewTicker(r.recheck)
	defer recheck.Stop()
	lag := time.NewTicker(lagInterval)
	defer lag.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-recheck.C:
			if err := r.plan(); err != nil {
				r.fault(err)
			} else {
				r.status.clear()
				r.reportReady()
			}
			r.checkTopics()
		case <-lag.C:
			r.measureLag()
		}
	}
}

// checkTopics tells the consumers what became of their topics, whatever the plan
// says of them.
func (r *Relay) checkTopics() {
	var names []string
	r.status.each(func(c *consumer) { names = append(names, c.source.topic) })
	found, err := r.cluster.Topics(names...)
	if err != nil {
		r.warn("cannot look at the topics", r.config.Topic, err)
		return
	}
	r.status.each(func(c *consumer) { c.checkTopic(found) })
}

// paused reports the gate's state: for how long the endpoint is left alone and why,
// 0 when delivery goes on.
func (r *Relay) paused(d time.Duration, cause policy.Class) {
	r.metrics.EndpointPaused(d > 0)
	pause := zap.Duration("pause", d)
	switch {
	case d == 0:
		r.log.Info("delivery goes on after the pause")
	case cause == policy.ClassThrottled:
		r.log.Warn("delivery pauses and no attempt is spent: the endpoint asks for fewer requests (429)", pause)
	default:
		r.log.Warn("delivery pauses and no attempt is spent: an attempt of class endpoint says that the endpoint or its configuration is wrong, not the record", pause)
	}
}

// warn logs a failure that may repeat, at most once in a while per topic.
func (r *Relay) warn(message, topic string, err error) {
	if n, ok := r.limiter.Allow(message, topic, time.Now()); ok {
		r.log.Warn(message, zap.String(logging.FieldTopic, topic), zap.String(logging.FieldError, kafka.Explain(err)), logging.Suppressed(n))
	}
}

// fault makes the relay's own trouble known.
func (r *Relay) fault(err error) {
	r.status.set(err)
	r.reportReady()
	r.warn("relay is not ready", r.config.Topic, err)
}

// job is a record on its way through one claim.
type job struct {
	claim  *claim
	record record.Record
	state  record.State
	due    int64 // epoch ms; when it may be let out
	size   int64 // bytes charged to the window
	move   *move // what is decided but not yet acknowledged; nil: the record is to be attempted
}

// notBefore returns the epoch milliseconds before which a record is not delivered; 0
// if nothing says so, or once it was judged.
func (j *job) notBefore() int64 {
	if j.state.NotBefore.IsZero() || j.move != nil {
		return 0
	}
	return j.state.NotBefore.UnixMilli()
}
