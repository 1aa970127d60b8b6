package app

import (
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retryd/retryd/internal/devbroker"
	"github.com/retryd/retryd/internal/status"
	"github.com/retryd/retryd/test/harness"
)

func TestKafkaThatGoesAwayIsTold(t *testing.T) {
	t.Parallel()
	broker, err := devbroker.Start(devbroker.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer broker.Close()
	harness.CreateTopic(t, broker.Addrs(), "orders", 1, nil)
	daemon := start(t, settings(broker.Addrs(), "http://127.0.0.1:1/", time.Second))
	harness.WaitFor(t, time.Minute, "readiness", func() bool { code, _ := daemon.get("/readyz"); return code == http.StatusOK })
	reachable := func(value string) bool {
		_, page := daemon.get("/metrics")
		return strings.Contains(page, "\nretryd_kafka_reachable "+value+"\n")
	}
	if !reachable("1") {
		t.Error("retryd_kafka_reachable is not 1 while it is ready")
	}
	broker.Close()
	var text string
	harness.WaitFor(t, time.Minute, "the problem in /readyz", func() bool {
		var code int
		code, text = daemon.get("/readyz")
		return code == http.StatusServiceUnavailable && strings.Contains(text, "\nKafka does not answer: ")
	})
	if !reachable("0") {
		t.Error("retryd_kafka_reachable is not 0 while Kafka does not answer")
	}
	if code, _ := daemon.get("/healthz"); code != http.StatusOK {
		t.Errorf("/healthz answers %d while Kafka is away, want 200: a restart does not help", code)
	}
	if n := strings.Count(daemon.log.String(), `"msg":"Kafka does not answer`); n != 1 {
		t.Errorf("%d lines say that Kafka does not answer, want 1:\n%s", n, daemon.log)
	}
	if err := daemon.end(); err != nil {
		t.Error(err)
	}
}

// A disk that is full costs the log, not the deliveries.
func TestRunDeliversWithoutALog(t *testing.T) {
	t.Parallel()
	brokers := startBroker(t)
	harness.CreateTopic(t, brokers, "orders", 1, nil)
	endpoint := harness.StartEndpoint(t, nil)
	ledger := harness.NewLedger(t, brokers, nil, "orders.DLT")
	var full atomic.Bool
	full.Store(true)
	disk := writerFunc(func(p []byte) (int, error) {
		if full.Load() {
			return 0, syscall.ENOSPC
		}
		return len(p), nil
	})
	cfg := settings(brokers, endpoint.URL("/"), 0)
	cfg.Log.Level = "debug"
	daemon := startWith(t, cfg, Options{Log: disk}, nil)
	const written = 20
	for i := range written {
		if err := ledger.Write("orders", harness.Record{ID: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	ledger.Close(t, endpoint, time.Minute).Check(t)
	const problem = "log cannot be written: no space left on device\n"
	if code, text := daemon.get("/readyz"); code != http.StatusOK || !strings.Contains(text, problem) {
		t.Errorf("/readyz answers %d %q, want 200 and the problem", code, text)
	}
	if _, page := daemon.get("/metrics"); strings.Contains(page, "\nretryd_log_write_errors_total 0\n") {
		t.Error("no lost line was counted")
	}
	full.Store(false)
	if err := ledger.Write("orders", harness.Record{ID: "again"}); err != nil {
		t.Fatal(err)
	}
	harness.WaitFor(t, time.Minute, "the end of the problem", func() bool {
		_, text := daemon.get("/readyz")
		return !strings.Contains(text, problem)
	})
	if err := daemon.end(); err != nil {
		t.Error(err)
	}
}

func TestStopDoesNotWaitForAServiceManagerThatHangs(t *testing.T) {
	t.Parallel()
	hangs, called := make(chan struct{}), make(chan struct{}, 1)
	log := &lockedBuffer{}
	daemon := startWith(t, settings([]string{"127.0.0.1:1"}, "http://127.0.0.1:1/"), Options{
		Log: log,
		Notify: func(string) error {
			called <- struct{}{}
			<-hangs
			return nil
		},
	}, log)
	<-called
	if err := daemon.end(); err != nil {
		t.Error(err)
	}
	close(hangs)
}

func TestOutageIsNotToldAgainOfEachRelay(t *testing.T) {
	own := status.Problem{Text: "delivery pauses"}
	got := ownProblems([]status.Problem{{Text: "is not a member of g: no broker answers", Blocking: true, Away: true}, own})
	if diff := cmp.Diff([]status.Problem{own}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
