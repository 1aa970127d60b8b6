package harness

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	readyBound = time.Minute
	exitBound  = time.Minute // longer than the daemon's own stop_timeout in any test
	probeBound = 5 * time.Second
)

var adminKey = regexp.MustCompile(`(?m)^admin\s*:`)

// Daemon is retryd as a process of its own.
type Daemon struct {
	admin string
	proc  *Process
}

// StartDaemon runs "binary run --config FILE" with the given YAML, to which it
// adds the key admin with a free port. It does not wait: see WaitReady. The
// process is killed at the end of the test if it still runs. If the test failed, its
// log is shown: what it says of the daemon, and the last that it says of records.
func StartDaemon(t testing.TB, binary, config string) *Daemon {
	t.Helper()
	d, err := NewDaemon(binary, config, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.cleanUp(t) })
	return d
}

// NewDaemon is StartDaemon outside of tests: configuration and log are kept in dir, and
// the caller ends the process.
func NewDaemon(binary, config, dir string) (*Daemon, error) {
	if adminKey.MatchString(config) {
		return nil, errors.New("the configuration of a daemon under test has the key admin, which the harness sets")
	}
	addrs, err := FreeAddrs(1)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "retryd.yaml")
	config += fmt.Sprintf("\nadmin: {listen: %q}\n", addrs[0])
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		return nil, err
	}
	proc, err := StartProcess(exec.Command(binary, "run", "--config", file), filepath.Join(dir, "retryd.log"))
	return &Daemon{admin: addrs[0], proc: proc}, err
}

// Process returns the daemon's process.
func (d *Daemon) Process() *Process { return d.proc }

func (d *Daemon) cleanUp(t testing.TB) {
	if err := d.proc.Kill(); err != nil {
		t.Error(err)
	}
	if t.Failed() {
		t.Logf("the daemon's log but for what it says of records:\n%s", ofDaemon(d.Log()))
		t.Logf("the end of the daemon's log:\n%s", d.proc.Tail())
	}
}

// ofDaemon returns the last lines of a daemon's log that are about no record.
func ofDaemon(log string) string {
	const lines = 100
	all := slices.DeleteFunc(strings.SplitAfter(log, "\n"), func(line string) bool { return strings.Contains(line, `"offset":`) })
	return strings.Join(all[max(0, len(all)-lines):], "")
}

// WaitReady returns once /readyz answers 200, and fails the test if the daemon
// ends before that or is not ready within a minute.
func (d *Daemon) WaitReady(t testing.TB) {
	t.Helper()
	if err := d.AwaitReady(); err != nil {
		t.Fatal(err)
	}
}

// AwaitReady is WaitReady outside of tests.
func (d *Daemon) AwaitReady() error {
	return poll(pollInterval, readyBound, "/readyz of the daemon", func() (bool, error) {
		if !d.proc.Running() {
			return false, fmt.Errorf("the daemon ended before it was ready: %v", d.proc.err)
		}
		status, _, err := d.Get("/readyz")
		return err == nil && status == http.StatusOK, nil
	})
}

// Get asks the daemon's admin listener.
func (d *Daemon) Get(path string) (status int, body string, err error) {
	client := http.Client{Timeout: probeBound, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get("http://" + d.admin + path)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	return response.StatusCode, string(content), err
}

// Log returns what the daemon has written to both of its output streams so far.
func (d *Daemon) Log() string {
	content, err := os.ReadFile(d.proc.log)
	if err != nil {
		return err.Error()
	}
	return string(content)
}

// Stop sends SIGTERM, waits until the daemon has ended, and fails the test unless
// it ends by itself within a minute with exit code 0.
func (d *Daemon) Stop(t testing.TB) {
	t.Helper()
	d.Signal(t, syscall.SIGTERM)
	if code := d.Wait(t, exitBound); code != 0 {
		t.Errorf("the daemon ended with exit code %d on SIGTERM, want 0", code)
	}
}

// Kill ends the daemon with SIGKILL and waits until it is gone.
func (d *Daemon) Kill(t testing.TB) {
	t.Helper()
	if err := d.proc.Kill(); err != nil {
		t.Fatal(err)
	}
}

// Signal sends a signal; to a daemon that has ended it does nothing.
func (d *Daemon) Signal(t testing.TB, s os.Signal) {
	t.Helper()
	if err := d.proc.signal(s); err != nil {
		t.Fatal(err)
	}
}

// Wait returns the exit code once the daemon has ended by itself (-1 after a
// signal), and fails the test if it does not within the bound.
func (d *Daemon) Wait(t testing.TB, bound time.Duration) int {
	t.Helper()
	if !d.proc.wait(bound) {
		t.Fatalf("the daemon still runs after %v", bound)
	}
	return d.proc.cmd.ProcessState.ExitCode()
}
