package tier

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/retryd/retryd/internal/forward"
	"github.com/retryd/retryd/internal/logging"
	"github.com/retryd/retryd/internal/metrics"
	"github.com/retryd/retryd/internal/policy"
	"github.com/retryd/retryd/internal/window"
	"github.com/retryd/retryd/test/harness"
)

// answeredRig is a claim of the main topic with an endpoint that answers every POST with a
// status, and topics to write to.
func answeredRig(t *testing.T, status int) (r *rig, endpoint *harness.Endpoint, tier1, dlt *fakeWriter) {
	t.Helper()
	r = newRig(t, source{topic: rigTopic, label: metrics.TierMain}, window.Config{Records: 100, Horizon: 5 * time.Second})
	endpoint = withEndpoint(t, r, func(harness.Request) harness.Answer { return harness.Answer{Status: status} })
	tier1, dlt = routed(r, nil, nil)
	return r, endpoint, tier1, dlt
}

func TestFirstAttemptMayTakeSeveralPosts(t *testing.T) {
	r, endpoint, tier1, _ := answeredRig(t, http.StatusServiceUnavailable)
	defer r.stop()
	lines, logged := observer.New(zap.InfoLevel)
	registry := prometheus.NewRegistry()
	r.relay.metrics, r.relay.log = metrics.New(registry, "test").Relay("orders", 3), zap.New(lines)
	r.consumer.metrics = r.relay.metrics.Tier(metrics.TierMain)
	r.relay.schedule.InPlace = policy.InPlace{Attempts: 3, Delay: 50 * time.Millisecond}

	first := r.readNow(t)
	for j := first; ; j = r.worker() {
		before := time.Now()
		r.handle(t, j)
		if len(tier1.written()) > 0 {
			break
		}
		if j != first || j.move != nil || j.state.Attempt != 0 || !j.state.FirstFailure.IsZero() {
			t.Fatalf("record %+v, want the same one, not judged", j.state)
		}
		if due := time.UnixMilli(j.due); due.Before(before.Add(50 * time.Millisecond)) {
			t.Errorf("due at %v, POSTed at %v, want 50 ms between", due, before)
		}
	}
	calls := endpoint.Requests()
	for _, call := range calls {
		if call.Attempt != 1 {
			t.Errorf("Retryd-Attempt %d, want 1", call.Attempt)
		}
	}
	if len(calls) != 3 || header(tier1.written()[0], "x-attempt") != "1" {
		t.Errorf("%d POSTs, x-attempt %s; want 3 of one attempt", len(calls), header(tier1.written()[0], "x-attempt"))
	}
	var again []any
	for _, line := range logged.FilterMessage(logging.Attempt).All() {
		again = append(again, line.ContextMap()[logging.FieldInPlace])
	}
	if len(again) != 3 || again[0] != int64(1) || again[1] != int64(2) || again[2] != int64(2) {
		t.Errorf("the log says %v", again)
	}
	for name, want := range map[string]float64{"retryd_in_place_retries_total": 2, "retryd_escalations_total": 1} {
		if got := sample(t, registry, name, map[string]string{"tier": "main"}).GetCounter().GetValue(); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	if got := sample(t, registry, "retryd_attempts_total", map[string]string{"attempt": "1", "outcome": "held"}).GetCounter().GetValue(); got != 2 {
		t.Errorf("%v first attempts are held, want 2", got)
	}
}

func TestPostsInPlaceCountForNothingButTheJudgedOne(t *testing.T) {
	r, _, tier1, _ := answeredRig(t, http.StatusInternalServerError)
	defer r.stop()
	r.relay.schedule.InPlace = policy.InPlace{Attempts: 3, Delay: time.Millisecond}
	for j := r.readNow(t); ; j = r.worker() {
		if r.handle(t, j); len(tier1.written()) > 0 {
			break
		}
	}
	m := tier1.written()[0]
	if header(m, "x-limited") != "1" || strings.Count(header(m, "x-trace"), ">") != 1 {
		t.Errorf("x-limited %s, x-trace %s; want one failure", header(m, "x-limited"), header(m, "x-trace"))
	}
}

// TestBlamedRecordIsNotPostedAgainInItsPlace: the endpoint has judged it often enough.
func TestBlamedRecordIsNotPostedAgainInItsPlace(t *testing.T) {
	r, _, dlt := throttledRig(t)
	defer r.stop()
	r.relay.schedule.InPlace = policy.InPlace{Attempts: 3, Delay: time.Millisecond}
	r.relay.act(r.readNow(t), &attempted{outcome: policy.Outcome{Verdict: policy.VerdictOf(policy.ClassEndpoint)}, ruling: forward.Blame, outages: r.relay.gate.Outages(), at: time.Now()})
	if len(dlt.written()) != 1 || header(dlt.written()[0], "x-reason") != "limited" {
		t.Errorf("dead letters %v, want one with x-reason limited", dlt.written())
	}
}
