package main

import (
	"github.com/retryd/retryd/bench/load"
)

// warmRate and warmCost are rate and cost behind the middle of a run, coldRate and
// coldCost those before it.
func warmRate(r load.Report) float64 {
	return float64(r.Arrived/2) / r.Last.Sub(r.Middle).Seconds()
}

func warmCost(r load.Report) float64 {
	return (r.CPU - r.MiddleCPU).Seconds() * 1e6 / float64(r.Arrived/2)
}

func coldRate(r load.Report) float64 {
	return float64(r.Arrived/2) / r.Middle.Sub(r.First).Seconds()
}

func coldCost(r load.Report) float64 {
	return r.MiddleCPU.Seconds() * 1e6 / float64(r.Arrived/2)
}

// halves compares rates and costs of both halves of each run. What unit counts is a
// request.
func halves(reports [][]load.Report, unit string, floors ...versus) []Row {
	var rows []Row
	for _, f := range []struct {
		name, unit string
		figure     func(load.Report) float64
	}{
		{unit + "s, warm", unit + "s/s", warmRate},
		{unit + "s, cold", unit + "s/s", coldRate},
		{"CPU per " + unit + ", warm", "µs", warmCost},
		{"CPU per " + unit + ", cold", "µs", coldCost},
	} {
		rows = append(rows, against(reports, Row{Figure: f.name, Unit: f.unit}, f.figure, floors...)...)
	}
	return rows
}
