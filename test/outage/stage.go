package main

import (
	"context"
	"errors"
	"fmt"
)

// stage is what one run has for itself: a broker, an endpoint, retryd between them, and
// a pace.
type stage struct {
	broker   broker
	endpoint *endpoint
	topics   *topics
	daemon   *daemon
	pace     pace
	delays   int // tiers
}

// play sets a stage for a kind of run, plays it and takes the stage down. An error is no
// result: what keeps a run from its end.
func play(ctx context.Context, k kind, poison func(id string) bool, act func(context.Context, *stage) error) (err error) {
	s := &stage{delays: len(k.tiers)}
	if s.broker, err = startBroker(k.kafka); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.broker.stop()) }()
	if s.endpoint, err = startEndpoint(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.endpoint.close()) }()
	if poison != nil {
		s.endpoint.poison = poison
	}
	if s.topics, err = openTopics(s.broker.address); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.topics.close()) }()
	text, err := k.configuration(s.broker.address, s.endpoint)
	if err != nil {
		return err
	}
	if s.daemon, err = startDaemon(ctx, text); err != nil {
		return err
	}
	pacing, rest := context.WithCancel(ctx)
	rested := make(chan struct{})
	go func() { defer close(rested); s.pace.run(pacing) }()
	defer func() { rest(); <-rested }()
	err = act(ctx, s)
	if closed := s.daemon.close(); err == nil {
		err = closed
	}
	if err != nil {
		err = fmt.Errorf("%w\nthe end of the daemon's log:\n%s", err, &s.daemon.log)
	}
	return err
}

// hops returns what is in the tiers and in the dead-letter topic.
func (s *stage) hops() (all []hop, err error) {
	for tier := 1; tier <= s.delays+1; tier++ {
		from := tierTopic(tier)
		if tier > s.delays {
			from = deadLetters
		}
		records, err := s.topics.read(from)
		if err != nil {
			return nil, err
		}
		for _, m := range records {
			all = append(all, hopOf(m))
		}
	}
	return all, nil
}
