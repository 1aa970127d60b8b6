// Package harness is what the tests and benchmarks of retryd run against: a real
// Apache Kafka without containers, an HTTP endpoint that records everything, the
// built daemon as a process of its own, and a ledger that finds every record
// again.
//
// It judges retryd from outside: it imports nothing of the engine, and reads
// headers by the names that operators read. It runs on Linux and macOS.
package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

// Suite is what all tests of one package share, made at first use: a Kafka
// cluster and the daemon's binary. A package has one:
//
//	var suite = harness.NewSuite(1)
//
//	func TestMain(m *testing.M) { os.Exit(suite.Main(m)) }
type Suite struct {
	nodes int

	clusterOnce sync.Once
	cluster     *Cluster
	clusterErr  error

	binaryOnce sync.Once
	binary     string
	binaryErr  error
}

// NewSuite returns a suite whose cluster has 1 or 3 nodes.
func NewSuite(nodes int) *Suite { return &Suite{nodes: nodes} }

// Main runs the package's tests, stops the cluster, and returns the exit code:
// 1 also when a goroutine outlives the tests.
func (s *Suite) Main(m *testing.M) int {
	code := m.Run()
	if err := s.stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	if code != 0 {
		return code
	}
	// sarama's metrics library runs one goroutine for the life of the process.
	meter := goleak.IgnoreTopFunction("github.com/rcrowley/go-metrics.(*meterArbiter).tick")
	if err := goleak.Find(meter); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func (s *Suite) stop() error {
	if s.cluster == nil {
		return nil
	}
	return s.cluster.Stop()
}

// Kafka returns the package's cluster. The first call starts it; if that fails,
// every test that asks for it fails with the same error.
func (s *Suite) Kafka(t testing.TB) *Cluster {
	t.Helper()
	s.clusterOnce.Do(func() { s.cluster, s.clusterErr = NewCluster(s.nodes) })
	if s.clusterErr != nil {
		t.Fatal(s.clusterErr)
	}
	return s.cluster
}

// Daemon builds the daemon at its first call, starts it with the given
// configuration and waits until it is ready. See StartDaemon.
func (s *Suite) Daemon(t testing.TB, config string) *Daemon {
	t.Helper()
	d := StartDaemon(t, s.Binary(t), config)
	d.WaitReady(t)
	return d
}

// Binary returns the path of the daemon's executable. The first call builds it.
func (s *Suite) Binary(t testing.TB) string {
	t.Helper()
	s.binaryOnce.Do(func() { s.binary, s.binaryErr = Build("cmd/retryd") })
	if s.binaryErr != nil {
		t.Fatal(s.binaryErr)
	}
	return s.binary
}

// repository returns the root of this repository: the nearest folder at or above
// the working directory that holds a go.mod. The go command runs tests in their
// package's folder.
func repository() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the repository: %w", err)
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("find the repository: no go.mod at or above %s", start)
		}
	}
}
