package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/retryd/retryd/bench/load"
	"github.com/retryd/retryd/bench/procfs"
	"github.com/retryd/retryd/bench/stats"
	"github.com/retryd/retryd/test/harness"
)

func memory() scenario {
	return scenario{
		name:  "memory",
		title: "memory with a million held records of 256 B, six partitions, a tier of one hour",
		method: "Ten times as many records as throughput has are held in one tier, once as they are in the middle of the hold, when none can " +
			"be due for most of an hour, and once as they are later, when jitter allows each to be due soon and as many are read as the window takes. " +
			"Resident memory is the median over ten seconds, twenty seconds after the relay is ready; the peak is that of the process's life.",
		run: func(b *bench) ([]Row, error) {
			if err := harness.MakeTopic(b.cluster.Addrs(), "main", partitions, nil); err != nil {
				return nil, err
			}
			middle, err := b.holding("middle of the hold", "middle", time.Now())
			if err != nil {
				return nil, err
			}
			full, err := b.holding("window full", "full", nearlyOver())
			return append(middle, full...), err
		},
	}
}

const (
	settling = 20 * time.Second
	sampling = 10 * time.Second
)

// holding measures a daemon that holds records which failed at the given time.
func (b *bench) holding(what, tier string, failed time.Time) (rows []Row, err error) {
	if err := b.hold(tier, failed, longDelay); err != nil {
		return nil, err
	}
	run := b.nextRun()
	d, err := b.startDaemon(run, b.relay("main", run, inFlight, "consume: false",
		fmt.Sprintf("tiers: [{delay: %v, topic: %s}]", longDelay, tier)))
	if err != nil {
		return nil, err
	}
	defer func() {
		_, stopped := d.Process().Terminate(stopGrace)
		err = errors.Join(err, stopped)
	}()
	if err := d.AwaitReady(); err != nil {
		return nil, err
	}
	var resident, peak []float64
	if err := sleep(b.ctx, settling); err != nil {
		return nil, err
	}
	for end := time.Now().Add(sampling); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		now, most, err := procfs.Memory(d.Process().PID())
		if err != nil {
			return nil, err
		}
		resident, peak = append(resident, megabytes(now)), append(peak, megabytes(most))
	}
	b.progress("%s: %.0f MB, peak %.0f MB", what, stats.Median(resident), stats.Median(peak))
	return []Row{
		{Figure: "resident, " + what, Unit: "MB", Values: []float64{stats.Median(resident)}, Bar: atMost(100)},
		{Figure: "peak, " + what, Unit: "MB", Values: []float64{stats.Median(peak)}},
	}, nil
}

func megabytes(n int64) float64 { return float64(n) / 1e6 }

func startup() scenario {
	return scenario{
		name:  "startup",
		title: "start with a million held records",
		method: "A main topic with records, and a tier of one hour that holds ten times as many records as throughput has; each run is a relay " +
			"that never ran before. Time counts from the start of the process until /readyz answers 200, and until the first request arrives. " +
			"The floor is the fasthttp loop, which reads the main topic alone.",
		run: func(b *bench) ([]Row, error) {
			const topic, waiting = "main", 1000
			value := load.Value(0, 256)
			if err := b.fill(topic, partitions, waiting, func(int) []byte { return value }); err != nil {
				return nil, err
			}
			if err := b.hold(longTier, time.Now(), longDelay); err != nil {
				return nil, err
			}
			var ready, delivered, floor []float64
			for range b.fewer() {
				r, d, err := b.startsWithBacklog(topic)
				if err != nil {
					return nil, err
				}
				began := time.Now()
				loop, err := b.measure(load.Plan{Expected: 1, Status: 200}, b.bareLoop("fasthttp", topic, inFlight))
				if err != nil {
					return nil, err
				}
				ready, delivered, floor = append(ready, r), append(delivered, d), append(floor, loop.First.Sub(began).Seconds())
				b.progress("ready after %.2f s, first request after %.2f s; fasthttp after %.2f s", r, d, floor[len(floor)-1])
			}
			return []Row{
				{Figure: "start to ready", Unit: "s", Values: ready},
				{Figure: "start to first request", Unit: "s", Values: delivered, Floor: "fasthttp", Floors: floor},
			}, nil
		},
	}
}

// startsWithBacklog returns after how many seconds a new relay was ready, and after how
// many its first request arrived.
func (b *bench) startsWithBacklog(topic string) (ready, delivered float64, err error) {
	var began time.Time
	relay := side{name: "retryd", start: func(run string) (*harness.Process, error) {
		began = time.Now()
		d, err := b.startDaemon(run, b.relay(topic, run, inFlight, "start: earliest",
			fmt.Sprintf("tiers: [5s, {delay: %v, topic: %s}]", longDelay, longTier)))
		if err != nil {
			return nil, err
		}
		if err := b.endpoint.measures(d.Process().PID()); err != nil {
			return nil, err
		}
		err = d.AwaitReady()
		ready = time.Since(began).Seconds()
		return d.Process(), err
	}}
	r, err := b.measure(load.Plan{Expected: 1, Status: 200}, relay)
	return ready, r.First.Sub(began).Seconds(), err
}
