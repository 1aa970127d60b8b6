package scenarios

import (
	"bytes"
	"net/http"
	"os/exec"
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
		d := suite.Daemon(t, configuration(addrs, "", first.relay("start: earliest"), second.relay("start: earliest")))
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
		d.Stop(t)
		first.account(t)
		second.account(t)
	})
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
