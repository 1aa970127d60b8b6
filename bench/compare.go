package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/retryd/retryd/bench/load"
	"github.com/retryd/retryd/test/harness"
)

// runBound is how long a run may take.
const runBound = 2 * time.Minute

// side is one of those that are compared.
type side struct {
	name  string
	start func(run string) (*harness.Process, error)
	load  func(run string) error // what is written while it runs; nil: nothing
	plan  load.Plan              // instead of that of the others, if it expects anything
	peer  bool                   // sends headers of its own: they are not compared
}

// compare lets all sides run in turn, as often as there are pairs to be, and returns
// their reports in the order of the sides. The order is turned round each time, so that
// what drifts, or what follows what, touches all of them alike.
func (b *bench) compare(pairs int, p load.Plan, sides ...side) ([][]load.Report, error) {
	reports := make([][]load.Report, len(sides))
	for pair := range pairs {
		for i := range sides {
			if pair%2 == 1 {
				i = len(sides) - 1 - i
			}
			r, err := b.measure(p, sides[i])
			if err != nil {
				return nil, fmt.Errorf("%s: %w", sides[i].name, err)
			}
			b.progress("%2d/%d %-14s %7d requests in %6.2f s, CPU %6.2f s", pair+1, pairs, sides[i].name, r.Arrived, r.Seconds(), r.CPU.Seconds())
			reports[i] = append(reports[i], r)
		}
	}
	return reports, sameHeaders(sides, reports)
}

// measure is one run of one side.
func (b *bench) measure(p load.Plan, s side) (load.Report, error) {
	if s.plan.Expected > 0 {
		p = s.plan
	}
	if err := b.endpoint.begin(p); err != nil {
		return load.Report{}, err
	}
	run := b.nextRun()
	proc, err := s.start(run)
	if err != nil {
		return load.Report{}, err
	}
	r, err := b.watch(proc, s, run)
	if err != nil {
		err = fmt.Errorf("%w\nthe end of its log:\n%s", err, proc.Tail())
	}
	_, stopped := proc.Terminate(stopGrace)
	return r, errors.Join(err, stopped)
}

// watch waits for the end of a run.
func (b *bench) watch(proc *harness.Process, s side, run string) (load.Report, error) {
	if err := b.endpoint.measures(proc.PID()); err != nil {
		return load.Report{}, err
	}
	written := make(chan error, 1)
	go func() {
		if s.load == nil {
			written <- nil
			return
		}
		written <- s.load(run)
	}()
	ctx, cancel := context.WithTimeout(b.ctx, runBound)
	defer cancel()
	reached := b.endpoint.await(ctx)
	if err := errors.Join(reached, <-written); err != nil {
		r, _ := b.endpoint.report() // what there is of it says more
		return r, fmt.Errorf("after %d requests: %w", r.Arrived, err)
	}
	return b.endpoint.report()
}

// sameHeaders returns an error unless all sides sent requests with the same headers.
func sameHeaders(sides []side, reports [][]load.Report) error {
	for i, each := range reports {
		if got, want := each[0].Headers, reports[0][0].Headers; !sides[i].peer && !slices.Equal(got, want) {
			return fmt.Errorf("requests of %s have the headers %v, those of %s %v", sides[i].name, got, sides[0].name, want)
		}
	}
	return nil
}

// each returns a figure of all reports.
func each(reports []load.Report, figure func(load.Report) float64) []float64 {
	var all []float64
	for _, r := range reports {
		all = append(all, figure(r))
	}
	return all
}

// rate is expected requests per second. The first one begins the time.
func rate(r load.Report) float64 { return float64(r.Arrived-1) / r.Seconds() }

// cost is processor time per request, in microseconds.
func cost(r load.Report) float64 { return r.CPU.Seconds() * 1e6 / float64(r.Arrived-1) }
