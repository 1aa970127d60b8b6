package harness

import (
	"os"
	"strings"
	"syscall"
	"testing"
)

func TestDaemonIsReadyAndStops(t *testing.T) {
	d := StartDaemon(t, os.Args[0], "relays: []")
	d.WaitReady(t)
	if status, body, err := d.Get("/metrics"); err != nil || status != 200 || body != "/metrics" {
		t.Errorf("the admin listener answered %d %q, %v", status, body, err)
	}
	if !strings.Contains(d.Log(), "reads retryd.yaml") {
		t.Errorf("log is %q", d.Log())
	}
	d.Stop(t)
}

func TestDaemonIsKilled(t *testing.T) {
	d := StartDaemon(t, os.Args[0], "relays: []")
	d.WaitReady(t)
	d.Kill(t)
	if code := d.Wait(t, testBound); code != -1 {
		t.Errorf("exit code %d, want -1 for a signal", code)
	}
	d.Signal(t, syscall.SIGTERM)
}

func TestDaemonTellsItsExitCode(t *testing.T) {
	d := StartDaemon(t, os.Args[0], "invalid: true")
	if code := d.Wait(t, testBound); code != 78 {
		t.Errorf("exit code %d, want 78", code)
	}
}
