package deploy

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retryd/retryd/internal/devbroker"
	"github.com/retryd/retryd/test/harness"
)

// What docs/configuration.md shows of a check is what it prints.
func TestCheckPrintsWhatTheDocumentationShows(t *testing.T) {
	samples := blocks(t, "docs/configuration.md", "")
	i := slices.IndexFunc(samples, func(block string) bool { return strings.HasPrefix(block, "Kafka and the endpoints\n") })
	if i < 0 {
		t.Fatal("docs/configuration.md shows no check --connect")
	}
	broker, err := devbroker.Start(devbroker.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(broker.Close)
	harness.CreateTopic(t, broker.Addrs(), "loans", 3, nil)
	ledger := harness.NewLedger(t, broker.Addrs(), nil)
	if err := ledger.Write("loans", make([]harness.Record, 5)...); err != nil {
		t.Fatal(err)
	}
	endpoint := harness.StartEndpoint(t, nil)
	if err := endpoint.Down(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "retryd.yaml")
	write(t, file, fmt.Sprintf("kafka: {brokers: [%q]}\nrelays: [{topic: loans, start: earliest, tiers: [5s, 30s], endpoint: {url: %q}}]\n",
		broker.Addrs()[0], endpoint.URL("/loans")), 0o600)
	output, err := exec.CommandContext(t.Context(), suite.Binary(t), "check", "--connect", "--config", file).Output()
	var ended *exec.ExitError
	if !errors.As(err, &ended) || ended.ExitCode() != 1 {
		t.Fatalf("check --connect ended with %v, want exit code 1", err)
	}
	_, got, _ := strings.Cut(string(output), "Kafka and the endpoints\n")
	addr := regexp.MustCompile(`connect (\S+:\d+):`).FindStringSubmatch(got)
	if addr == nil {
		t.Fatalf("no endpoint in\n%s", output)
	}
	got = strings.NewReplacer(broker.Addrs()[0], "127.0.0.1:9092", addr[1], "127.0.0.1:8080", "brokers: 0 at", "brokers: 1 at").Replace(got)
	_, want, _ := strings.Cut(samples[i], "\n")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("check --connect (-documentation +printed):\n%s", diff)
	}
}
