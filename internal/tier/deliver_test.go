package tier

import (
	"context"
	"net/http"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/retryd/retryd/internal/forward"
	"github.com/retryd/retryd/internal/kafka"
	"github.com/retryd/retryd/internal/metrics"
	"github.com/retryd/retryd/internal/policy"
	"github.com/retryd/retryd/internal/redact"
	"github.com/retryd/retryd/test/harness"
)

// withEndpoint gives a rig an endpoint, so that the test can be its worker.
func withEndpoint(t *testing.T, r *rig, plan harness.Plan) *harness.Endpoint {
	t.Helper()
	endpoint := harness.StartEndpoint(t, plan)
	c := forward.DefaultConfig()
	c.URL = endpoint.URL("/")
	client, err := forward.New(c, "orders", "test", redact.Rules{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	r.relay.client = client
	return endpoint
}

// readNow lets the claim read one record that is due, outside of fake time.
func (r *rig) readNow(t *testing.T) *job {
	t.Helper()
	r.messages <- message(r.next, time.Now())
	r.next++
	return r.worker()
}

func TestEndpointAtFaultSpendsNoAttempt(t *testing.T) {
	r := tierRig(t)
	defer r.stop()
	endpoint := withEndpoint(t, r, func(harness.Request) harness.Answer { return harness.Answer{Status: http.StatusUnauthorized} })
	j := r.readNow(t)
	r.handle(t, j)
	again := r.worker() // it is back in its window
	if again != j || j.state.Attempt != 1 || j.move != nil || r.low() != 0 {
		t.Errorf("after a 401: attempt %d, decided %v, watermark %d; want 1, nothing, 0", j.state.Attempt, j.move, r.low())
	}
	if requests, _ := endpoint.Counts(); requests != 1 || !r.relay.gate.Open() {
		t.Errorf("%d requests, breaker open %v; want one that opens it", requests, r.relay.gate.Open())
	}
	r.complete(again)
}

func TestPassOfAnOpenGateIsNoGoodOnceItCloses(t *testing.T) {
	r := tierRig(t)
	defer r.stop()
	endpoint := withEndpoint(t, r, nil)
	j := r.readNow(t)
	other, _, _ := r.relay.gate.TryEnter(time.Now(), [2]bool{true, true})
	r.relay.gate.Leave(other, forward.Call{Refusals: new(forward.Refusals)}, &policy.Outcome{Verdict: policy.VerdictOf(policy.ClassEndpoint)}, time.Now())
	r.handle(t, j)
	if requests, _ := endpoint.Counts(); requests != 0 {
		t.Errorf("%d requests while the endpoint is left alone", requests)
	}
	r.complete(r.worker())
}

func TestRecordIsLookedAtAgainBeforeItsAttempt(t *testing.T) {
	r := tierRig(t)
	defer r.stop()
	endpoint := withEndpoint(t, r, nil)
	j := r.readNow(t)
	j.due = time.Now().Add(time.Second).UnixMilli() // the clock was set back since it was offered
	r.handle(t, j)
	if requests, _ := endpoint.Counts(); requests != 0 {
		t.Errorf("%d requests before the record is due", requests)
	}
	r.complete(r.worker())
}

func TestAttemptThatRetrydCutsOffIsNotJudged(t *testing.T) {
	r := tierRig(t)
	defer r.stop()
	withEndpoint(t, r, func(harness.Request) harness.Answer { return harness.Answer{Hang: true} })
	j := r.readNow(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r.relay.handle(ctx, j, r.passes[j])
	if again := r.worker(); again != j || j.move != nil {
		t.Errorf("decided %v, want nothing", j.move)
	}
	r.complete(j)
}

func TestExpiredRecordIsDeadLetteredWithoutAnAttempt(t *testing.T) {
	r := tierRig(t)
	defer r.stop()
	endpoint := withEndpoint(t, r, nil)
	_, dlt := routed(r, nil, nil)
	r.relay.schedule.ExpireAfter = time.Millisecond
	j := r.readNow(t)
	j.state.Origin.Timestamp = time.Now().Add(-time.Second)
	r.handle(t, j)
	if requests, _ := endpoint.Counts(); requests != 0 {
		t.Errorf("%d requests for a record that expired", requests)
	}
	if len(dlt.written()) != 1 || header(dlt.written()[0], "x-reason") != "expired" || header(dlt.written()[0], "x-attempt") != "1" {
		t.Errorf("dead letters %v, want one with x-reason expired and x-attempt 1", dlt.written())
	}
	if low := r.low(); low != 1 {
		t.Errorf("watermark %d, want 1", low)
	}
}

func TestExpiredRecordIsProbedWithInAnOutage(t *testing.T) {
	r := tierRig(t)
	defer r.stop()
	endpoint := withEndpoint(t, r, func(harness.Request) harness.Answer { return harness.Answer{Status: http.StatusServiceUnavailable} })
	_, dlt := routed(r, nil, nil)
	r.relay.schedule.ExpireAfter = time.Millisecond
	j := r.readNow(t)
	j.state.Origin.Timestamp = time.Now().Add(-time.Second)
	outage(r)
	r.claim.giveBack(j, time.Now())
	r.handle(t, r.worker()) // the probe
	if requests, _ := endpoint.Counts(); requests != 1 || len(dlt.written()) != 0 {
		t.Errorf("%d requests, %d dead letters; want one probe: nothing expires while delivery pauses", requests, len(dlt.written()))
	}
}

func TestLatenessTravelsWithTheRecord(t *testing.T) {
	r := tierRig(t)
	defer r.stop()
	withEndpoint(t, r, func(harness.Request) harness.Answer { return harness.Answer{Status: http.StatusServiceUnavailable} })
	tier1, _ := routed(r, nil, nil)
	j := r.readNow(t)
	j.state.NotBefore = j.state.NotBefore.Add(-time.Minute)
	j.state.Late = time.Hour
	r.handle(t, j)
	late, err := strconv.Atoi(header(tier1.written()[0], "x-late-ms"))
	if hopeful := int((time.Hour + time.Minute).Milliseconds()); err != nil || late < hopeful {
		t.Errorf("x-late-ms %d (%v), want %d or more: this attempt's lateness is added to the earlier ones'", late, err, hopeful)
	}
}

func TestNothingIsAttemptedWithoutALease(t *testing.T) {
	r := tierRig(t)
	defer r.stop()
	endpoint := withEndpoint(t, r, nil)
	j := r.readNow(t)
	r.session.sent.Store(nil) // it ended between the offer and the attempt
	r.handle(t, j)
	if requests, _ := endpoint.Counts(); requests != 0 {
		t.Errorf("%d requests without a lease", requests)
	}
	r.session.sent.Store(new(time.Now()))
	r.nudge()
	r.complete(r.worker())
}

func TestRecordIsCompleteOnlyWhenTheNextTopicHasIt(t *testing.T) {
	r := tierRig(t)
	defer r.stop()
	withEndpoint(t, r, func(harness.Request) harness.Answer { return harness.Answer{Status: http.StatusServiceUnavailable} })
	slow := &slowWriter{}
	to := &target{writer: slow, topic: "orders.retry.2", partitions: 1}
	r.relay.routes.Store(&routes{tiers: []*target{to, to, to}, dlt: to})
	r.handle(t, r.readNow(t))
	if low := r.low(); low != 0 {
		t.Errorf("watermark %d before the acknowledgement, want 0", low)
	}
	slow.done(0, nil)
	if low := r.low(); low != 1 {
		t.Errorf("watermark %d after the acknowledgement, want 1", low)
	}
}

// slowWriter acknowledges when the test does.
type slowWriter struct{ done kafka.Done }

func (w *slowWriter) Send(_ *sarama.ProducerMessage, done kafka.Done) { w.done = done }

// handle is what a worker does with a record that it was given.
func (r *rig) handle(t *testing.T, j *job) {
	t.Helper()
	r.relay.handle(t.Context(), j, r.passes[j])
}

func TestAttemptIsCountedByItsNumber(t *testing.T) {
	r := tierRig(t)
	defer r.stop()
	registry := prometheus.NewRegistry()
	r.relay.metrics = metrics.New(registry, "test").Relay("orders", 3)
	r.consumer.metrics = r.relay.metrics.Tier("1")
	var status atomic.Int64
	withEndpoint(t, r, func(harness.Request) harness.Answer { return harness.Answer{Status: int(status.Load())} })
	routed(r, nil, nil)
	for _, answer := range []int{http.StatusOK, http.StatusServiceUnavailable, http.StatusUnauthorized} {
		status.Store(int64(answer))
		r.handle(t, r.readNow(t))
	}
	for outcome, want := range map[string]float64{"held": 1, "failed": 1, "delivered": 1} {
		if got := sample(t, registry, "retryd_attempts_total", map[string]string{"attempt": "2", "outcome": outcome}).GetCounter().GetValue(); got != want {
			t.Errorf("%v second attempts %s, want %v", got, outcome, want)
		}
	}
	if n := sample(t, registry, "retryd_end_to_end_seconds", nil).GetHistogram().GetSampleCount(); n != 1 {
		t.Errorf("%d records measured end to end, want the one that was delivered", n)
	}
	if e := r.consumer.lastError.get(); e == nil || e.Text != "orders.retry.1/0 offset 2, attempt 2: status 401" {
		t.Errorf("last error %v", e)
	}
}

func TestWhatAnAnswerShowsBesidesItsResultIsCounted(t *testing.T) {
	r := tierRig(t)
	defer r.stop()
	registry := prometheus.NewRegistry()
	r.relay.metrics = metrics.New(registry, "test").Relay("orders", 3)
	withEndpoint(t, r, func(harness.Request) harness.Answer {
		return harness.Answer{Status: http.StatusInternalServerError, Header: http.Header{"Retry-After": {"-1"}}}
	})
	routed(r, nil, nil)
	r.handle(t, r.readNow(t))
	if n := sample(t, registry, "retryd_limited_failures_total", nil).GetCounter().GetValue(); n != 1 {
		t.Errorf("%v limited failures, want 1", n)
	}
	if n := sample(t, registry, "retryd_ignored_answers_total", map[string]string{"header": "retry-after"}).GetCounter().GetValue(); n != 1 {
		t.Errorf("%v ignored values, want 1", n)
	}
}

// sample returns the series of a metric that has all the labels, or nil.
func sample(t *testing.T, g prometheus.Gatherer, name string, labels map[string]string) *dto.Metric {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			matching := 0
			for _, l := range m.GetLabel() {
				if labels[l.GetName()] == l.GetValue() {
					matching++
				}
			}
			if f.GetName() == name && matching == len(labels) {
				return m
			}
		}
	}
	return nil
}
