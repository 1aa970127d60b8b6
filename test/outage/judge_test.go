package main

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var began = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// at returns a time so many milliseconds after an outage of 10 s began.
func at(ms int) time.Time { return began.Add(time.Duration(ms) * time.Millisecond) }

// answered is a request that took a millisecond.
func answered(id string, attempt int, m mode, ms int) call {
	return call{id: id, attempt: attempt, mode: m, arrived: at(ms), ended: at(ms + 1)}
}

// well is an outage in which one record spent an attempt, a probe failed, and both
// records were accepted after it.
func well() evidence {
	return evidence{
		written: map[string]int{"fresh": 0, "waiting": 2},
		calls: []call{
			answered("fresh", 1, http.StatusServiceUnavailable, 10),
			answered("waiting", 3, http.StatusServiceUnavailable, 5000),
			answered("waiting", 3, http.StatusOK, 10_500),
			answered("fresh", 2, http.StatusOK, 10_700),
		},
		hops: []hop{
			{id: "waiting", attempts: 2, failed: at(-5000)},
			{id: "fresh", attempts: 1, failed: at(11), status: http.StatusServiceUnavailable},
		},
		began: began, ended: at(10_000),
	}
}

// steady is a pace that never paused in the minute from the outage's beginning.
func steady() *pace {
	p := &pace{}
	for t := began; t.Before(at(60_000)); t = t.Add(tick) {
		p.tick(t)
	}
	return p
}

func TestJudge(t *testing.T) {
	k := kind{mode: http.StatusServiceUnavailable, maySpend: 1}
	more := func(c ...call) func(*evidence) { return func(e *evidence) { e.calls = append(e.calls, c...) } }
	hops := func(h ...hop) func(*evidence) { return func(e *evidence) { e.hops = append(e.hops, h...) } }
	flood := make([]call, 100)
	for i := range flood {
		flood[i] = answered(fmt.Sprint("flood-", i), 1, http.StatusOK, 10_550)
	}
	tests := []struct {
		name   string
		change func(*evidence)
		want   []string
	}{
		{"all is well", func(*evidence) {}, nil},
		{"a dead letter", hops(hop{id: "waiting", attempts: 2, reason: "exhausted", failed: at(6000), status: http.StatusServiceUnavailable}), []string{"1 dead letters"}},
		{"an attempt too many", func(e *evidence) {
			e.hops = append(e.hops, hop{id: "fresh", attempts: 2, failed: at(400), status: http.StatusServiceUnavailable})
			e.calls[3].attempt = 3
		}, []string{"2 attempts spent, at most 1 were allowed"}},
		{"an attempt that was spent after the outage", func(e *evidence) {
			e.hops = append(e.hops, hop{id: "fresh", attempts: 2, failed: at(11_100), status: http.StatusServiceUnavailable})
			e.calls[3].attempt = 3
		}, nil},
		{"an attempt that was spent before the outage", func(e *evidence) {
			e.hops = append(e.hops, hop{id: "fresh", attempts: 2, failed: at(-2), status: http.StatusServiceUnavailable})
			e.calls[3].attempt = 3
		}, nil},
		{"an attempt for which the machine was too slow", func(e *evidence) {
			e.hops = append(e.hops, hop{id: "fresh", attempts: 2, failed: at(400)})
			e.calls[3].attempt = 3
		}, nil},
		{"a record that was moved without an attempt", hops(hop{id: "waiting", attempts: 2, failed: at(-5000)}), nil},
		{"a lost record", func(e *evidence) { e.calls = e.calls[:3] }, []string{"fresh: accepted in attempt 0, its topics tell of 1 failed ones"}},
		{"an attempt that nobody counted", func(e *evidence) { e.calls[2].attempt = 4 }, []string{"waiting: accepted in attempt 4, its topics tell of 2 failed ones"}},
		{"a repeat", more(answered("waiting", 3, http.StatusOK, 12_000)), nil},
		{"repeats", more(slices.Repeat([]call{answered("waiting", 3, http.StatusOK, 12_000)}, 17)...), []string{"17 records were accepted twice, at most 16 may be"}},
		{"a repeat after a lost answer", func(e *evidence) {
			e.calls = append(e.calls, answered("waiting", 4, http.StatusOK, 12_000))
			e.hops = append(e.hops, hop{id: "waiting", attempts: 3, failed: at(11_000), status: http.StatusServiceUnavailable})
		}, nil},
		{"a lost answer whose repeat is to come", hops(hop{id: "waiting", attempts: 3, failed: at(11_000), status: http.StatusServiceUnavailable}), nil},
		{"a stranger", more(answered("stranger", 1, http.StatusOK, 12_000)), []string{`a request for "stranger", which nobody wrote`}},
		{"too many requests", func(e *evidence) {
			e.calls = slices.Insert(e.calls, 1, slices.Repeat([]call{answered("fresh", 1, http.StatusServiceUnavailable, 100)}, 80)...)
		}, []string{"82 POSTs in the outage, at most 69 were allowed"}},
		{"a late return", func(e *evidence) { e.calls[2].arrived, e.calls[3].arrived = at(11_200), at(11_300) },
			[]string{"delivery resumed after 1.2s, more than a probe interval"}},
		{"no return", func(e *evidence) {
			e.calls = e.calls[:2]
			e.written = nil
			e.hops = nil
		}, []string{"delivery did not resume"}},
		{"a flood", func(e *evidence) {
			e.calls = append(e.calls, flood...)
			for _, c := range flood {
				e.written[c.id] = 0
			}
		}, []string{"the endpoint got 8.42 times what the ramp allows"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := well()
			tt.change(&e)
			r := judge(k, e, steady())
			if diff := cmp.Diff(tt.want, r.broken); diff != "" {
				t.Errorf("broken bounds (-want +got):\n%s", diff)
			}
		})
	}
}

func TestResumptionAfterHangingCountsFromTheLastRequestThatHung(t *testing.T) {
	e := well()
	e.calls[1].mode, e.calls[1].ended = hanging, at(10_300)
	if r := judge(kind{maySpend: 1}, e, steady()); r.resume != 200*time.Millisecond {
		t.Errorf("resumed after %s, want 200ms", r.resume)
	}
}

func TestPaceStandsStillWithTheProcess(t *testing.T) {
	p := &pace{}
	for _, ms := range []int{0, 5, 11, 800, 806} {
		p.tick(at(ms))
	}
	for _, tt := range []struct{ from, to, want int }{
		{0, 11, 11},
		{5, 11, 6},
		{11, 806, 16}, // a tick took 789 ms
		{0, 5000, 27},
		{-50, 0, 0},
	} {
		if got := p.between(at(tt.from), at(tt.to)); got != time.Duration(tt.want)*time.Millisecond {
			t.Errorf("from %d to %d ms: %s passed, want %d ms", tt.from, tt.to, got, tt.want)
		}
	}
}

func TestRateOnTheRamp(t *testing.T) {
	// evenly returns arrivals at a share of the rate, which grows as the ramp does.
	evenly := func(times float64) (all []time.Time) {
		due := 0.0
		for ms := range 3000 {
			share := max(leastShare, min(1, float64(ms)*float64(time.Millisecond)/float64(compressed(ramp))))
			for due += times * share * perSecond / 1000; due >= 1; due-- {
				all = append(all, at(ms))
			}
		}
		return all
	}
	if got := peak(began, evenly(1)); got > 1 || got < 0.7 {
		t.Errorf("along the ramp the peak is %.2f of what is allowed", got)
	}
	if got := peak(began, evenly(1.6)); got <= 1 {
		t.Errorf("with 1.6 times the rate the peak is %.2f of what is allowed", got)
	}
	if got := peak(began, nil); got != 0 {
		t.Errorf("without requests the peak is %.2f", got)
	}
}

func TestReportOfARunWithoutAnEndHasNoFigures(t *testing.T) {
	r := report{
		outages: []result{
			{kind: kind{name: "503", maySpend: 36}, spent: 5, posts: 40, mayPost: 100, resume: compressed(maxProbeInterval) / 2, rate: 0.91},
			{kind: kind{name: "500"}, failed: true, broken: []string{"no broker"}},
			{kind: kind{name: "refused", mode: refused, maySpend: 36}, deadLetters: 1, broken: []string{"a", "b", "c", "d", "e", "f", "g"}},
		},
		poison: []poisoned{{records: 10, exhausted: 4, limited: 6, posts: 21, latest: 10 * time.Millisecond}},
	}
	var out strings.Builder
	r.print(&out)
	want := `| outage | dead letters | attempts spent | allowed | POSTs meanwhile | allowed | resumed after, in probe intervals | peak rate over the limit | repeats |
| --- | --- | --- | --- | --- | --- | --- | --- | --- |
| 503 | 0 | 5 | 36 | 40 | 100 | 0.50 | 0.91 | 0 |
| 500 | no result |  |  |  |  |  |  |  |
| refused | 1 | 0 | 36 | not seen |  | 0.00 | 0.00 | 0 |

| poison alone | records | dead letters | ` + "`exhausted` | `limited`" + ` | attempts | latest after it was due |
| --- | --- | --- | --- | --- | --- | --- |
| 500 for ever | 10 | 10 | 4 | 6 | 21 | 600ms |
500: no broker
refused: a
refused: b
refused: c
refused: d
refused: e
refused: and 2 more
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}
}

func TestOperationsShowWhatIsPrinted(t *testing.T) {
	data, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	r := report{poison: []poisoned{{}, {health: true}}}
	for _, k := range kinds(time.Hour, 1) {
		r.outages = append(r.outages, result{kind: k})
	}
	var out strings.Builder
	r.print(&out)
	for line := range strings.Lines(out.String()) {
		begins := line
		if cells := strings.SplitAfterN(line, "|", 3); strings.Contains(line, "| 0 |") {
			begins = cells[0] + cells[1] // the figures are a machine's
		}
		if !strings.Contains(string(data), "\n"+begins) {
			t.Errorf("docs/operations.md has no row %q", begins)
		}
	}
}
