package scenarios

import (
	"bytes"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/retryd/retryd/test/harness"
)

// promtool knows what Prometheus and its users expect of names, units and help texts.
func TestPromtoolHasNothingToSayOfTheMetrics(t *testing.T) {
	eachBroker(t, func(t *testing.T, addrs []string) {
		promtool := harness.Promtool(t)
		first := newChain(t, addrs, 2, failing("bad"), 0, 0)
		second := newChain(t, addrs, 1, always(http.StatusUnprocessableEntity), time.Hour)
		first.write(t, slices.Concat(records("good", 10), records("bad", 2))...)
		second.write(t, records("invalid", 3)...)
		d := suite.Daemon(t, configuration(addrs, "", first.relay("start: earliest", first.behindTLS(t).key()), second.relay("start: earliest")))
		for _, c := range []*chain{first, second} {
			c.ledger.Close(t, c.endpoint, bound)
			c.awaitCommitted(t, c.group(), c.topic)
		}
		awaitMetric(t, d, first.series("retryd_dead_letter_records"), 2)
		awaitMetric(t, d, second.series("retryd_dead_letter_records"), 3)

		_, page, err := d.Get("/metrics")
		if err != nil {
			t.Fatal(err)
		}
		check := exec.CommandContext(t.Context(), promtool, "check", "metrics")
		check.Stdin = strings.NewReader(page)
		var said bytes.Buffer
		check.Stdout, check.Stderr = &said, &said
		if err := check.Run(); err != nil || said.Len() > 0 {
			t.Errorf("promtool check metrics: %v\n%s", err, said.String())
		}
		checkManualsMetrics(t, page)
		d.Stop(t)
		first.account(t)
		second.account(t)
	})
}

// alerts is the block of rules in the manual.
var alerts = regexp.MustCompile("(?s)```yaml\n(groups:\n.*?)```")

// The manual's rules are what people copy: Prometheus must take them.
func TestPromtoolTakesTheAlertsOfTheManual(t *testing.T) {
	t.Parallel()
	rules := alerts.FindStringSubmatch(readManual(t))
	if rules == nil {
		t.Fatal("docs/operations.md has no alerts")
	}
	file := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(file, []byte(rules[1]), 0o600); err != nil {
		t.Fatal(err)
	}
	output, err := exec.CommandContext(t.Context(), harness.Promtool(t), "check", "rules", file).CombinedOutput()
	if err != nil {
		t.Errorf("promtool check rules: %v\n%s", err, output)
	}
}

func checkManualsMetrics(t *testing.T, page string) {
	t.Helper()
	for _, name := range regexp.MustCompile(`retryd_[a-z_]+`).FindAllString(readManual(t), -1) {
		if !strings.Contains(page, "\n# TYPE "+name+" ") {
			t.Errorf("docs/operations.md names %s, which is not in /metrics", name)
		}
	}
}

// The lag of a partition that another instance owns is there, and nowhere else.
func TestSeriesOfLostPartitionsVanish(t *testing.T) {
	eachBroker(t, func(t *testing.T, addrs []string) {
		c := newChain(t, addrs, 2, nil, time.Hour)
		owned := func(d *harness.Daemon) int {
			_, page, err := d.Get("/metrics")
			if err != nil {
				return -1
			}
			return strings.Count(page, "\nretryd_lag_records{partition=") / 2 // due and held
		}
		first := c.run(t)
		const all = 4 // main and one tier
		harness.WaitFor(t, bound, "the lag of every partition", func() bool { return owned(first) == all })
		second := c.run(t)
		harness.WaitFor(t, bound, "each partition's lag in one instance", func() bool {
			return owned(first) == all/2 && owned(second) == all/2
		})
		second.Stop(t)
		harness.WaitFor(t, bound, "the lag of every partition again", func() bool { return owned(first) == all })
		c.settle(t, first)
	})
}
