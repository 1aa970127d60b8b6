package inspect

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// Only reading starts it: the client library measures what it sends.
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("github.com/rcrowley/go-metrics.(*meterArbiter).tick"))
}
