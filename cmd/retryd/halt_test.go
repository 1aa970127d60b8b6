package main

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retryd/retryd/internal/admin"
	"github.com/retryd/retryd/internal/status"
)

// obeying is a daemon that answers every order with done, and tells of it.
func obeying(t *testing.T, done admin.Halted, err error, orders *[]string) string {
	t.Helper()
	do := func(_ context.Context, relay string, o admin.Order) (admin.Halted, error) {
		*orders = append(*orders, fmt.Sprintf("%s by %s: %s", relay, o.By, o.Reason))
		return done, err
	}
	return listen(t, admin.Source{Status: running, Stalled: healthy, Pause: do, Resume: do})
}

func TestOrdersSayWhatBecameOfTheRelay(t *testing.T) {
	since := time.Date(2026, 1, 31, 8, 0, 0, 0, time.UTC)
	paused := &status.Halt{State: status.Paused, Reason: "database\x1b[2J upgrade", By: "alice", Since: since}
	stopped := &status.Halt{State: status.Stopped, Reason: "status 410 Gone", By: "rule", Since: since}
	const until = "; its records wait and no attempt is spent, until: retryd resume loans\n"
	tests := []struct {
		name, command string
		done          admin.Halted
		want          string
	}{
		{"paused", "pause", admin.Halted{Halt: paused}, "relay loans is paused by alice since 2026-01-31 08:00:00 UTC: database [2J upgrade" + until},
		{"stopped before", "pause", admin.Halted{Was: stopped, Halt: stopped}, "relay loans is halted already: stopped by rule since 2026-01-31 08:00:00 UTC: status 410 Gone" + until},
		{"resumed", "resume", admin.Halted{Was: stopped}, "relay loans is resumed\n"},
		{"not halted", "resume", admin.Halted{}, "relay loans was not halted\n"},
		{"held by its breaker alone", "resume", admin.Halted{Endpoint: "delivery pauses until 12:00:08 UTC"},
			"relay loans was not halted, but its endpoint holds it up, which ends by itself: delivery pauses until 12:00:08 UTC\n"},
		{"resumed, and held by its breaker", "resume", admin.Halted{Was: paused, Endpoint: "delivery pauses until 12:00:08 UTC"},
			"relay loans is resumed, but its endpoint holds it up, which ends by itself: delivery pauses until 12:00:08 UTC\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var orders []string
			tt.done.Relay = "loans"
			addr := obeying(t, tt.done, nil, &orders)
			out := execute(t, nil, nil, tt.command, "loans", "--address", addr, "--reason", "why")
			if diff := cmp.Diff(output{Stdout: tt.want}, out); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff([]string{"loans by tester: why"}, orders); diff != "" {
				t.Errorf("orders (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOrdersThatFail(t *testing.T) {
	var orders []string
	addr := obeying(t, admin.Halted{}, fmt.Errorf("%w: %q; there is loans", admin.ErrNoRelay, "lones"), &orders)
	see := "\nSee \"retryd pause --help\".\n"
	tests := []struct {
		args []string
		want string
	}{
		{[]string{"lones", "--address", addr}, "retryd: " + addr + " answers 404 Not Found: no relay has this name: \"lones\"; there is loans\n"},
		{nil, "retryd: a relay is missing: name one that retryd status shows" + see},
		{[]string{"loans", "orders"}, "retryd: unexpected argument \"orders\": is the flag before it missing?" + see},
	}
	for _, tt := range tests {
		out := execute(t, nil, nil, append([]string{"pause"}, tt.args...)...)
		if diff := cmp.Diff(output{Code: 1, Stderr: tt.want}, out); diff != "" {
			t.Errorf("%v (-want +got):\n%s", tt.args, diff)
		}
	}
}

func TestStatusShowsAHalt(t *testing.T) {
	halted := func() status.Process {
		p := running()
		h := status.Halt{State: status.Paused, Reason: "database upgrade", By: "alice", Since: p.Since.Add(3 * time.Hour)}
		p.Relays[0].Halt = &h
		p.Relays[0].Problems = []status.Problem{{Text: h.Text("loans"), Since: h.Since}}
		return status.Assemble("1.2.3", p.Since, p.Time, nil, p.Relays[:1])
	}
	out := execute(t, nil, nil, "status", "--address", listen(t, admin.Source{Status: halted, Stalled: healthy}))
	want := `
  problem for 12m: paused by alice since 2026-01-31 11:00:00 UTC: database upgrade; its records
    wait and no attempt is spent, until: retryd resume loans
`
	if !strings.Contains(out.Stdout, "\nrelay loans: ready, paused, 3 attempts in flight") || !strings.Contains(out.Stdout, want) {
		t.Errorf("shown:\n%s", out.Stdout)
	}
	documented(t, want)
}
