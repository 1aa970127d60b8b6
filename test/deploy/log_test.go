package deploy

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/retryd/retryd/test/harness"
)

// The log is a stream of the service manager's: it may fill up, or its reader may go.
func TestDaemonOutlivesItsLog(t *testing.T) {
	tests := []struct {
		name   string
		stream string // where a shell sends it
		want   string
	}{
		{"a full disk", "/dev/full", "\nlog cannot be written: no space left on device\n"},
		{"a reader that has gone", ">(true)", "\nlog cannot be written: broken pipe\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			shell := filepath.Join(t.TempDir(), "retryd")
			write(t, shell, fmt.Sprintf("#!/usr/bin/env bash\nexec '%s' \"$@\" 2> %s\n", suite.Binary(t), tt.stream), 0o755)
			daemon := harness.StartDaemon(t, shell, relayOf("127.0.0.1:1", "http://127.0.0.1:1/"))
			harness.WaitFor(t, bound, "the problem in /readyz", func() bool {
				_, text, err := daemon.Get("/readyz")
				return err == nil && strings.Contains(text, tt.want)
			})
			status, page, err := daemon.Get("/metrics")
			if err != nil || status != http.StatusOK || strings.Contains(page, "\nretryd_log_write_errors_total 0\n") {
				t.Errorf("/metrics answers %d, %v; want a count of lost lines", status, err)
			}
			daemon.Stop(t)
		})
	}
}
