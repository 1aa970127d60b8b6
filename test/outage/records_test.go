package main

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestSpreadWritesNothingAheadOfItsTime(t *testing.T) {
	delays := kind{tiers: longTiers(time.Hour)}.delays()
	now, from, to := at(300), at(600), at(60_600)
	tiers := map[int]int{}
	all := spread(600, from, to, now, delays)
	for i, w := range all {
		if want := from.Add(time.Duration(i) * 100 * time.Millisecond); !w.due.Equal(want) {
			t.Fatalf("record %d is due %s, want %s", i, w.due, want)
		}
		if written := w.due.Add(-delays[w.tier-1]); written.After(at(600)) {
			t.Errorf("record %d would be written to tier %d %s from now", i, w.tier, written.Sub(now))
		}
		tiers[w.tier]++
	}
	for tier := range delays {
		if got, want := tiers[tier+1] > 0, tier == 1 || tier == 2; got != want {
			t.Errorf("%d records wait in tier %d", tiers[tier+1], tier+1)
		}
	}
}

func TestWaitingRecordIsAsRetrydWritesIt(t *testing.T) {
	delays := []time.Duration{time.Second, 10 * time.Second}
	m := waiting{id: "a", tier: 2, limited: 1, due: at(10_000)}.message(4, delays)
	got := map[string]string{}
	for _, h := range m.Headers {
		got[string(h.Key)] = string(h.Value)
	}
	want := map[string]string{
		"x-attempt": "2", "x-limited": "1",
		"x-first-failure-at": millis(at(-1000)), "x-not-before": millis(at(10_000)),
		"x-trace":   "main@2026-03-01T11:59:59.000Z>library.loan.overdue.retry.1@2026-03-01T11:59:59.000Z>library.loan.overdue.retry.2@2026-03-01T12:00:00.000Z",
		"x-late-ms": "0", "x-event-id": "a",
		"x-origin-topic": topic, "x-origin-partition": "1", "x-origin-offset": "1", "x-origin-timestamp": millis(at(-1000)),
		"x-consumer": "library.loan.overdue/retryd-library.loan.overdue",
		"x-class":    "unknown", "x-status": "500", "x-error-kind": "status", "x-error": "HTTP 500", "x-last-failure-at": millis(at(0)),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("headers (-want +got):\n%s", diff)
	}
	if m.Topic != "library.loan.overdue.retry.2" || !m.Timestamp.Equal(at(0)) {
		t.Errorf("written to %s at %s", m.Topic, m.Timestamp)
	}
}
