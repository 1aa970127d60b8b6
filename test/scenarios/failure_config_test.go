package scenarios

import (
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retryd/retryd/test/harness"
)

// A wrong file ends the daemon before it listens or connects: the log is the one
// place that tells.
func TestWrongConfigurationEndsTheDaemonWithOneLineForEachProblem(t *testing.T) {
	t.Parallel()
	d := harness.StartDaemon(t, suite.Binary(t), `kafka: {brokers: [127.0.0.1:9092]}
relays:
- topic: library.loan.overdue
  start: erliest
  tiers: [5, 30s]
  endpiont: {url: http://127.0.0.1:8080/loans/overdue}
`)
	if code := d.Wait(t, bound); code != 78 {
		t.Errorf("the daemon ended with exit code %d, want 78", code)
	}
	got := regexp.MustCompile(`(?m)^.*/retryd\.yaml:`).ReplaceAllString(d.Log(), "retryd.yaml:")
	want := `retryd.yaml:4: relays[0].start: "erliest" is not earliest, latest or an RFC 3339 time, as in 2026-01-31T08:00:00Z
retryd.yaml:5: relays[0].tiers[0]: 5 has no unit; write 5s, or use ms, m or h
retryd.yaml:6: relays[0].endpiont: unknown key, did you mean "endpoint"?
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the log (-want +got):\n%s", diff)
	}
	row := manualRow(t, "The configuration is wrong.")
	for _, text := range []string{strings.Split(want, "\n")[1], strings.Split(want, "\n")[2], "Exit code 78"} {
		if !strings.Contains(row, text) {
			t.Errorf("docs/operations.md says nothing of %q", text)
		}
	}
}
