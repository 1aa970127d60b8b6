package tier

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/retryd/retryd/internal/forward"
	"github.com/retryd/retryd/internal/kafka"
	"github.com/retryd/retryd/internal/metrics"
	"github.com/retryd/retryd/internal/policy"
	"github.com/retryd/retryd/internal/record"
)

// throttledRig is a claim of the main topic, with topics to write to.
func throttledRig(t *testing.T) (r *rig, tier1, dlt *fakeWriter) {
	t.Helper()
	r = mainRig(t)
	r.relay.config.Endpoint.Breaker.Enabled = false // what fails for good is final at once
	tier1, dlt = routed(r, nil, nil)
	return r, tier1, dlt
}

// throttled is what a worker does with a record for which the endpoint asks for time.
func (r *rig) throttled(j *job, ruling forward.Ruling, wait time.Duration) {
	o := policy.Outcome{Verdict: policy.VerdictOf(policy.ClassThrottled), Kind: policy.KindStatus, Status: http.StatusTooManyRequests, Wait: wait}
	r.relay.act(j, &attempted{outcome: o, ruling: ruling, outages: r.relay.gate.Outages(), at: time.Now()})
}

func TestThrottledRecordIsMovedToWhereItWaits(t *testing.T) {
	r, tier1, _ := throttledRig(t)
	defer r.stop()
	registry := prometheus.NewRegistry()
	r.relay.metrics = metrics.New(registry, "test").Relay("orders", 3)
	r.consumer.metrics = r.relay.metrics.Tier(metrics.TierMain)
	before := time.Now()
	r.throttled(r.readNow(t), forward.Judge, 0)
	if len(tier1.written()) != 1 || r.low() != 1 {
		t.Fatalf("%d records in the tier, watermark %d; want 1 and 1", len(tier1.written()), r.low())
	}
	m := tier1.written()[0]
	for name, want := range map[string]string{"x-attempt": "0", "x-class": "throttled", "x-status": "429", "x-limited": ""} {
		if got := header(m, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if trace := header(m, "x-trace"); !strings.Contains(trace, "~orders.retry.1@") || strings.Contains(trace, ">") {
		t.Errorf("x-trace %s, want a move without an attempt", trace)
	}
	if first := header(m, "x-first-failure-at"); first < millis(before) {
		t.Errorf("x-first-failure-at %q, want it set", first)
	}
	if due := header(m, "x-not-before"); due < millis(before.Add(time.Second)) || header(m, "x-late-ms") != "1000" {
		t.Errorf("x-not-before %s, x-late-ms %s; want a second that is not charged", due, header(m, "x-late-ms"))
	}
	for name, want := range map[string]float64{"retryd_throttled_records_total": 1, "retryd_escalations_total": 0, "retryd_reparks_total": 0} {
		if got := sample(t, registry, name, map[string]string{"tier": "main"}).GetCounter().GetValue(); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	held := map[string]string{"attempt": "1", "outcome": "held"}
	if got := sample(t, registry, "retryd_attempts_total", held).GetCounter().GetValue(); got != 1 {
		t.Errorf("%v first attempts are held, want 1", got)
	}
}

func TestThrottledRecordWaitsInItsWindowWithoutTiers(t *testing.T) {
	r, tier1, dlt := throttledRig(t)
	defer r.stop()
	r.relay.schedule.Steps = nil
	r.relay.schedule.Lifetime = time.Hour
	r.throttled(r.readNow(t), forward.Judge, 0)
	j := r.worker()
	if j.state.FirstFailure.IsZero() || j.state.NotBefore.IsZero() || j.state.Last.Status != 429 || j.state.Attempt != 0 || r.low() != 0 {
		t.Errorf("record %+v, watermark %d; want it held, and its first failure known", j.state, r.low())
	}
	first := j.state.FirstFailure
	r.throttled(j, forward.Judge, 0)
	if j = r.worker(); !j.state.FirstFailure.Equal(first) {
		t.Errorf("first failure %v, want it kept: %v", j.state.FirstFailure, first)
	}
	r.relay.schedule.Lifetime = time.Nanosecond // its end
	r.throttled(j, forward.Judge, 0)
	if len(tier1.written()) != 0 || len(dlt.written()) != 1 || header(dlt.written()[0], "x-reason") != "lifetime" || header(dlt.written()[0], "x-attempt") != "0" {
		t.Errorf("dead letters %v, want one with x-reason lifetime", dlt.written())
	}
}

func TestThrottledRecordTooLargeForItsTierWaitsWhereItIs(t *testing.T) {
	r, _, _ := throttledRig(t)
	defer r.stop()
	tier1, dlt := routed(r, []error{kafka.ErrTooLarge}, nil)
	r.relay.schedule.Steps = []policy.Step{{Delay: 50 * time.Millisecond}}
	before := time.Now()
	r.throttled(r.readNow(t), forward.Judge, 0)
	j := r.worker()
	if due := time.UnixMilli(j.due); j.move != nil || due.Before(before.Add(50*time.Millisecond)) || len(tier1.written()) != 1 || len(dlt.written()) != 0 {
		t.Errorf("due at %v, move %v, %d dead letters; want it held for 50 ms from %v", due, j.move, len(dlt.written()), before)
	}
	if strings.ContainsAny(j.state.Trace.String(), "~>") || r.moving != 0 {
		t.Errorf("x-trace %s, %d moving; want no move", j.state.Trace, r.moving)
	}
	r.complete(j)
}

// TestHoldingAddsNoLateness: each probe of an endpoint at fault is late, the record was
// judged in none.
func TestHoldingAddsNoLateness(t *testing.T) {
	r := tierRig(t)
	defer r.stop()
	j := r.readNow(t)
	before := j.state
	for _, ruling := range []forward.Ruling{forward.Judge, forward.Hold} {
		r.relay.act(j, &attempted{outcome: policy.Outcome{Verdict: policy.VerdictOf(policy.ClassEndpoint)}, ruling: ruling, late: time.Hour, outages: r.relay.gate.Outages(), at: time.Now()})
		if j = r.worker(); j.state != before {
			t.Errorf("ruling %d: state %+v, want it unchanged: %+v", ruling, j.state, before)
		}
	}
	r.complete(j)
}

// TestThrottledRecordWaitsThoughNothingIsJudged: as a probe, or while the pause that
// another one began is on. But no outage ends it.
func TestThrottledRecordWaitsThoughNothingIsJudged(t *testing.T) {
	r, tier1, dlt := throttledRig(t)
	defer r.stop()
	r.relay.schedule.Lifetime = time.Hour
	before := time.Now()
	r.throttled(r.readNow(t), forward.Hold, time.Minute)
	if len(tier1.written()) != 1 || header(tier1.written()[0], "x-not-before") < millis(before.Add(time.Minute)) {
		t.Errorf("%d records in the tier, want one that waits for a minute", len(tier1.written()))
	}
	j := r.readNow(t)
	j.state.FirstFailure = before.Add(-time.Hour)
	state := j.state
	r.throttled(j, forward.Hold, time.Minute)
	if again := r.worker(); again != j || j.state != state || len(dlt.written()) != 0 {
		t.Errorf("record %+v, %d dead letters; want it held as it was", j.state, len(dlt.written()))
	}
	r.complete(j)
}

// TestMoveCountsAsMoving: an attempt hangs on it, unlike on a re-park.
func TestMoveCountsAsMoving(t *testing.T) {
	r, _, _ := throttledRig(t)
	defer r.stop()
	slow := &slowWriter{}
	to := &target{writer: slow, topic: "orders.retry.1", partitions: 1}
	r.relay.routes.Store(&routes{tiers: []*target{to, to, to}, dlt: to})
	r.throttled(r.readNow(t), forward.Judge, 0)
	r.mu.Lock()
	moving, reparking := r.moving, r.reparking
	r.mu.Unlock()
	if moving != 1 || reparking != 0 || r.low() != 0 {
		t.Errorf("%d moving, %d re-parking, watermark %d; want 1, 0, 0", moving, reparking, r.low())
	}
	slow.done(0, nil)
	if r.low() != 1 {
		t.Error("not complete though it is acknowledged")
	}
}

func TestClockThatIsSetBackShortensNoThrottledWait(t *testing.T) {
	r := newStoppedRig(t, source{topic: rigTopic, label: metrics.TierMain}, windowOf(100))
	j := r.holds(0)
	r.window.Pop()
	r.note(j)
	now := time.Now()
	d := policy.Decision{Action: policy.ActionHold, NotBefore: now.Add(time.Hour).Truncate(time.Millisecond)}
	r.relay.hold(j, record.State{}, &attempted{outcome: policy.Outcome{Verdict: policy.VerdictOf(policy.ClassThrottled)}, at: now}, d)
	r.clock = now.Add(time.Minute).UnixMilli()
	r.noticeClockStep(now)
	if due, _, _ := r.window.Top(); due != d.NotBefore.UnixMilli() {
		t.Errorf("due at %v, want %v", time.UnixMilli(due), d.NotBefore)
	}
}

func TestWaitTravelsToTheMillisecond(t *testing.T) {
	r, tier1, _ := throttledRig(t)
	defer r.stop()
	const wait = 90*time.Second + 7*time.Millisecond
	r.throttled(r.readNow(t), forward.Judge, wait)
	o := policy.Outcome{Verdict: policy.VerdictOf(policy.ClassTransient), Wait: wait}
	r.relay.act(r.readNow(t), &attempted{outcome: o, ruling: forward.Judge, outages: r.relay.gate.Outages(), at: time.Now()})
	late := []string{"90007", "89007"} // all of it, and what it adds to the tier's second
	for i, m := range tier1.written() {
		if due := header(m, "x-not-before"); due != millis(m.Timestamp.Add(wait+time.Millisecond-1)) || header(m, "x-late-ms") != late[i] {
			t.Errorf("written at %v: x-not-before %s, x-late-ms %s; want %v later, and %s", m.Timestamp, due, header(m, "x-late-ms"), wait, late[i])
		}
	}
	if len(tier1.written()) != 2 {
		t.Errorf("%d records in the tier, want 2", len(tier1.written()))
	}
}
