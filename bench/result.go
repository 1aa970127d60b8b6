package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/retryd/retryd/bench/load"
	"github.com/retryd/retryd/bench/stats"
)

// Result is what a scenario found, as it is kept in <out>/<scenario>.json.
type Result struct {
	Scenario string    `json:"scenario"`
	Title    string    `json:"title"`
	Method   string    `json:"method"`
	Machine  Machine   `json:"machine"`
	Began    time.Time `json:"began"`
	Seconds  int       `json:"seconds"`
	Pairs    int       `json:"pairs"`
	Records  int       `json:"records"`
	Rows     []Row     `json:"rows"`
}

// Row is one figure, and what it is compared with, if anything.
type Row struct {
	Figure string    `json:"figure"`
	Unit   string    `json:"unit"`
	Values []float64 `json:"values"` // of each run
	Floor  string    `json:"floor,omitempty"`
	Floors []float64 `json:"floor_values,omitempty"` // of the run that is paired with the one of Values
	Bar    Bar       `json:"bar,omitzero"`
}

// Bar is what a figure has to reach: a ratio if there is a floor, else a value. The
// zero Bar is none.
type Bar struct {
	Sign  string  `json:"sign"` // ≥, ≤ or <
	Value float64 `json:"value"`
}

func atLeast(v float64) Bar { return Bar{"≥", v} }
func atMost(v float64) Bar  { return Bar{"≤", v} }
func below(v float64) Bar   { return Bar{"<", v} }

// met reports whether v reaches the bar.
func (b Bar) met(v float64) bool {
	switch b.Sign {
	case "≥":
		return v >= b.Value
	case "≤":
		return v <= b.Value
	case "<":
		return v < b.Value
	}
	return true
}

// ratio summarizes the ratios of the pairs; ok is false without a floor.
func (r Row) ratio() (s stats.Summary, ok bool) {
	if len(r.Floors) == 0 {
		return s, false
	}
	return stats.Summarize(stats.Ratios(r.Values, r.Floors)), true
}

// judged is what the bar is about.
func (r Row) judged() float64 {
	if s, ok := r.ratio(); ok {
		return s.Median
	}
	return stats.Median(r.Values)
}

// versus is a side to compare with the first one.
type versus struct {
	side int
	name string
	bar  Bar
}

// against returns a row for each side that the first one is compared with.
func against(reports [][]load.Report, row Row, figure func(load.Report) float64, floors ...versus) []Row {
	var rows []Row
	for _, f := range floors {
		row.Values, row.Floor, row.Floors, row.Bar = each(reports[0], figure), f.name, each(reports[f.side], figure), f.bar
		rows = append(rows, row)
	}
	return rows
}

// save keeps the result in its file.
func (r Result) save(dir string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("keep the results: %w", err)
	}
	return os.WriteFile(filepath.Join(dir, r.Scenario+".json"), append(text, '\n'), 0o644)
}

// readResults returns the results that are kept, in the order of scenarios; those of
// other programs come behind, by name.
func readResults(dir string) ([]Result, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	known := map[string]Result{}
	var others, all []Result
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var r Result
		if err := json.Unmarshal(text, &r); err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
		if _, err := choose(r.Scenario, false); err != nil {
			others = append(others, r)
			continue
		}
		known[r.Scenario] = r
	}
	for _, s := range slices.Concat(scenarios(), peerScenarios()) {
		if r, ok := known[s.name]; ok {
			all = append(all, r)
		}
	}
	return append(all, others...), nil
}
