package main

import (
	"time"

	"github.com/retryd/retryd/bench/load"
)

// peerPrefix begins the name of each scenario with peers.
const peerPrefix = "peer-"

// peerScenarios returns those that compare retryd with other software.
func peerScenarios() []scenario {
	return []scenario{peerThroughput(), peerOnePartition(), peerEscalation(), peerLateness()}
}

func peerThroughput() scenario {
	return scenario{
		name:  "peer-throughput",
		title: "main to endpoint, six partitions, an endpoint without delay",
		method: "As throughput, with values of 256 B, and twice as many records. " +
			"retryd, the floor and Parallel Consumer may have 64 requests in flight; Spring Kafka has six, one for each partition.",
		run: func(b *bench) ([]Row, error) {
			return b.besidePeers("peer-throughput", partitions, inFlight, 0, spring{connections: partitions})
		},
	}
}

func peerOnePartition() scenario {
	return scenario{
		name:  "peer-one-partition",
		title: "main to endpoint, one partition, an endpoint that takes 2.5 ms, 100 in flight",
		method: "As peer-throughput, with an endpoint as in one-partition. " +
			"Spring Kafka's usual listener handles a partition's records one after the other, so the endpoint's 2.5 ms allow it 400 records/s at most; " +
			"here its listener returns a CompletableFuture instead, with the asynchronous client of Apache HttpClient over 100 connections.",
		run: func(b *bench) ([]Row, error) {
			const many = 100
			return b.besidePeers("peer-one-partition", 1, many, 2500*time.Microsecond, spring{async: true, connections: many})
		},
	}
}

// besidePeers compares deliveries from a main topic, cold and warm. Each has one retry
// topic, which stays empty.
func (b *bench) besidePeers(topic string, partitions, inFlight int, delay time.Duration, s spring) ([]Row, error) {
	p, err := b.peers()
	if err != nil {
		return nil, err
	}
	value := load.Value(0, 256)
	if err := b.fill(topic, partitions, 2*b.records, func(int) []byte { return value }); err != nil {
		return nil, err
	}
	s.tuned, s.partitions, s.retries, s.delay, s.poll = true, partitions, 1, retryDelay, defaultPoll
	reports, err := b.compare(b.pairs, load.Plan{Expected: 2 * b.records, Middle: b.records, Status: 200, Delay: delay},
		b.mainRelay(topic, inFlight), b.bareLoop("fasthttp", topic, inFlight), p.parallel(topic, inFlight), p.spring(topic, s))
	if err != nil {
		return nil, err
	}
	return halves(reports, "record", versus{1, "fasthttp", Bar{}}, versus{2, parallelConsumer, Bar{}}, versus{3, springTuned, Bar{}}), nil
}
