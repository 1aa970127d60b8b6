package main

import (
	"bytes"
	"flag"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"
)

// The short version of each run: an outage of four minutes, compressed to as many
// seconds.
const (
	shortOutage  = 4 * time.Minute
	shortWaiting = 200
	shortPoison  = 300
)

// TestMain lets more runs go on at a time than there are processors: they wait most of
// the time.
func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "5"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func TestOutageCostsNothing(t *testing.T) {
	for _, k := range kinds(shortOutage, shortWaiting) {
		t.Run(k.name, func(t *testing.T) {
			t.Parallel()
			expectBounds(t, report{outages: []result{k.outcome(t.Context())}})
		})
	}
}

func TestOutageCostsNothingOnApacheKafkaEither(t *testing.T) {
	t.Parallel()
	for _, k := range kinds(shortOutage, shortWaiting) {
		if k.name == "503" {
			k.kafka = true
			expectBounds(t, report{outages: []result{k.outcome(t.Context())}})
		}
	}
}

func TestPoisonAloneIsNoOutage(t *testing.T) {
	for _, health := range []bool{false, true} {
		t.Run(fmt.Sprint("health ", health), func(t *testing.T) {
			t.Parallel()
			r := poisonOutcome(t.Context(), shortPoison, health, false)
			expectBounds(t, report{poison: []poisoned{r}})
			if r.exhausted == 0 || r.limited == 0 {
				t.Errorf("%d exhausted, %d limited: one of the two ends is not tried", r.exhausted, r.limited)
			}
		})
	}
}

func expectBounds(t *testing.T, r report) {
	t.Helper()
	var out bytes.Buffer
	r.print(&out)
	t.Logf("\n%s", &out)
	if broken := r.broken(); len(broken) > 0 {
		t.Errorf("broken bounds:\n%s", strings.Join(broken, "\n"))
	}
}

func TestOutageWithoutTheBreakerIsTold(t *testing.T) {
	t.Parallel()
	k := kind{
		name: "unguarded", mode: http.StatusServiceUnavailable, unguarded: true,
		tiers:  []time.Duration{5 * time.Second, 30 * time.Second, time.Minute},
		outage: 3 * time.Minute, waiting: 100, every: time.Second, maySpend: minCalls + maxInFlight,
	}
	r := k.outcome(t.Context())
	if r.failed || r.deadLetters == 0 || r.spent <= r.kind.maySpend || r.posts <= r.mayPost {
		t.Errorf("without a breaker: %d dead letters, %d attempts spent, %d POSTs; %v", r.deadLetters, r.spent, r.posts, r.broken)
	}
	for _, want := range []string{"dead letters", "attempts spent, at most", "POSTs in the outage, at most"} {
		if !strings.Contains(strings.Join(r.broken, "\n"), want) {
			t.Errorf("no broken bound tells of %q: %q", want, r.broken)
		}
	}
}

func TestCommandLine(t *testing.T) {
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"no such run": {[]string{"-only", "flood"}, `no run has "flood" in its name`},
		"too short":   {[]string{"-outage", "1s"}, "outage must be at least 1m, the others at least 1, and there are no arguments"},
		"arguments":   {[]string{"503"}, "outage must be at least 1m, the others at least 1, and there are no arguments"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if err := run(t.Context(), tt.args, &out); err == nil || err.Error() != tt.want || out.Len() > 0 {
				t.Errorf("error %v, output %q", err, &out)
			}
		})
	}
}
