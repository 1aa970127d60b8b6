// Package tier is the running chain of one relay: it consumes main and tiers, holds
// each record until it is due, attempts delivery, forwards what fails to the next
// topic, and commits what is complete.
//
// The way of a record: a claim (one partition) reads it into its window and gets its
// turn when it is due, a worker takes and attempts it and policy decides;
// then it is complete, or it is when the next topic has acknowledged it. The
// session (a membership of a group) commits the low watermarks of its claims.
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
	"github.com/retryd/retryd/internal/redact"
	"github.com/retryd/retryd/internal/status"
	"github.com/retryd/retryd/internal/window"
)

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
	Redact    redact.Config

	// Stop halts the relay of a group at once, and has that kept, where an answer of its
	// endpoint says so.
	Stop func(group string, h status.Halt)

	// Limiter keeps the relays' log lines few: an outage is told once for all of them.
	Limiter *logging.Limiter
	// Starts has room for as many as may reach for the cluster at a time, to prepare a
	// relay or to connect a member of a group; see enter. Fifty relays that start
	// together would otherwise open hundreds of connections at once.
	Starts chan struct{}
	Groups int // consumer groups of the process
}

// Relay is one relay. Make it with New, run it once with Run.
type Relay struct {
	deps     Deps
	cluster  *kafka.Cluster // set by Run
	config   Config
	schedule policy.Schedule
	rests    policy.Rests      // of schedule
	ids      []record.IDSource // where an event id is looked for
	codec    codec
	client   *forward.Client
	gate     *forward.Gate
	metrics  *metrics.Relay
	budget   *window.Part
	log      *zap.Logger
	hide     redact.Rules // for whatever shows a part of a record
	turns    *turns

	// recheck is recheckInterval; uniform places the jitter of a delay, and the first look,
	// in [0, 1), and is safe for concurrent use. Tests set both before Run.
	recheck time.Duration
	uniform func() float64

	routes  atomic.Pointer[routes] // replaced whenever the topics were looked at
	started bool                   // start was resolved; used by Run alone, like warned
	warned  []string               // warnings of the last plan

	halting     halting
	drained     chan struct{} // closed when nothing of it is in flight any more
	members     members
	troubles    troubles
	reach       reach
	isHalted    atomic.Bool  // as halting has it, for who may not wait for its lock
	pausedFor   policy.Fault // why delivery pauses, if so; the gate's lock guards it
	lastError   lastEvent
	deadLetters atomic.Pointer[int64] // in the dead-letter topic, as measured last; nil: not yet
	reviews     atomic.Pointer[int64] // in the review topic, likewise

	born     time.Time // pulses count from here
	working  []pulse   // of the workers
	watching pulse
	doubts   chan struct{} // asks for a look at the topics; see doubt
}

// New checks what only the machine can tell (files of secrets) and makes no
// connection. The configuration must be valid.
func New(c Config, d Deps) (*Relay, error) {
	schedule, errs := c.Schedule()
	if len(errs) > 0 {
		return nil, errs[0]
	}
	hide := d.Redact.Rules(c.EventIDHeaders)
	client, err := forward.New(c.Endpoint, c.Name, d.Version, hide)
	if err != nil {
		return nil, fmt.Errorf("endpoint.%w", err)
	}
	r := &Relay{
		deps: d, config: c, schedule: schedule, rests: schedule.Rests(), ids: record.ParseIDSources(c.EventIDHeaders), client: client, recheck: recheckInterval, uniform: rand.Float64,
		metrics: d.Metrics.Relay(c.Name, len(schedule.Steps), c.Endpoint.Rules...),
		budget:  d.Budget.Part(),
		log:     d.Log.With(zap.String(logging.FieldRelay, c.Name)),
		hide:    hide,
		turns:   newTurns(),
		drained: make(chan struct{}),
		doubts:  make(chan struct{}, 1),
		born:    time.Now(),
		working: make([]pulse, c.Endpoint.MaxInFlight),
	}
	r.reach.endpoint, r.reach.origin = display(c.Endpoint.URL)
	r.waits(kindTopics, c.Topic, errUnchecked)
	r.codec = newCodec(c, d.Version)
	r.gate = forward.NewGate(c.Endpoint, r.gateChanged, r.turns.wake)
	r.turns.gate = r.gate
	client.WatchCertificate(r.certificateRead)
	return r, nil
}

// Run consumes from cluster until ctx ends, then lets attempts and forwards in flight
// finish, commits and leaves the groups. abort gives up on what is in flight: it is
// not complete, so it is repeated by the next owner. Every error is logged, counted
// and shown by Status; none ends a relay.
//
// A look at the topics that waits for brokers that hang outlasts what is in flight: once
// Drained is closed, the caller may break cluster's connections.
func (r *Relay) Run(ctx, abort context.Context, cluster *kafka.Cluster) {
	r.cluster = cluster
	defer r.client.Close()
	r.log.Info("relay starts", zap.String("ordering", r.config.Ordering+": "+r.config.OrderingSentence()))
	drained := sync.OnceFunc(func() { close(r.drained) })
	defer drained()
	unprepared := context.AfterFunc(ctx, drained) // nothing is in flight before it is
	sources, ok := r.prepare(ctx)
	if !unprepared() || !ok {
		return
	}
	working, stopWorking := context.WithCancel(abort)
	defer stopWorking()
	context.AfterFunc(working, r.turns.end)
	var workers, consumers sync.WaitGroup
	for i := range r.working {
		workers.Go(func() { r.work(working, &r.working[i]) })
	}
	for _, c := range r.expect(sources) {
		consumers.Go(func() { c.run(ctx, abort) })
	}
	var watching sync.WaitGroup
	watching.Go(func() { r.watch(ctx) })
	consumers.Wait()
	stopWorking()
	workers.Wait()
	drained()
	watching.Wait()
}

// Drained is closed when Run is over but for a look at the topics.
func (r *Relay) Drained() <-chan struct{} { return r.drained }

// expect makes the consumers, before any of them runs. The relay is ready when they
// have joined their groups.
func (r *Relay) expect(sources []source) []*consumer {
	list := make([]*consumer, len(sources))
	for i, s := range sources {
		list[i] = r.newConsumer(s)
		r.waits(kindMember, s.group, errJoining)
	}
	r.members.expect(list)
	r.over(kindTopics, r.config.Topic)
	return list
}

// Name returns the relay's name.
func (r *Relay) Name() string { return r.config.Name }

// age is the relay's, by the monotonic clock.
func (r *Relay) age() time.Duration { return time.Since(r.born) }
