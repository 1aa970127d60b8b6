package app

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/retryd/retryd/internal/config"
	"github.com/retryd/retryd/internal/devbroker"
	"github.com/retryd/retryd/internal/kafka"
	"github.com/retryd/retryd/internal/policy"
	"github.com/retryd/retryd/internal/tier"
	"github.com/retryd/retryd/test/harness"
)

func TestGroupsAreThoseOfMainTopicsTiersAndParkTopics(t *testing.T) {
	relay := tier.DefaultConfig()
	relay.Topic = "orders"
	relay.Policy.Tiers.List = make([]policy.Tier, 2)
	relay.Policy.Park = []policy.Park{{Delay: time.Hour}}
	other := relay
	other.Consume = false
	if n := countGroups([]tier.Config{relay, other}); n != 4+3 {
		t.Errorf("%d groups, want 7", n)
	}
}

func TestMain(m *testing.M) {
	// sarama's metrics library runs one goroutine for the life of the process; the
	// tests' own clients start it.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/rcrowley/go-metrics.(*meterArbiter).tick"))
}

// settings returns a configuration of one relay with tiers of the given delays.
func settings(brokers []string, url string, delays ...time.Duration) *config.Config {
	relay := tier.DefaultConfig()
	relay.Topic, relay.Start, relay.Endpoint.URL = "orders", "earliest", url
	relay.Policy.Tiers.List = make([]policy.Tier, len(delays))
	for i, d := range delays {
		relay.Policy.Tiers.List[i].Delay = d
	}
	relay.Resolve()
	cfg := config.Default()
	cfg.Kafka.Brokers, cfg.Relays, cfg.Admin.Listen = brokers, []tier.Config{relay}, "127.0.0.1:0"
	return &cfg
}

// running is a daemon in this process.
type running struct {
	t     *testing.T
	stop  context.CancelFunc
	ended chan error
	addr  string
	log   *lockedBuffer
}

func start(t *testing.T, cfg *config.Config) *running {
	t.Helper()
	log := &lockedBuffer{}
	return startWith(t, cfg, Options{Log: log}, log)
}

func startWith(t *testing.T, cfg *config.Config, o Options, log *lockedBuffer) *running {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	r := &running{t: t, stop: stop, ended: make(chan error, 1), log: log}
	listens := make(chan string, 1)
	o.Version, o.Listens = "test", func(addr string) { listens <- addr }
	go func() { r.ended <- Run(ctx, cfg, o) }()
	select {
	case r.addr = <-listens:
	case err := <-r.ended:
		t.Fatalf("the daemon ended at once: %v", err)
	}
	return r
}

// end stops the daemon and returns its error.
func (r *running) end() error {
	r.stop()
	return <-r.ended
}

func (r *running) get(path string) (int, string) {
	r.t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Get("http://" + r.addr + path)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func startBroker(t *testing.T) []string {
	t.Helper()
	b, err := devbroker.Start(devbroker.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b.Addrs()
}

func TestRunDeliversEverythingAndStopsCleanly(t *testing.T) {
	brokers := startBroker(t)
	harness.CreateTopic(t, brokers, "orders", 3, nil)
	endpoint := harness.StartEndpoint(t, func(r harness.Request) harness.Answer {
		if n, _ := strconv.Atoi(string(r.Body)); n%10 == 0 {
			return harness.Answer{Status: http.StatusServiceUnavailable}
		}
		return harness.Answer{Status: http.StatusOK}
	})
	delays := []time.Duration{50 * time.Millisecond, 100 * time.Millisecond}
	cfg := settings(brokers, endpoint.URL("/"), delays...)
	ledger := harness.NewLedger(t, brokers, []harness.Tier{
		{Topic: "orders.retry.1", Delay: delays[0]}, {Topic: "orders.retry.2", Delay: delays[1]},
	}, "orders.DLT")
	daemon := start(t, cfg)
	harness.WaitFor(t, time.Minute, "readiness", func() bool { code, _ := daemon.get("/readyz"); return code == http.StatusOK })
	committed(t, brokers, "retryd-orders-retry-orders.retry.2", "orders.retry.2", 0) // where it starts is settled
	var records []harness.Record
	for i := range 500 {
		records = append(records, harness.Record{ID: fmt.Sprint("id-", i), Key: []byte(fmt.Sprint(i)), Value: []byte(fmt.Sprint(i))})
	}
	if err := ledger.Write("orders", records...); err != nil {
		t.Fatal(err)
	}
	report := ledger.Close(t, endpoint, time.Minute)
	report.Check(t)
	if report.Accepted != 450 || report.DeadLettered != 50 || len(report.Repeated) > 0 || len(report.WrongAttempts) > 0 {
		t.Errorf("%s, want 450 accepted and 50 dead, none repeated", report)
	}
	if err := daemon.end(); err != nil {
		t.Error(err)
	}
	if errs := strings.Count(daemon.log.String(), `"level":"error"`); errs > 0 {
		t.Errorf("%d errors were logged:\n%s", errs, daemon.log)
	}
	committed(t, brokers, "retryd-orders", "orders", 500)
}

// committed checks that a group's commits over all partitions add up.
func committed(t *testing.T, brokers []string, group, topic string, want int64) {
	t.Helper()
	c := kafka.DefaultConfig()
	c.Brokers = brokers
	cluster, err := kafka.Connect(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	offsets, err := cluster.Committed(group, map[string][]int32{topic: {0, 1, 2}})
	if err != nil {
		t.Fatal(err)
	}
	sum := int64(0)
	for _, at := range offsets[topic] {
		sum += at.Offset
	}
	if sum != want || len(offsets[topic]) != 3 {
		t.Errorf("group %s committed %d in %d partitions of %s, want %d in 3", group, sum, len(offsets[topic]), topic, want)
	}
}

func TestRunWaitsForKafka(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	if err := ln.Close(); err != nil { // nobody listens there any more
		t.Fatal(err)
	}
	daemon := start(t, settings([]string{addr}, "http://127.0.0.1:1/"))
	code, text := daemon.get("/readyz")
	if want := "not ready\nwaiting for Kafka at " + addr + "\n"; code != http.StatusServiceUnavailable || text != want {
		t.Errorf("/readyz answers %d %q, want 503 %q", code, text, want)
	}
	if code, _ := daemon.get("/healthz"); code != http.StatusOK {
		t.Errorf("/healthz answers %d while Kafka is away, want 200", code)
	}
	if err := daemon.end(); err != nil {
		t.Error(err)
	}
}

func TestNothingIsReadyWhenTheOnlyRelayIsAtFault(t *testing.T) {
	brokers := startBroker(t) // without the main topic
	daemon := start(t, settings(brokers, "http://127.0.0.1:1/"))
	want := "not ready\nrelay orders: main topic orders does not exist: create it, or correct the relay's topic; retryd never creates a main topic\n"
	var code int
	var text string
	harness.WaitFor(t, time.Minute, "the fault in /readyz", func() bool {
		code, text = daemon.get("/readyz")
		return text == want
	})
	if code != http.StatusServiceUnavailable {
		t.Errorf("/readyz answers %d, want 503", code)
	}
	if err := daemon.end(); err != nil {
		t.Error(err)
	}
}

func TestRunNamesAnAddressThatIsInUse(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	cfg := settings([]string{"127.0.0.1:1"}, "http://127.0.0.1:1/")
	cfg.Admin.Listen = server.Listener.Addr().String()
	err := Run(t.Context(), cfg, Options{Version: "test", Log: io.Discard})
	if err == nil || !strings.Contains(err.Error(), "admin.listen") || !strings.Contains(err.Error(), "address already in use") {
		t.Errorf("error %v, want one that names admin.listen and says that it is in use", err)
	}
}

func TestRunNamesTheRelayWhoseSecretCannotBeRead(t *testing.T) {
	cfg := settings([]string{"127.0.0.1:1"}, "http://127.0.0.1:1/")
	cfg.Relays[0].Endpoint.BearerTokenFile = "nowhere"
	err := Run(t.Context(), cfg, Options{Version: "test", Log: io.Discard})
	if err == nil || !strings.HasPrefix(err.Error(), "relays[0].endpoint.bearer_token_file: ") {
		t.Errorf("error %v, want one that names the key", err)
	}
}

// Whoever embeds a daemon goes on after it.
func TestDaemonThatNeverRanLeavesNothingOpen(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	tests := []struct {
		name   string
		change func(*config.Config)
	}{
		{"a secret that cannot be read", func(c *config.Config) { c.Relays[0].Endpoint.BearerTokenFile = "nowhere" }},
		{"an address in use", func(c *config.Config) { c.Admin.Listen = server.Listener.Addr().String() }},
		{"no Kafka", func(*config.Config) {}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := settings([]string{"127.0.0.1:1"}, "http://127.0.0.1:1/")
			tt.change(cfg)
			d := &daemon{config: cfg, options: Options{Version: "test", Log: io.Discard}}
			if err := d.live(stopped(t)); (err == nil) != (tt.name == "no Kafka") {
				t.Errorf("it ended with %v", err)
			}
			if _, err := d.deps.Producers.Target("orders", 1<<20); err == nil || err.Error() != "the producers are closed" {
				t.Errorf("a producer: %v", err)
			}
		})
	}
}

// stopped is a context that has ended.
func stopped(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

func TestStopGivesUpAfterItsTimeout(t *testing.T) {
	brokers := startBroker(t)
	harness.CreateTopic(t, brokers, "orders", 1, nil)
	endpoint := harness.StartEndpoint(t, func(harness.Request) harness.Answer { return harness.Answer{Hang: true} })
	cfg := settings(brokers, endpoint.URL("/"), 0)
	cfg.StopTimeout = 100 * time.Millisecond // shorter than the attempt takes, which a file may not say
	cfg.Relays[0].Endpoint.Timeout = time.Minute
	ledger := harness.NewLedger(t, brokers, nil, "orders.DLT")
	daemon := start(t, cfg)
	if err := ledger.Write("orders", harness.Record{ID: "a"}); err != nil {
		t.Fatal(err)
	}
	harness.WaitFor(t, time.Minute, "the request", func() bool { n, _ := endpoint.Counts(); return n == 1 })
	err := daemon.end()
	if want := "stop took longer than stop_timeout (100ms): what is not committed by now is delivered again"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %q", err, want)
	}
	for _, topic := range []string{"orders.retry.1", "orders.DLT"} {
		if moved := harness.ReadTopic(t, brokers, topic); len(moved) > 0 {
			t.Errorf("an attempt that retryd cut off itself was judged: its record is in %s", topic)
		}
	}
}
