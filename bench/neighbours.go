package main

import (
	"fmt"

	"github.com/retryd/retryd/bench/load"
	"github.com/retryd/retryd/test/harness"
)

func neighbours() scenario {
	return scenario{
		name:  "neighbours",
		title: "a relay alone, beside one whose endpoint hangs, and beside one that is slow, both with a large backlog",
		method: "The relay of throughput (256 B) alone in its process, and with one more relay, whose main topic holds five times as many records: " +
			"its endpoint never answers (with a timeout of 10 s), or answers after 100 ms. Only requests of the first relay count, " +
			"and of four times as many as in throughput the second half: by then the other one has filled what it may of the window.",
		run: func(b *bench) ([]Row, error) {
			const topic, backlog = "quick", "backlog"
			value := load.Value(0, 256)
			same := func(int) []byte { return value }
			if err := b.fill(topic, partitions, 4*b.records, same); err != nil {
				return nil, err
			}
			if err := b.fill(backlog, partitions, 5*b.records, same); err != nil {
				return nil, err
			}
			reports, err := b.compare(b.pairs, load.Plan{Expected: 4 * b.records, Middle: 2 * b.records, Status: 200},
				b.mainRelay(topic, inFlight), b.beside("/hang", topic, backlog), b.beside("/slow", topic, backlog))
			if err != nil {
				return nil, err
			}
			var rows []Row
			for i, what := range []string{"one that hangs", "one that is slow"} {
				rows = append(rows, Row{
					Figure: "throughput beside " + what, Unit: "records/s", Values: each(reports[i+1], warmRate),
					Floor: "alone", Floors: each(reports[0], warmRate), Bar: atLeast(0.9),
				})
			}
			return rows, nil
		},
	}
}

// beside is a relay beside one with another path of the endpoint.
func (b *bench) beside(path, topic, backlog string) side {
	const keys = "start: earliest"
	return side{name: "beside " + path, start: func(run string) (*harness.Process, error) {
		return process(b.startDaemon(run,
			b.relay(topic, run, inFlight, keys, "tiers: [5s]"),
			b.relayTo(path, backlog, run+"-neighbour", inFlight, keys, fmt.Sprintf("prefix: %s-neighbour", run), "tiers: [5s]")))
	}}
}
