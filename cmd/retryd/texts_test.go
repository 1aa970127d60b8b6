package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/retryd/retryd/internal/app"
	"github.com/retryd/retryd/internal/config"
	"github.com/retryd/retryd/internal/inspect"
	"github.com/retryd/retryd/internal/policy"
)

func TestWhyARecordIsDead(t *testing.T) {
	want := map[policy.Reason]string{
		policy.ReasonRejected:  "the endpoint cannot read the record",
		policy.ReasonConflict:  "the record contradicts what the endpoint has",
		policy.ReasonExhausted: "this was the last attempt",
		policy.ReasonLimited:   "it may fail like this endpoint.limited_attempts times",
		policy.ReasonBudget:    "the budget leaves less than half of the next delay",
		policy.ReasonLifetime:  "its first failure is longer ago than its lifetime",
		policy.ReasonReplays:   "it was replayed max_replays times",
		policy.ReasonLoop:      "it failed as often as there are tiers",
	}
	for reason, text := range want {
		if got := whyDead(reason); got != text {
			t.Errorf("%s: %q, want %q", reason, got, text)
		}
	}
}

func TestNotesSayWhatLimitsDoToAnAttempt(t *testing.T) {
	r := inspect.RelayDescription{Budget: inspect.Seconds(60e9), Lifetime: inspect.Seconds(90e9)}
	tests := []struct {
		attempt inspect.Attempt
		want    string
	}{
		{inspect.Attempt{Shortened: true}, "Attempt 3: the budget (1m) may shorten the wait."},
		{inspect.Attempt{Budget: true}, "Attempt 3: the budget (1m) may not allow it."},
		{inspect.Attempt{Shortened: true, Budget: true}, "Attempt 3: the budget (1m) may shorten the wait, or not allow it."},
		{inspect.Attempt{Lifetime: true}, "Attempt 3: the lifetime (1m30s) may end before."},
		{inspect.Attempt{Budget: true, Lifetime: true}, "Attempt 3: the budget (1m) may not allow it; the lifetime (1m30s) may end before."},
		{inspect.Attempt{Never: true, Budget: true}, "Attempt 3 and those behind it are never made: the budget (1m) leaves less than half of the delay."},
		{inspect.Attempt{Never: true, Lifetime: true}, "Attempt 3 and those behind it are never made: the lifetime (1m30s) ends before."},
	}
	for _, tt := range tests {
		tt.attempt.Number = 3
		r.Attempts = []inspect.Attempt{{Number: 2}, tt.attempt}
		if diff := cmp.Diff([]string{tt.want}, notes(r)); diff != "" {
			t.Errorf("notes (-want +got):\n%s", diff)
		}
	}
}

func TestWatchdogThatIsNoNumberIsNamed(t *testing.T) {
	t.Setenv("WATCHDOG_USEC", "soon")
	t.Setenv("WATCHDOG_PID", "")
	err := serveSupervised(t.Context(), &config.Config{}, app.Options{})
	want := `ask for the service manager's watchdog: error converting WATCHDOG_USEC: strconv.Atoi: parsing "soon": invalid syntax`
	if err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
