package main

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/retryd/retryd/bench/load"
	"github.com/retryd/retryd/test/harness"
)

const (
	partitions = 6
	inFlight   = 64 // requests at a time
)

func throughput() scenario {
	return scenario{
		name:  "throughput",
		title: "main to endpoint, six partitions, an endpoint without delay, 64 in flight",
		method: "All records are in the main topic before a run begins; each run reads them anew with a group of its own. " +
			"Time and the client's processor time count from the first request that arrives to the last.",
		run: func(b *bench) ([]Row, error) {
			var rows []Row
			for _, size := range []int{256, 4096} {
				more, err := b.throughput(fmt.Sprintf("values-%d", size), size)
				if err != nil {
					return nil, err
				}
				rows = append(rows, more...)
			}
			return rows, nil
		},
	}
}

func (b *bench) throughput(topic string, size int) ([]Row, error) {
	value := load.Value(0, size)
	if err := b.fill(topic, partitions, b.records, func(int) []byte { return value }); err != nil {
		return nil, err
	}
	reports, err := b.compare(b.pairs, load.Plan{Expected: b.records, Status: 200},
		b.mainRelay(topic, inFlight), b.bareLoop("fasthttp", topic, inFlight), b.bareLoop("nethttp", topic, inFlight))
	if err != nil {
		return nil, err
	}
	name := strconv.Itoa(size) + " B"
	return slices.Concat(
		against(reports, Row{Figure: "throughput, " + name, Unit: "records/s"}, rate,
			versus{1, "fasthttp", atLeast(0.85)}, versus{2, "net/http", atLeast(1.3)}),
		against(reports, Row{Figure: "CPU per record, " + name, Unit: "µs"}, cost,
			versus{1, "fasthttp", atMost(1.4)}, versus{2, "net/http", below(1)}),
	), nil
}

// mainRelay is the daemon with one relay on a main topic.
func (b *bench) mainRelay(topic string, inFlight int) side {
	return side{name: "retryd", start: func(run string) (*harness.Process, error) {
		return process(b.startDaemon(run, b.relay(topic, run, inFlight, "start: earliest", "tiers: [5s]")))
	}}
}

// bareLoop is a floor that reads one topic.
func (b *bench) bareLoop(kind, topic string, inFlight int) side {
	return side{name: kind, start: func(run string) (*harness.Process, error) {
		return b.startFloor(run, kind, inFlight, []string{topic})
	}}
}

// process returns the process of a daemon that was started.
func process(d *harness.Daemon, err error) (*harness.Process, error) {
	if err != nil {
		return nil, err
	}
	return d.Process(), nil
}

func onePartition() scenario {
	return scenario{
		name:  "one-partition",
		title: "main to endpoint, one partition, an endpoint that takes 2.5 ms, 100 in flight",
		method: "As throughput, with values of 256 B; the endpoint answers after 2.5 ms. " +
			"At 100 in flight that allows 40,000 records/s at most.",
		run: func(b *bench) ([]Row, error) {
			const topic, many = "one-partition", 100
			value := load.Value(0, 256)
			if err := b.fill(topic, 1, b.records, func(int) []byte { return value }); err != nil {
				return nil, err
			}
			reports, err := b.compare(b.pairs, load.Plan{Expected: b.records, Status: 200, Delay: 2500 * time.Microsecond},
				b.mainRelay(topic, many), b.bareLoop("fasthttp", topic, many), b.bareLoop("nethttp", topic, many))
			if err != nil {
				return nil, err
			}
			return slices.Concat(
				against(reports, Row{Figure: "throughput", Unit: "records/s"}, rate,
					versus{1, "fasthttp", atLeast(0.8)}, versus{2, "net/http", Bar{}}),
				against(reports, Row{Figure: "CPU per record", Unit: "µs"}, cost, versus{1, "fasthttp", Bar{}}),
			), nil
		},
	}
}
