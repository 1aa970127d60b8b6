package harness

import (
	"fmt"
	"testing"
	"time"
)

// pollInterval is how often a condition is looked at. Conditions are cheap, and
// what they wait for takes milliseconds to seconds.
const pollInterval = 10 * time.Millisecond

// WaitFor returns once cond holds, and fails the test if it does not within the
// bound. what completes the sentence "still waiting for".
func WaitFor(t testing.TB, bound time.Duration, what string, cond func() bool) {
	t.Helper()
	if err := poll(pollInterval, bound, what, func() (bool, error) { return cond(), nil }); err != nil {
		t.Fatal(err)
	}
}

// poll calls cond at the interval every until it holds, fails, or bound is over.
func poll(every, bound time.Duration, what string, cond func() (bool, error)) error {
	deadline := time.Now().Add(bound)
	for {
		done, err := cond()
		if err != nil || done {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("still waiting for %s after %v", what, bound)
		}
		time.Sleep(every)
	}
}
