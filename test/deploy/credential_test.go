package deploy

import (
	"fmt"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/retryd/retryd/internal/devbroker"
	"github.com/retryd/retryd/test/harness"
)

// The service manager hands over a folder with a file for each credential: what the
// documentation loads and what it has the configuration read must be the same.
func TestCredentialOfTheDocumentationReachesTheEndpoint(t *testing.T) {
	load := regexp.MustCompile(`(?m)^LoadCredential=(\w+):`).FindStringSubmatch(read(t, install))
	if load == nil {
		t.Fatalf("%s loads no credential", install)
	}
	settings := blocks(t, install, "yaml")
	if len(settings) != 1 {
		t.Fatalf("%d blocks of configuration in %s, want one", len(settings), install)
	}
	dir := t.TempDir()
	write(t, filepath.Join(dir, load[1]), "s3cret\n", 0o400)
	t.Setenv("CREDENTIALS_DIRECTORY", dir)

	broker, err := devbroker.Start(devbroker.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(broker.Close)
	endpoint := harness.StartEndpoint(t, nil)
	harness.CreateTopic(t, broker.Addrs(), "orders", 1, nil)
	daemon := suite.Daemon(t, fmt.Sprintf("kafka: {brokers: [%q]}\nrelays:\n  - topic: orders\n    start: earliest\n    tiers: [5s]\n%s      url: %q\n",
		broker.Addrs()[0], settings[0], endpoint.URL("/orders")))
	ledger := harness.NewLedger(t, broker.Addrs(), nil)
	if err := ledger.Write("orders", harness.Record{ID: "a", Value: []byte("a")}); err != nil {
		t.Fatal(err)
	}
	ledger.Close(t, endpoint, bound).Check(t)
	daemon.Stop(t)
	for _, call := range endpoint.Requests() {
		if got := call.Header.Get("Authorization"); got != "Bearer s3cret" {
			t.Errorf("Authorization is %q, want the credential", got)
		}
	}
}
