package main

import (
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/retryd/retryd/bench/load"
	"github.com/retryd/retryd/bench/stats"
	"github.com/retryd/retryd/test/harness"
)

const (
	dueRate  = 1000 // records per second
	dueDelay = 5 * time.Second
	jitter   = 0.2

	// longDelay is that of the tier which holds the backlog: longer than the scenario.
	longDelay = time.Hour
	longTier  = "long"
)

// lateMethod is common to both scenarios of lateness.
const lateMethod = "1,000 records a second, of 256 B, are written straight into a tier of 5 s, for as many seconds as throughput has ten thousands of " +
	"records and half as many again; each is due after 5 s and a jitter of a fifth. Their values say when they are due, " +
	"and the endpoint, which is otherwise idle, notes how much later each request arrives. " +
	"The floor knows from the start when its records are due: one loop sleeps until each time (time.Sleep; a nanosleep of the system would be nearer, but is no Go timer) and hands it to one of 64 workers; " +
	"the same records are written to Kafka meanwhile."

func lateness() scenario {
	return scenario{
		name:   "lateness",
		title:  "due to arrival, 1,000 due records a second over six partitions, a tier of 5 s with jitter 0.2",
		method: lateMethod,
		run:    func(b *bench) ([]Row, error) { return b.lateness(1.5) },
	}
}

func latenessBacklog() scenario {
	return scenario{
		name:  "lateness-backlog",
		title: "as lateness, with a million records held in another tier of the same relay",
		method: lateMethod + " A second tier, of one hour, holds ten times as many records of 256 B as throughput has, " +
			"for so long that jitter allows each to be due soon: as many are read as the window takes. None is due before the end.",
		run: func(b *bench) ([]Row, error) {
			if err := b.hold(longTier, nearlyOver(), longDelay); err != nil {
				return nil, err
			}
			return b.lateness(3, longTier)
		},
	}
}

// lateness compares a relay that holds the records of further tiers with a timer loop.
func (b *bench) lateness(bar float64, held ...string) ([]Row, error) {
	records := b.records * 15 / 100
	if err := harness.MakeTopic(b.cluster.Addrs(), "main", partitions, nil); err != nil {
		return nil, err
	}
	reports, err := b.compare(b.fewer(), load.Plan{Expected: records, Status: 200, Due: true},
		b.punctualRelay(records, held), b.timerLoop(records))
	if err != nil {
		return nil, err
	}
	floor := versus{1, "timer loop", Bar{}}
	rows := against(reports, Row{Figure: "lateness, median", Unit: "ms"}, late(0.5), floor)
	floor.bar = atMost(bar)
	rows = append(rows, against(reports, Row{Figure: "lateness, 99 %", Unit: "ms"}, late(0.99), floor)...)
	floor.bar = Bar{}
	rows = append(rows, against(reports, Row{Figure: "lateness, maximum", Unit: "ms"}, late(1), floor)...)
	early := each(reports[0], func(r load.Report) float64 { return float64(r.Early) })
	return append(rows, Row{Figure: "early", Unit: "records", Values: early, Bar: atMost(0)}), nil
}

// late returns a quantile of the lateness, in milliseconds.
func late(q float64) func(load.Report) float64 {
	return func(r load.Report) float64 {
		return float64(stats.Quantile(r.Late, q)) / float64(time.Millisecond)
	}
}

// nearlyOver is when records failed that jitter allows to be due after longDelay by now.
func nearlyOver() time.Time { return time.Now().Add(-longDelay * 9 / 10) }

// fewer is how often what takes long is repeated: six of ten, enough for an interval.
func (b *bench) fewer() int { return max(1, b.pairs*6/10) }

// punctualRelay delivers what is written into its first tier while it runs.
func (b *bench) punctualRelay(records int, held []string) side {
	tiers := func(run string) string {
		list := "tiers: [{delay: 5s, topic: " + run + "}"
		for _, topic := range held {
			list += ", {delay: " + longDelay.String() + ", topic: " + topic + "}"
		}
		return list + "]"
	}
	return side{
		name: "retryd",
		start: func(run string) (*harness.Process, error) {
			if err := b.makeTier(run); err != nil {
				return nil, err
			}
			d, err := b.startDaemon(run, b.relay("main", run, inFlight, "consume: false", tiers(run)))
			if err != nil {
				return nil, err
			}
			return d.Process(), d.AwaitReady()
		},
		load: func(run string) error { return b.fail(run, records) },
	}
}

// timerLoop runs beside the same writing.
func (b *bench) timerLoop(records int) side {
	return side{
		name: "timer loop",
		start: func(run string) (*harness.Process, error) {
			if err := b.makeTier(run); err != nil {
				return nil, err
			}
			return b.startFloor(run, "timer", inFlight, nil, "-rate", strconv.Itoa(dueRate),
				"-records", strconv.Itoa(records), "-delay", dueDelay.String(), "-size", "256")
		},
		load: func(run string) error { return b.fail(run, records) },
	}
}

// makeTier makes a topic that may be a tier of any relay here.
func (b *bench) makeTier(topic string) error {
	return harness.MakeTopic(b.cluster.Addrs(), topic, partitions, map[string]string{
		"max.message.bytes": strconv.Itoa(2 << 20), "retention.ms": strconv.Itoa(7 * 24 * 3600 * 1000),
	})
}

// fail writes records into a tier as an application does whose attempts fail, at a
// steady rate.
func (b *bench) fail(tier string, records int) error {
	w, err := b.newWriter()
	if err != nil {
		return err
	}
	err = pace(b.ctx, records, dueRate, func(i int) {
		now := time.Now()
		due := dueAfter(now, dueDelay)
		w.write(tier, partitions, i, load.Value(due.UnixNano(), 256), now, notBefore(due))
	})
	if closed := w.close(); err == nil {
		err = closed
	}
	return err
}

// dueAfter adds a delay with jitter, rounded up to what a header can say.
func dueAfter(now time.Time, delay time.Duration) time.Time {
	due := now.Add(time.Duration(float64(delay) * (1 + jitter*(2*rand.Float64()-1))))
	return due.Add(time.Millisecond - 1).Truncate(time.Millisecond)
}

// hold fills a tier with the backlog: ten times as many records as throughput has, that
// failed at the given time and wait for the delay, or until half of it from now on.
func (b *bench) hold(tier string, failed time.Time, delay time.Duration) error {
	if err := b.makeTier(tier); err != nil {
		return err
	}
	w, err := b.newWriter()
	if err != nil {
		return err
	}
	value := load.Value(0, 256)
	for i := range 10 * b.records {
		due := dueAfter(failed, delay)
		if soonest := time.Now().Add(delay / 2); due.Before(soonest) {
			due = dueAfter(soonest, delay/10)
		}
		w.write(tier, partitions, i, value, failed, notBefore(due))
	}
	return w.close()
}
