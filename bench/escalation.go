package main

import (
	"fmt"
	"strings"

	"github.com/retryd/retryd/bench/load"
	"github.com/retryd/retryd/test/harness"
)

// hops is how many requests a record costs that fails in main and in three tiers.
const hops = 4

func escalation() scenario {
	return scenario{
		name:  "escalation",
		title: "main through three tiers without delay to the dead-letter topic, six partitions, 64 in flight",
		method: "A fifth as many records as in throughput, of 256 B. The endpoint answers 503 to everything, the breaker is off. " +
			"Time counts from the first request to the last: four for each record. " +
			"The floor is one loop that reads all four topics, POSTs, writes into the next topic with acks=all, and marks the offset " +
			"when it is acknowledged; its records carry only the headers without which the next request could not say what it has to.",
		run: func(b *bench) ([]Row, error) {
			const topic = "escalation"
			records := b.records / 5
			value := load.Value(0, 256)
			if err := b.fill(topic, partitions, records, func(int) []byte { return value }); err != nil {
				return nil, err
			}
			reports, err := b.compare(b.pairs, load.Plan{Expected: hops * records, Status: 503},
				b.escalatingRelay(topic), b.escalatingLoop(topic))
			if err != nil {
				return nil, err
			}
			return append(
				against(reports, Row{Figure: "hops", Unit: "hops/s"}, rate, versus{1, "escalation loop", atLeast(0.7)}),
				against(reports, Row{Figure: "CPU per hop", Unit: "µs"}, cost, versus{1, "escalation loop", Bar{}})...,
			), nil
		},
	}
}

// escalatingRelay has tiers of its own for each run.
func (b *bench) escalatingRelay(topic string) side {
	return side{name: "retryd", start: func(run string) (*harness.Process, error) {
		return process(b.startDaemon(run, b.relay(topic, run, inFlight, "prefix: "+run, "start: earliest", "tiers: [0s, 0s, 0s]", "budget: 10m")))
	}}
}

func (b *bench) escalatingLoop(topic string) side {
	return side{name: "loop", start: func(run string) (*harness.Process, error) {
		topics := []string{topic}
		for i := range hops {
			topics = append(topics, fmt.Sprintf("%s.%d", run, i+1))
			if err := harness.MakeTopic(b.cluster.Addrs(), topics[i+1], partitions, nil); err != nil {
				return nil, err
			}
		}
		proc, err := b.startFloor(run, "escalation", inFlight, topics)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", strings.Join(topics, ", "), err)
		}
		return proc, nil
	}}
}
