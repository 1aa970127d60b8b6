package harness

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

const testBound = time.Minute

func TestTerminateKillsWhatDoesNotStop(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	p, err := StartProcess(exec.Command("sh", "-c", "trap '' TERM; echo deaf; while :; do sleep 1; done"), log)
	if err != nil {
		t.Fatal(err)
	}
	WaitFor(t, testBound, "the trap", func() bool { return tail(log) == "deaf" })
	byItself, err := p.Terminate(50 * time.Millisecond)
	if err != nil || byItself || p.Running() {
		t.Errorf("by itself %v, running %v, error %v; want a killed process", byItself, p.Running(), err)
	}
	if err := p.signal(syscall.SIGTERM); err != nil {
		t.Errorf("a signal to a process that has ended: %v", err)
	}
}

func TestStartProcessNamesWhatIsMissing(t *testing.T) {
	_, err := StartProcess(exec.Command("/no/such/program"), filepath.Join(t.TempDir(), "log"))
	if err == nil || !strings.Contains(err.Error(), "/no/such/program") {
		t.Errorf("error %v, want one that names the program", err)
	}
}

func TestTailShowsTheLastLines(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(log, []byte(strings.Repeat("old\n", 100)+strings.Repeat("new\n", 40)), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, want := tail(log), strings.TrimRight(strings.Repeat("new\n", 40), "\n"); got != want {
		t.Errorf("tail is %q, want 40 new lines", got)
	}
}
