// Package scenarios holds what retryd promises as tests of the whole: the daemon
// as a process of its own, against a real Apache Kafka and against the embedded
// broker, judged from outside.
package scenarios

import (
	"flag"
	"fmt"
	"os"
	"testing"

	"github.com/retryd/retryd/test/harness"
)

var suite = harness.NewSuite(1)

// TestMain lets more tests run at a time than there are processors: they wait for
// delays most of the time.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "6"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(suite.Main(m))
}
