package app

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/retryd/retryd/internal/admin"
	"github.com/retryd/retryd/internal/policy"
	"github.com/retryd/retryd/internal/status"
	"github.com/retryd/retryd/test/harness"
)

// become waits until an instance shows that its relay is in a state; "": it is not halted.
func (r *running) become(state status.HaltState) {
	r.t.Helper()
	harness.WaitFor(r.t, time.Minute, "the state \""+string(state)+"\"", func() bool {
		p, err := admin.Fetch(r.t.Context(), r.addr)
		if err != nil || !p.Ready || len(p.Relays) != 1 {
			return false
		}
		h := p.Relays[0].Halt
		return h == nil && state == "" || h != nil && h.State == state
	})
}

// order gives an order to the relay of an instance that answers by now.
func (r *running) order(do func(context.Context, string, string, admin.Order) (admin.Halted, error)) admin.Halted {
	r.t.Helper()
	done, err := do(r.t.Context(), r.addr, "orders", admin.Order{Reason: "maintenance", By: "alice"})
	if err != nil {
		r.t.Fatal(err)
	}
	return done
}

func TestPauseHoldsOverRestartsAndOnEveryInstance(t *testing.T) {
	brokers := startBroker(t)
	harness.CreateTopic(t, brokers, "orders", 3, nil)
	endpoint := harness.StartEndpoint(t, nil)
	cfg := settings(brokers, endpoint.URL("/"), 0)
	ledger := harness.NewLedger(t, brokers, nil, "orders.DLT")
	first, second := start(t, cfg), start(t, cfg)
	first.become("")
	second.become("")
	if done := first.order(admin.Pause); done.Was != nil || done.Halt == nil || done.Halt.By != "alice" {
		t.Errorf("answer %+v", done)
	}
	second.become(status.Paused)
	if err := first.end(); err != nil {
		t.Error(err)
	}
	if err := ledger.Write("orders", harness.Record{ID: "a"}, harness.Record{ID: "b"}); err != nil {
		t.Fatal(err)
	}
	first = start(t, cfg)
	first.become(status.Paused)
	if code, text := first.get("/readyz"); code != http.StatusOK || !strings.Contains(text, "ok\nrelay orders: paused by alice since ") {
		t.Errorf("/readyz answers %d %q", code, text)
	}
	for _, daemon := range []*running{first, second} { // both have had the records for a moment
		harness.WaitFor(t, time.Minute, "partitions", func() bool {
			_, text := daemon.get("/metrics")
			return strings.Contains(text, `retryd_relay_halted{relay="orders",state="paused"} 1`) && strings.Contains(text, "retryd_lag_records{")
		})
	}
	if n, _ := endpoint.Counts(); n != 0 {
		t.Errorf("%d requests while the relay is paused", n)
	}
	if done := second.order(admin.Resume); done.Was == nil || done.Halt != nil || done.Endpoint != "" {
		t.Errorf("answer %+v", done)
	}
	report := ledger.Close(t, endpoint, time.Minute)
	report.Check(t)
	first.become("")
	for _, daemon := range []*running{first, second} {
		if err := daemon.end(); err != nil {
			t.Error(err)
		}
	}
}

func TestStopOfARuleHoldsOnEveryInstanceUntilItIsResumed(t *testing.T) {
	brokers := startBroker(t)
	harness.CreateTopic(t, brokers, "orders", 1, nil)
	var mended atomic.Bool
	endpoint := harness.StartEndpoint(t, func(harness.Request) harness.Answer {
		if mended.Load() {
			return harness.Answer{Status: http.StatusOK}
		}
		return harness.Answer{Status: http.StatusGone}
	})
	cfg := settings(brokers, endpoint.URL("/"), 0)
	cfg.Relays[0].Endpoint.Rules = []policy.Rule{{Status: []policy.Statuses{"410"}, Action: policy.TreatStop}}
	ledger := harness.NewLedger(t, brokers, nil, "orders.DLT")
	first, second := start(t, cfg), start(t, cfg)
	first.become("")
	second.become("")
	if err := ledger.Write("orders", harness.Record{ID: "a"}); err != nil {
		t.Fatal(err)
	}
	first.become(status.Stopped)
	second.become(status.Stopped)
	if err := first.end(); err != nil {
		t.Error(err)
	}
	first = start(t, cfg)
	first.become(status.Stopped)
	if n, _ := endpoint.Counts(); n != 1 {
		t.Errorf("%d requests, want the one that stopped the relay", n)
	}
	mended.Store(true)
	if done := first.order(admin.Resume); done.Was == nil || done.Was.By != "rule" || !strings.Contains(done.Was.Reason, "410") {
		t.Errorf("answer %+v", done.Was)
	}
	report := ledger.Close(t, endpoint, time.Minute)
	report.Check(t)
	if report.Accepted != 1 || report.DeadLettered != 0 {
		t.Error(report)
	}
	second.become("")
	for _, daemon := range []*running{first, second} {
		if err := daemon.end(); err != nil {
			t.Error(err)
		}
	}
}

// The answer comes after SIGTERM, while the attempt is let finish.
func TestStopThatAnAttemptBringsDuringTheDrainIsKept(t *testing.T) {
	brokers := startBroker(t)
	harness.CreateTopic(t, brokers, "orders", 1, nil)
	begun, answer := make(chan struct{}, 10), make(chan struct{})
	endpoint := harness.StartEndpoint(t, func(harness.Request) harness.Answer {
		begun <- struct{}{}
		<-answer
		return harness.Answer{Status: http.StatusGone}
	})
	cfg := settings(brokers, endpoint.URL("/"), 0)
	cfg.Relays[0].Endpoint.Rules = []policy.Rule{{Status: []policy.Statuses{"410"}, Action: policy.TreatStop}}
	daemon := start(t, cfg)
	daemon.become("")
	if err := harness.NewLedger(t, brokers, nil, "orders.DLT").Write("orders", harness.Record{ID: "a"}); err != nil {
		t.Fatal(err)
	}
	<-begun
	daemon.stop()
	harness.WaitFor(t, time.Minute, "the stop", func() bool { return strings.Contains(daemon.log.String(), "retryd stops: ") })
	close(answer)
	if err := daemon.end(); err != nil {
		t.Error(err)
	}
	daemon = start(t, cfg)
	daemon.become(status.Stopped)
	if err := daemon.end(); err != nil {
		t.Error(err)
	}
	if n, _ := endpoint.Counts(); n != 1 {
		t.Errorf("%d requests, want the one that stopped the relay", n)
	}
}

func TestNothingIsDeliveredWithoutTheControlTopic(t *testing.T) {
	brokers := startBroker(t)
	for _, topic := range []string{"orders", "orders.retry.1", "orders.DLT"} {
		harness.CreateTopic(t, brokers, topic, 1, map[string]string{"max.message.bytes": "1114124"})
	}
	endpoint := harness.StartEndpoint(t, nil)
	cfg := settings(brokers, endpoint.URL("/"), 0)
	cfg.Topics.Create = false
	ledger := harness.NewLedger(t, brokers, nil, "orders.DLT")
	if err := ledger.Write("orders", harness.Record{ID: "a"}); err != nil {
		t.Fatal(err)
	}
	daemon := start(t, cfg)
	want := "not ready\nrelay orders: delivers nothing before topic retryd.control was read, which says what is paused: " +
		"topic retryd.control does not exist: create it (partitions: 1, cleanup.policy=compact), or set topics.create: true\n"
	var code int
	harness.WaitFor(t, time.Minute, "the fault in /readyz", func() bool {
		var text string
		code, text = daemon.get("/readyz")
		return text == want
	})
	_, err := admin.Pause(t.Context(), daemon.addr, "orders", admin.Order{})
	if err == nil || !strings.HasSuffix(err.Error(), "503 Service Unavailable: topic retryd.control did not acknowledge it: it was not looked at yet") {
		t.Errorf("a pause: %v", err)
	}
	if n, _ := endpoint.Counts(); n != 0 || code != http.StatusServiceUnavailable {
		t.Errorf("%d requests, /readyz answers %d", n, code)
	}
	if err := daemon.end(); err != nil {
		t.Error(err)
	}
	harness.CreateTopic(t, brokers, "retryd.control", 1, map[string]string{"cleanup.policy": "compact"})
	daemon = start(t, cfg)
	ledger.Close(t, endpoint, time.Minute).Check(t)
	if err := daemon.end(); err != nil {
		t.Error(err)
	}
}

func TestControlTopicThatGoesIsMadeAnewWithWhatIsPaused(t *testing.T) {
	brokers := startBroker(t)
	harness.CreateTopic(t, brokers, "orders", 1, nil)
	cfg := settings(brokers, "http://127.0.0.1:1/", 0)
	daemon := start(t, cfg)
	daemon.become("")
	daemon.order(admin.Pause)
	harness.DeleteTopic(t, brokers, "retryd.control")
	harness.WaitFor(t, time.Minute, "the topic made anew", func() bool {
		return strings.Contains(daemon.log.String(), "control topic was missing and is created anew")
	})
	harness.WaitFor(t, time.Minute, "the pause in it", func() bool {
		return len(harness.ReadTopic(t, brokers, "retryd.control")) > 0
	})
	daemon.become(status.Paused)
	if err := daemon.end(); err != nil {
		t.Error(err)
	}
	again := start(t, cfg)
	again.become(status.Paused)
	if err := again.end(); err != nil {
		t.Error(err)
	}
}

func TestOrdersForARelayThatThereIsNot(t *testing.T) {
	d := &daemon{config: settings(nil, "http://127.0.0.1:1/")}
	_, err := d.pause(t.Context(), "loans", admin.Order{})
	if !errors.Is(err, admin.ErrNoRelay) || err.Error() != `no relay has this name: "loans"; there is orders` {
		t.Errorf("pause: %v", err)
	}
	if _, err := d.resume(t.Context(), "loans", admin.Order{}); !errors.Is(err, admin.ErrNoRelay) {
		t.Errorf("resume: %v", err)
	}
}
