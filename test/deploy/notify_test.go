package deploy

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/retryd/retryd/internal/devbroker"
	"github.com/retryd/retryd/test/harness"
)

// bound is how long anything is waited for. It is reached only when something is
// broken.
const bound = time.Minute

// manager is a service manager as the daemon sees it: a socket that takes messages.
type manager struct {
	conn *net.UnixConn

	mu       sync.Mutex
	messages [][]string // the assignments of each
}

// listen opens the socket at name, and tells the daemons that this test starts.
func listen(t *testing.T, name string) *manager {
	t.Helper()
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("NOTIFY_SOCKET", name)
	m := &manager{conn: conn}
	done := make(chan struct{})
	go func() {
		defer close(done)
		m.read()
	}()
	t.Cleanup(func() { conn.Close(); <-done })
	return m
}

func (m *manager) read() {
	buffer := make([]byte, 4096)
	for {
		n, err := m.conn.Read(buffer)
		if err != nil {
			return
		}
		m.mu.Lock()
		m.messages = append(m.messages, strings.Split(string(buffer[:n]), "\n"))
		m.mu.Unlock()
	}
}

// count returns how many messages have an assignment that begins with prefix.
func (m *manager) count(prefix string) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for _, message := range m.messages {
		if slices.ContainsFunc(message, func(each string) bool { return strings.HasPrefix(each, prefix) }) {
			n++
		}
	}
	return n
}

// await waits for one more message with an assignment than there were before.
func (m *manager) await(t *testing.T, prefix string, before int) {
	t.Helper()
	harness.WaitFor(t, bound, prefix, func() bool { return m.count(prefix) > before })
}

// door is an address in front of a broker that does not run yet: connections break.
type door struct {
	net.Listener
	mu sync.Mutex
	to string
}

func newDoor(t *testing.T) *door {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d := &door{Listener: listener}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() { d.pass(conn) })
		}
	})
	t.Cleanup(func() { listener.Close(); serving.Wait() })
	return d
}

func (d *door) open(to string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.to = to
}

func (d *door) pass(from net.Conn) {
	defer from.Close()
	d.mu.Lock()
	addr := d.to
	d.mu.Unlock()
	if addr == "" {
		return
	}
	to, err := net.Dial("tcp", addr)
	if err != nil {
		return
	}
	defer to.Close()
	var back sync.WaitGroup
	back.Go(func() { io.Copy(from, to); from.Close() })
	io.Copy(to, from)
	to.Close()
	back.Wait()
}

func relayOf(brokers, url string) string {
	return fmt.Sprintf("kafka: {brokers: [%q]}\nrelays: [{topic: orders, start: earliest, endpoint: {url: %q}, tiers: [5s]}]\n", brokers, url)
}

func TestServiceManagerIsToldFromStartToStop(t *testing.T) {
	m := listen(t, filepath.Join(t.TempDir(), "notify"))
	t.Setenv("WATCHDOG_USEC", "2000000")
	asked, release := make(chan struct{}, 10), make(chan struct{})
	endpoint := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked <- struct{}{}
		<-release
	}))
	defer endpoint.Close()
	kafka := newDoor(t)
	addr := kafka.Addr().String()
	daemon := harness.StartDaemon(t, suite.Binary(t), relayOf(addr, endpoint.URL))

	m.await(t, "READY=1", 0)
	m.await(t, "STATUS=waiting for Kafka at "+addr, 0)
	m.await(t, "WATCHDOG=1", 1) // waiting is progress

	broker, err := devbroker.Start(devbroker.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer broker.Close()
	harness.CreateTopic(t, broker.Addrs(), "orders", 1, nil)
	kafka.open(broker.Addrs()[0])
	m.await(t, "STATUS=ready: 1 relay", 0)
	m.await(t, "WATCHDOG=1", m.count("WATCHDOG=1"))

	ledger := harness.NewLedger(t, broker.Addrs(), nil)
	if err := ledger.Write("orders", harness.Record{ID: "a", Value: []byte("a")}); err != nil {
		t.Fatal(err)
	}
	<-asked
	if n := m.count("STOPPING=1") + m.count("EXTEND_TIMEOUT_USEC="); n > 0 {
		t.Errorf("%d words of a stop before it began", n)
	}
	daemon.Signal(t, syscall.SIGTERM)
	m.await(t, "STOPPING=1", 0)
	m.await(t, "EXTEND_TIMEOUT_USEC=", 1) // again, while the attempt lasts
	m.await(t, "STATUS=stopping, within 30s; attempts in flight: 1", 0)
	m.await(t, "WATCHDOG=1", m.count("WATCHDOG=1"))
	close(release)
	if code := daemon.Wait(t, bound); code != 0 {
		t.Errorf("exit code %d, want 0", code)
	}
	if ready, stopping := m.count("READY=1"), m.count("STOPPING=1"); ready != 1 || stopping != 1 {
		t.Errorf("told READY %d times and STOPPING %d times, want each once", ready, stopping)
	}
}

func TestAbstractSocketOfAServiceManager(t *testing.T) {
	m := listen(t, "@retryd-test-"+filepath.Base(t.TempDir())+fmt.Sprint(time.Now().UnixNano()))
	daemon := harness.StartDaemon(t, suite.Binary(t), relayOf("127.0.0.1:1", "http://127.0.0.1:1/"))
	m.await(t, "READY=1", 0)
	daemon.Stop(t)
	m.await(t, "STOPPING=1", 0)
}

func TestMissingSocketOfAServiceManagerIsOneWarning(t *testing.T) {
	t.Setenv("NOTIFY_SOCKET", filepath.Join(t.TempDir(), "missing"))
	t.Setenv("WATCHDOG_USEC", "500000")
	daemon := harness.StartDaemon(t, suite.Binary(t), relayOf("127.0.0.1:1", "http://127.0.0.1:1/"))
	const warning = "the supervisor cannot be told how the process is; check NOTIFY_SOCKET"
	harness.WaitFor(t, bound, "the warning", func() bool { return strings.Contains(daemon.Log(), warning) })
	if status, _, err := daemon.Get("/healthz"); err != nil || status != http.StatusOK {
		t.Errorf("/healthz answers %d, %v", status, err)
	}
	daemon.Stop(t)
	if n := strings.Count(daemon.Log(), warning); n != 1 {
		t.Errorf("warned %d times, want once", n)
	}
}
