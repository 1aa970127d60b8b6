package main

import (
	"slices"
	"time"

	"github.com/retryd/retryd/bench/load"
	"github.com/retryd/retryd/test/harness"
)

const (
	// retryDelay is that of the only retry.
	retryDelay = 5 * time.Second
	// jvmStart is how long nothing is written, so that no backlog awaits a virtual
	// machine which starts.
	jvmStart = 5 * time.Second

	// Spring Kafka with its defaults has so many records a second, and so many times
	// fewer in all: more failures than a few a second it does not keep up with.
	defaultsRate  = 2
	defaultsFewer = 160
)

func peerLateness() scenario {
	return scenario{
		name:  "peer-lateness",
		title: "due to second attempt, 1,000 due records a second over six partitions, a delay of 5 s without jitter",
		method: "1,000 records a second are written into the main topic, for as many seconds as throughput has five thousands of records. " +
			"The endpoint answers the first request for each with 503; the second is due 5 s after that request arrived, by the endpoint's clock for all sides, " +
			"so that lateness includes the time from there to the decision. The first half of the records warms up and is not measured. " +
			"Early are requests more than 1 ms before their time: Spring Kafka reads the time of a failure in whole milliseconds, rounded down; retryd rounds due times up. " +
			"Spring Kafka with its defaults cannot escalate 1,000 records a second: it has 2 a second, and a 160th of the records. " +
			"The timer loop is that of lateness, and knows when records are due from the start.",
		run: func(b *bench) ([]Row, error) {
			p, err := b.peers()
			if err != nil {
				return nil, err
			}
			records := b.records / 5
			tuned := spring{tuned: true, partitions: partitions, connections: 2 * partitions, retries: 1, delay: retryDelay, poll: punctualPoll}
			defaults := tuned
			defaults.tuned = false
			timer := b.timerLoop(records / 2)
			timer.plan = load.Plan{Expected: records / 2, Status: 200, Due: true}
			reports, err := b.compare(b.pairs, refusing(records), b.refused(records, dueRate, "retryd", b.startRefused), timer,
				p.refusedSpring(records, dueRate, tuned), p.refusedSpring(records/defaultsFewer, defaultsRate, defaults))
			if err != nil {
				return nil, err
			}
			return lateRows(reports), nil
		},
	}
}

// refusing is the plan of records that are refused once.
func refusing(records int) load.Plan {
	return load.Plan{Expected: 2 * records, Numbered: records, Warmup: records / 2, Status: 200, Retry: retryDelay}
}

// refused reads a topic of the run's name, into which so many records a second are
// written while it runs.
func (b *bench) refused(records, rate int, name string, start func(run string) (*harness.Process, error)) side {
	return side{
		name: name, plan: refusing(records),
		start: func(run string) (*harness.Process, error) {
			if err := harness.MakeTopic(b.cluster.Addrs(), run, partitions, nil); err != nil {
				return nil, err
			}
			return start(run)
		},
		load: func(run string) error { return b.number(run, records, rate) },
	}
}

func (b *bench) startRefused(run string) (*harness.Process, error) {
	return process(b.startDaemon(run, b.relay(run, run, inFlight, "start: earliest", "jitter: 0", "tiers: [5s]")))
}

func (p *peers) refusedSpring(records, rate int, s spring) side {
	refused := p.refused(records, rate, s.name(), func(run string) (*harness.Process, error) { return p.startSpring(run, run, s) })
	refused.peer = true
	return refused
}

// number writes numbered records at a steady rate.
func (b *bench) number(topic string, records, rate int) error {
	if err := sleep(b.ctx, jvmStart); err != nil {
		return err
	}
	w, err := b.newWriter()
	if err != nil {
		return err
	}
	err = pace(b.ctx, records, rate, func(i int) {
		w.write(topic, partitions, i, load.Value(int64(i), 256), time.Now())
	})
	if closed := w.close(); err == nil {
		err = closed
	}
	return err
}

func lateRows(reports [][]load.Report) []Row {
	floors := []versus{{1, "timer loop", Bar{}}, {2, springTuned, Bar{}}, {3, springDefaults, Bar{}}}
	return slices.Concat(
		against(reports, Row{Figure: "lateness, median", Unit: "ms"}, late(0.5), floors...),
		against(reports, Row{Figure: "lateness, 99 %", Unit: "ms"}, late(0.99), floors...),
		against(reports, Row{Figure: "lateness, maximum", Unit: "ms"}, late(1), floors...),
		against(reports, Row{Figure: "CPU per request", Unit: "µs"}, cost, floors[1:]...),
		[]Row{
			{Figure: "early", Unit: "records", Values: each(reports[0], early), Bar: atMost(0)},
			{Figure: "early, " + springTuned, Unit: "records", Values: each(reports[2], early)},
		},
	)
}

// early counts what came more than a millisecond too soon.
func early(r load.Report) float64 {
	n, _ := slices.BinarySearch(r.Late, -time.Millisecond)
	return float64(n)
}
