package tier

import (
	"context"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/IBM/sarama"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/retryd/retryd/internal/forward"
	"github.com/retryd/retryd/internal/kafka"
	"github.com/retryd/retryd/internal/logging"
	"github.com/retryd/retryd/internal/metrics"
	"github.com/retryd/retryd/internal/policy"
	"github.com/retryd/retryd/internal/window"
)

// fakeGroup is as much of a consumer group as a claim uses.
type fakeGroup struct {
	sarama.ConsumerGroup
	mu     sync.Mutex
	paused bool
}

func (g *fakeGroup) Pause(map[string][]int32)  { g.set(true) }
func (g *fakeGroup) Resume(map[string][]int32) { g.set(false) }

func (g *fakeGroup) set(paused bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.paused = paused
}

func (g *fakeGroup) isPaused() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.paused
}

// membership is what the client library says of a member.
type membership struct {
	sarama.ConsumerGroupSession
	ctx        context.Context
	topic, id  string
	generation int32
	partitions []int32
	resets     map[int32]int64 // where the client was told to begin
}

func (m *membership) Context() context.Context   { return m.ctx }
func (m *membership) MemberID() string           { return m.id }
func (m *membership) GenerationID() int32        { return m.generation }
func (m *membership) Claims() map[string][]int32 { return map[string][]int32{m.topic: m.partitions} }

func (m *membership) ResetOffset(_ string, p int32, offset int64, _ string) {
	if m.resets == nil {
		m.resets = map[int32]int64{}
	}
	m.resets[p] = offset
}

// nobody is no member of a group, which may commit for partition 0 of a topic while the
// group has no members.
func nobody(topic string) *membership {
	return &membership{ctx: context.Background(), topic: topic, generation: -1, partitions: []int32{0}}
}

// rig is a claim of tier 1 that runs in fake time, with the test in the place of
// Kafka and of the workers.
type rig struct {
	*claim
	relay    *Relay
	group    *fakeGroup
	messages chan *sarama.ConsumerMessage
	revoke   context.CancelFunc
	ended    chan struct{}
	next     int64
	passes   map[*job]forward.Pass // of the workers that the test plays
}

const (
	rigTopic   = "orders.retry.1"
	rigSession = 40 * time.Second // half of it is the lease
	rigTimeout = 10 * time.Second // of the endpoint
)

func newRig(t *testing.T, src source, win window.Config) *rig {
	t.Helper()
	r := newStoppedRig(t, src, win)
	r.start()
	return r
}

// newStoppedRig is newRig before the claim runs.
func newStoppedRig(t *testing.T, src source, win window.Config) *rig {
	t.Helper()
	r := &Relay{
		deps: Deps{
			Kafka: kafka.Config{SessionTimeout: rigSession}, Window: win,
			Budget: window.NewBudget(1 << 20), Log: zap.NewNop(), Limiter: &logging.Limiter{},
		},
		config: Config{Topic: "orders", Group: "g", DLT: DLT{Topic: "orders.DLT"}},
		schedule: policy.Schedule{
			Steps:  []policy.Step{{Delay: time.Second}, {Delay: time.Second}, {Delay: time.Second}},
			Budget: time.Hour, Lifetime: time.Hour, LimitedAttempts: 3,
		},
		metrics: metrics.New(prometheus.NewRegistry(), "test").Relay("orders", 3),
		log:     zap.NewNop(),
		turns:   newTurns(),
		born:    time.Now(),
		working: make([]pulse, 1),
		uniform: rand.New(rand.NewPCG(1, 2)).Float64,
	}
	r.config.Endpoint = forward.DefaultConfig()
	r.config.Endpoint.Timeout = rigTimeout
	r.config.Endpoint.MaxInFlight = 10_000 // passes of workers that the test plays are not handed back
	r.gate = forward.NewGate(r.config.Endpoint, r.gateChanged, r.turns.wake)
	r.turns.gate = r.gate
	r.codec = newCodec(r.config, "test")
	r.budget = r.deps.Budget.Part()
	group := &fakeGroup{}
	consumer := r.newConsumer(src)
	consumer.group, consumer.abort = group, context.Background()
	s := &session{consumer: consumer, assignment: nobody(rigTopic), renew: make(chan struct{}, 1), acked: map[int32]position{}}
	s.sent.Store(new(time.Now()))
	c := newClaim(s, 0, 0)
	s.claims = map[int32]*claim{0: c}
	return &rig{claim: c, relay: r, group: group, messages: make(chan *sarama.ConsumerMessage), ended: make(chan struct{}), passes: map[*job]forward.Pass{}}
}

// low is the offset that would be committed.
func (r *rig) low() int64 {
	r.claim.mu.Lock()
	defer r.claim.mu.Unlock()
	return r.offsets.Low()
}

func (r *rig) start() {
	ctx, revoke := context.WithCancel(context.Background())
	r.revoke = revoke
	go func() {
		defer close(r.ended)
		r.claim.run(ctx, r.messages)
	}()
}

// startLeased is start with a commit writer that renews the lease whenever it is asked to.
func (r *rig) startLeased() {
	r.start()
	go func() {
		for {
			select {
			case <-r.session.renew:
				r.session.sent.Store(new(time.Now()))
				r.nudge()
			case <-r.ended:
				return
			}
		}
	}()
}

func tierRig(t *testing.T) *rig {
	return newRig(t, source{topic: rigTopic, label: "1", step: 1, delay: time.Second}, window.Config{Records: 100, Horizon: 5 * time.Second})
}

// stop revokes the claim and waits until it has let go.
func (r *rig) stop() {
	r.revoke()
	<-r.ended
}

// read lets the claim read one record that is due at a time.
func (r *rig) read(due time.Time, headers ...sarama.RecordHeader) int64 {
	offset := r.next
	r.next++
	r.messages <- message(offset, due, headers...)
	synctest.Wait()
	return offset
}

func message(offset int64, due time.Time, headers ...sarama.RecordHeader) *sarama.ConsumerMessage {
	notBefore := sarama.RecordHeader{Key: []byte("x-not-before"), Value: []byte(millis(due))}
	return &sarama.ConsumerMessage{
		Topic: rigTopic, Offset: offset, Timestamp: time.Now(),
		Headers: append([]*sarama.RecordHeader{&notBefore}, pointers(headers)...),
	}
}

func millis(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) }

func pointers(headers []sarama.RecordHeader) (list []*sarama.RecordHeader) {
	for i := range headers {
		list = append(list, &headers[i])
	}
	return list
}

// worker takes the next record, in place of a worker that is free now.
func (r *rig) worker() *job {
	type taken struct {
		j    *job
		pass forward.Pass
	}
	next := make(chan taken, 1)
	go func() {
		j, pass, _ := r.relay.turns.next()
		next <- taken{j, pass}
	}()
	select {
	case got := <-next:
		r.passes[got.j] = got.pass
		return got.j
	case <-time.After(10 * time.Minute):
		panic("no record was offered within ten minutes")
	}
}

// renewLease gives the claim the lease that it has asked for, as a commit does.
func (r *rig) renewLease(t *testing.T) {
	t.Helper()
	select {
	case <-r.session.renew:
	default:
		t.Fatal("no renewal was asked for")
	}
	r.session.sent.Store(new(time.Now()))
	r.nudge()
}

func (r *rig) hasATurn() bool {
	r.relay.turns.mu.Lock()
	defer r.relay.turns.mu.Unlock()
	return r.claim.hasTurn
}

// offered takes a record if one is offered now.
func (r *rig) offered() *job {
	synctest.Wait()
	for r.hasATurn() { // nothing moves, so nobody else takes it
		c, pass, _ := r.relay.turns.wait()
		if j, more := c.takeDue(); j != nil {
			if more {
				r.relay.turns.add(r.claim)
			}
			r.passes[j] = pass
			return j
		}
		r.relay.gate.Cancel(pass)
	}
	return nil
}
