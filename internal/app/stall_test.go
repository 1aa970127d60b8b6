package app

import (
	"context"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/retryd/retryd/test/harness"
)

// notices are the messages to a service manager.
type notices struct {
	mu  sync.Mutex
	all []string
}

func (n *notices) take(state string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = append(n.all, state)
	return nil
}

// first returns the first message with a text, or "".
func (n *notices) first(text string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, state := range n.all {
		if strings.Contains(state, text) {
			return state
		}
	}
	return ""
}

// startLooking runs a daemon whose parts the test can reach.
func startLooking(t *testing.T, d *daemon) *running {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	log := &lockedBuffer{}
	r := &running{t: t, stop: stop, ended: make(chan error, 1), log: log}
	listens := make(chan string, 1)
	d.options.Version, d.options.Log = "test", log
	d.options.Listens = func(addr string) { listens <- addr }
	go func() { r.ended <- d.live(ctx) }()
	select {
	case r.addr = <-listens:
	case err := <-r.ended:
		t.Fatalf("the daemon ended at once: %v", err)
	}
	return r
}

func TestStallReachesHealthAndTheWatchdog(t *testing.T) {
	var told notices
	d := &daemon{
		config:  settings([]string{"127.0.0.1:1"}, "http://127.0.0.1:1/"), // without Kafka the monitor does not run
		options: Options{Notify: told.take, Watchdog: 100 * time.Millisecond},
	}
	daemon := startLooking(t, d)
	harness.WaitFor(t, time.Minute, "a pat", func() bool { return told.first(stateWatchdog) != "" })
	if code, text := daemon.get("/healthz"); code != http.StatusOK {
		t.Fatalf("/healthz answers %d %q before anything stands still", code, text)
	}
	d.monitor.note(time.Now().Add(-time.Hour))
	code, text := daemon.get("/healthz")
	if code != http.StatusServiceUnavailable || !strings.HasPrefix(text, "the look at Kafka has not ended for 1h0m") {
		t.Errorf("/healthz answers %d %q, want 503 with what stands still", code, text)
	}
	const still = "STATUS=stands still: the look at Kafka has not ended for 1h0m"
	harness.WaitFor(t, time.Minute, "the status line", func() bool { return told.first(still) != "" })
	if state := told.first(still); strings.Contains(state, stateWatchdog) {
		t.Errorf("the watchdog is patted while something stands still: %q", state)
	}
	if err := daemon.end(); err != nil {
		t.Error(err)
	}
}

func TestEverythingThatStandsStillIsNamed(t *testing.T) {
	brokers := startBroker(t)
	harness.CreateTopic(t, brokers, "orders", 1, nil)
	endpoint := harness.StartEndpoint(t, func(harness.Request) harness.Answer { return harness.Answer{Hang: true} })
	cfg := settings(brokers, endpoint.URL("/"))
	cfg.StopTimeout, cfg.Relays[0].Endpoint.Timeout = 100*time.Millisecond, time.Hour // which no file may say
	d := &daemon{config: cfg}
	daemon := startLooking(t, d)
	ledger := harness.NewLedger(t, brokers, nil, "orders.DLT")
	if err := ledger.Write("orders", harness.Record{ID: "a"}); err != nil {
		t.Fatal(err)
	}
	harness.WaitFor(t, time.Minute, "the request", func() bool { n, _ := endpoint.Counts(); return n == 1 })
	now := time.Now()
	if got := d.stalledAt(now); got != "" {
		t.Errorf("%q while an attempt may still take an hour", got)
	}
	want := regexp.MustCompile(`^the look at Kafka has not ended for \S+; relay orders: an attempt has not ended for \S+, endpoint.timeout is 1h0m0s$`)
	// A look at the topics that is under way at this moment would be named instead.
	harness.WaitFor(t, time.Minute, "both to be named", func() bool { return want.MatchString(d.stalledAt(now.Add(100 * time.Hour))) })
	_ = daemon.end() // it gives up on the attempt
}
