// Package examples runs what docs/examples holds, against a real PostgreSQL and behind
// the daemon, and shows that PostgreSQL does what docs/idempotency.md says of it.
package examples

import (
	"os"
	"testing"
	"time"

	"github.com/retryd/retryd/test/harness"
)

// folder holds the examples, seen from here.
const folder = "../../docs/examples/idempotent"

// bound is how long a test waits for anything. It is reached only when something is
// broken, so it allows for a machine that is slow.
const bound = time.Minute

var suite = harness.NewSuite(1)

func TestMain(m *testing.M) { os.Exit(suite.Main(m)) }
