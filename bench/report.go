package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/retryd/retryd/bench/stats"
)

// columns are the heads of a row's cells, on standard output and in the document.
func columns() []string {
	return []string{"figure", "unit", "retryd", "compared with", "its figure", "ratio", "interval", "runs", "bar", ""}
}

// cells are the columns of a row.
func (r Row) cells() []string {
	floor, floorValue, ratio, interval := "", "", "", ""
	if s, ok := r.ratio(); ok {
		floor, floorValue = r.Floor, number(stats.Median(r.Floors))
		ratio = fmt.Sprintf("%.2f", s.Median)
		interval = fmt.Sprintf("%.2f to %.2f (%.0f %%)", s.Low, s.High, 100*s.Coverage)
	}
	bar, verdict := "", ""
	if r.Bar != (Bar{}) {
		bar, verdict = r.Bar.Sign+" "+strconv.FormatFloat(r.Bar.Value, 'g', -1, 64), "met"
		if !r.Bar.met(r.judged()) {
			verdict = "**not met**"
		}
	}
	return []string{
		r.Figure, r.Unit, number(stats.Median(r.Values)), floor, floorValue, ratio, interval,
		strconv.Itoa(len(r.Values)), bar, verdict,
	}
}

// number prints three digits or more, and none behind the point of what is large.
func number(v float64) string {
	switch {
	case v >= 100 || v == 0 || v <= -100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 10 || v <= -10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

// print writes the table of a scenario.
func (r Result) print(out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, strings.Join(columns(), "\t"))
	for _, row := range r.Rows {
		fmt.Fprintln(table, strings.ReplaceAll(strings.Join(row.cells(), "\t"), "**", ""))
	}
	return table.Flush()
}
