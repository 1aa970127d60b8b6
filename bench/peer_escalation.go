package main

import "github.com/retryd/retryd/bench/load"

func peerEscalation() scenario {
	return scenario{
		name:  "peer-escalation",
		title: "main through three retry topics without delay to the dead-letter topic, six partitions",
		method: "As escalation, with a fifth as many records as in throughput. " +
			"All wait until the next topic has a record before its offset is committed. " +
			"Spring Kafka has one topic for each retry, as retryd has; with its defaults it runs for a twentieth of the requests, from the same backlog: " +
			"each failure throws away what was read behind it, and reading it again waits for the fetch that is on its way. " +
			"Where there is no backlog that is up to 500 ms for each failure (`fetch.max.wait.ms`), so its rate without one is far below this one. " +
			"Parallel Consumer has no retry topics.",
		run: func(b *bench) ([]Row, error) {
			p, err := b.peers()
			if err != nil {
				return nil, err
			}
			const topic = "peer-escalation"
			records := b.records / 5
			value := load.Value(0, 256)
			if err := b.fill(topic, partitions, records, func(int) []byte { return value }); err != nil {
				return nil, err
			}
			defaults := p.spring(topic, spring{partitions: partitions, connections: partitions, retries: hops - 1})
			defaults.plan = failing(records / 20)
			tuned := spring{tuned: true, partitions: partitions, connections: hops * partitions, retries: hops - 1, poll: defaultPoll}
			reports, err := b.compare(b.pairs, failing(records), b.escalatingRelay(topic), b.escalatingLoop(topic),
				p.spring(topic, tuned), defaults)
			if err != nil {
				return nil, err
			}
			return halves(reports, "hop", versus{1, "escalation loop", Bar{}}, versus{2, springTuned, Bar{}}, versus{3, springDefaults, Bar{}}), nil
		},
	}
}

// failing is the plan of records that never succeed.
func failing(records int) load.Plan {
	return load.Plan{Expected: hops * records, Middle: hops * records / 2, Status: 503}
}
