package harness

import (
	"fmt"
	"os/exec"
	"testing"
)

// FillDisk lets every write of node i (0-based) that makes a file longer fail, as on
// a full disk, for as long as the process runs. It takes prlimit of util-linux, which
// needs no rights over one's own processes.
func (c *Cluster) FillDisk(t testing.TB, i int) {
	t.Helper()
	prlimit, err := exec.LookPath("prlimit")
	if err != nil {
		t.Fatal("prlimit fills the disk of a broker, and was not found: install util-linux (Debian: apt-get install util-linux)")
	}
	pid := c.nodes[i].proc.PID()
	output, err := exec.CommandContext(t.Context(), prlimit, fmt.Sprintf("--pid=%d", pid), "--fsize=1:").CombinedOutput()
	if err != nil {
		t.Fatalf("fill the disk of Kafka node %d: %v\n%s", i+1, err, output)
	}
}

// AwaitEnd returns once node i (0-based) has ended by itself, and fails the test if
// it does not within a minute.
func (c *Cluster) AwaitEnd(t testing.TB, i int) {
	t.Helper()
	if !c.nodes[i].proc.wait(exitBound) {
		t.Fatalf("Kafka node %d still runs after %v", i+1, exitBound)
	}
}
