package harness

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const testBound = time.Minute

func TestChildDoesNotOutliveItsParent(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux tells a child of its parent's death")
	}
	parent := exec.Command(os.Args[0], "parent")
	output, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	child, err := strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	parent.Wait() // says that it was killed
	WaitFor(t, testBound, "the end of the child", func() bool { return !alive(child) })
}

// alive is false also for a zombie, which nobody may reap here.
func alive(pid int) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

func TestTerminateKillsWhatDoesNotStop(t *testing.T) {
	log := filepath.Join(t.TempDir(), "log")
	p, err := startProcess(exec.Command("sh", "-c", "trap '' TERM; echo deaf; while :; do sleep 1; done"), log)
	if err != nil {
		t.Fatal(err)
	}
	WaitFor(t, testBound, "the trap", func() bool { return tail(log) == "deaf" })
	byItself, err := p.terminate(50 * time.Millisecond)
	if err != nil || byItself || p.running() {
		t.Errorf("by itself %v, running %v, error %v; want a killed process", byItself, p.running(), err)
	}
	if err := p.signal(syscall.SIGTERM); err != nil {
		t.Errorf("a signal to a process that has ended: %v", err)
	}
}

func TestStartProcessNamesWhatIsMissing(t *testing.T) {
	_, err := startProcess(exec.Command("/no/such/program"), filepath.Join(t.TempDir(), "log"))
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
