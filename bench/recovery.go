package main

import (
	"context"
	"errors"
	"time"

	"github.com/retryd/retryd/bench/load"
)

func recovery() scenario {
	return scenario{
		name:  "recovery",
		title: "kill -9 with 10,000 records completed above one that is stuck, one partition, 64 in flight",
		method: "A fifth as many records as in throughput, numbered, in one partition; the endpoint takes 30 ms, and never answers the first. " +
			"When a tenth as many as in throughput have arrived, the daemon is killed and started again at once; the stuck record is let go. " +
			"A repeat is a request for a record that arrived before. session_timeout is 6 s. " +
			"Completed in the last second are those that arrived in the second before the kill.",
		run: func(b *bench) ([]Row, error) {
			const topic = "recovery"
			if err := b.fill(topic, 1, b.records/5, func(i int) []byte { return load.Value(int64(i), 256) }); err != nil {
				return nil, err
			}
			var repeats, allowed, gap []float64
			for range max(1, b.pairs/3) {
				c, err := b.crash(topic)
				if err != nil {
					return nil, err
				}
				b.progress("%d repeats, %d allowed; deliveries go on %.1f s after the kill", c.repeats, c.allowed, c.gap.Seconds())
				repeats, allowed, gap = append(repeats, float64(c.repeats)), append(allowed, float64(c.allowed)), append(gap, c.gap.Seconds())
			}
			return []Row{
				{Figure: "repeats", Unit: "records", Values: repeats, Floor: "in flight + completed in the last second", Floors: allowed, Bar: atMost(1)},
				{Figure: "kill to next delivery", Unit: "s", Values: gap},
			}, nil
		},
	}
}

// crashed is what came of a crash.
type crashed struct {
	repeats int
	allowed int // in flight, and completed in the last second
	gap     time.Duration
}

// crash kills a daemon when a tenth of b.records are complete above one that is not,
// and lets another one finish.
func (b *bench) crash(topic string) (c crashed, err error) {
	records, before := b.records/5, b.records/10
	ctx, cancel := context.WithTimeout(b.ctx, runBound)
	defer cancel()
	plan := load.Plan{Expected: before, Status: 200, Delay: 30 * time.Millisecond, Numbered: records, Stuck: true}
	if err := b.endpoint.begin(plan); err != nil {
		return c, err
	}
	run := b.nextRun()
	relay := b.relay(topic, run, inFlight, "start: earliest", "tiers: [5s]")
	first, err := b.startDaemon(run, relay)
	if err != nil {
		return c, err
	}
	err = errors.Join(b.endpoint.measures(first.Process().PID()), b.endpoint.await(ctx), first.Process().Kill())
	if err != nil {
		return c, err
	}
	killed := time.Now()
	atKill, err := b.endpoint.report()
	if err != nil {
		return c, err
	}
	c.allowed = inFlight + atKill.LastSecond
	plan.Stuck, plan.Continue = false, true
	if err := b.endpoint.begin(plan); err != nil {
		return c, err
	}
	return c, b.recover(ctx, &c, run+"b", relay, killed)
}

// recover starts the relay again, and waits until every record has arrived.
func (b *bench) recover(ctx context.Context, c *crashed, run, relay string, killed time.Time) error {
	second, err := b.startDaemon(run, relay)
	if err != nil {
		return err
	}
	err = errors.Join(b.endpoint.measures(second.Process().PID()), b.endpoint.await(ctx))
	r, reported := b.endpoint.report()
	c.repeats, c.gap = r.Repeats, r.First.Sub(killed)
	_, stopped := second.Process().Terminate(stopGrace)
	return errors.Join(err, reported, stopped)
}
