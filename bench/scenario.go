package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// scenario is one question to the daemon.
type scenario struct {
	name   string
	title  string
	method string // for the document: what is done, in whole sentences
	run    func(*bench) ([]Row, error)
}

// scenarios returns all, in the order in which they run and are documented.
func scenarios() []scenario {
	return []scenario{
		throughput(), onePartition(), escalation(), lateness(), latenessBacklog(),
		memory(), startup(), recovery(), neighbours(), idle(),
	}
}

// choose returns the scenario of that name; for an empty one all, or all with peers.
func choose(name string, peers bool) ([]scenario, error) {
	switch {
	case name == "" && peers:
		return peerScenarios(), nil
	case name == "":
		return scenarios(), nil
	}
	var names []string
	for _, s := range slices.Concat(scenarios(), peerScenarios()) {
		if s.name == name {
			return []scenario{s}, nil
		}
		names = append(names, s.name)
	}
	return nil, fmt.Errorf("no scenario %s; there are %s", name, strings.Join(names, ", "))
}

// measure runs a scenario on a Kafka of its own, so that none inherits what another one
// left behind.
func measure(ctx context.Context, o options, s scenario, out io.Writer) (result Result, err error) {
	began := time.Now()
	b, err := setUp(ctx, o, out)
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, b.tearDown()) }()
	machine, err := thisMachine()
	if err != nil {
		return Result{}, err
	}
	rows, err := s.run(b)
	return Result{
		Scenario: s.name, Title: s.title, Method: s.method, Machine: machine,
		Began: began.UTC().Truncate(time.Second), Seconds: int(time.Since(began).Seconds()),
		Pairs: o.pairs, Records: o.records, Rows: rows,
	}, err
}
