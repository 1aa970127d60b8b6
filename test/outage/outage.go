package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/IBM/sarama"
	"golang.org/x/sync/errgroup"
)

const (
	lead       = 500 * time.Millisecond // for writing what waits before the first of it is due
	endBound   = 2 * time.Minute        // for delivering everything after an outage
	startBound = 30 * time.Second       // for delivering something before it
)

// run runs one kind of outage. An error is no result: what keeps it from its end.
func (k kind) run(ctx context.Context) (r result, err error) {
	err = play(ctx, k, nil, func(ctx context.Context, s *stage) error {
		e, err := k.suffer(ctx, s)
		if err != nil {
			return err
		}
		r = judge(k, e, &s.pace)
		if len(r.broken) > 0 && s.daemon.log.String() != "" {
			r.breaks("the end of the daemon's log:\n%s", &s.daemon.log)
		}
		return nil
	})
	return r, err
}

// suffer lets the endpoint work, be out, and come back, until all records have an end.
func (k kind) suffer(ctx context.Context, s *stage) (e evidence, err error) {
	e.written = map[string]int{}
	start := time.Now().Add(lead)
	out := start.Add(compressed(max(healthy, 2*k.every)))
	back := out.Add(compressed(k.outage))
	if err := k.fill(s, start, out, back, e.written); err != nil {
		return e, err
	}
	var fed int
	var feeding errgroup.Group
	feeding.Go(func() (err error) {
		fed, err = k.feed(ctx, s, start, back)
		return err
	})
	e.began, e.ended, err = k.endpointOut(ctx, s, out, back)
	if err := errors.Join(err, feeding.Wait()); err != nil {
		return e, err
	}
	for i := range fed {
		e.written[freshID(i)] = 0
	}
	return s.settle(ctx, e)
}

// settle waits until every record is accepted or dead, and gathers the evidence.
func (s *stage) settle(ctx context.Context, e evidence) (evidence, error) {
	err := await(ctx, endBound, "the end of every record", func() (bool, error) {
		dead, err := s.deadLetters()
		return s.endpoint.delivered()+dead >= len(e.written), err
	})
	if err != nil {
		return e, err
	}
	e.calls, e.health = s.endpoint.log()
	e.hops, err = s.hops()
	return e, err
}

// deadLetters returns how many there are.
func (s *stage) deadLetters() (n int, err error) {
	for p := range int32(partitions) {
		end, err := s.topics.client.GetOffset(deadLetters, p, sarama.OffsetNewest)
		if err != nil {
			return 0, err
		}
		n += int(end)
	}
	return n, nil
}

// fill writes the records that wait: as many as the kind says from the outage's
// beginning to its end, and before it at the same rate.
func (k kind) fill(s *stage, start, out, back time.Time, written map[string]int) error {
	if k.waiting == 0 {
		return nil
	}
	delays := k.delays()
	n := int(float64(k.waiting) * float64(back.Sub(start)) / float64(back.Sub(out)))
	all := spread(n, start, back, time.Now(), delays)
	messages := make([]*sarama.ProducerMessage, n)
	for i, w := range all {
		messages[i] = w.message(i, delays)
		written[w.id] = w.tier
	}
	return s.topics.write(messages)
}

func freshID(i int) string { return fmt.Sprintf("fresh-%d", i) }

// feed writes fresh records at the kind's pace, and returns how many.
func (k kind) feed(ctx context.Context, s *stage, from, to time.Time) (n int, err error) {
	if k.every == 0 {
		return 0, nil
	}
	for now := range ticks(ctx, to) {
		var due []*sarama.ProducerMessage
		for ; !from.Add(time.Duration(n) * compressed(k.every)).After(now); n++ {
			due = append(due, fresh(freshID(n)))
		}
		if err := s.topics.write(due); err != nil {
			return n, err
		}
	}
	return n, nil
}

// ticks yields the time every now and then, until an end.
func ticks(ctx context.Context, end time.Time) func(func(time.Time) bool) {
	return func(yield func(time.Time) bool) {
		for now := time.Now(); now.Before(end) && ctx.Err() == nil && yield(now); now = time.Now() {
			time.Sleep(2 * tick)
		}
	}
}

// endpointOut switches the endpoint off and on again at these times, and returns when
// it really did.
func (k kind) endpointOut(ctx context.Context, s *stage, out, back time.Time) (began, ended time.Time, err error) {
	if err := until(ctx, out); err != nil {
		return began, ended, err
	}
	err = await(ctx, startBound, "the first records to be accepted", func() (bool, error) { return s.endpoint.delivered() > 0, nil })
	if err != nil {
		return began, ended, err
	}
	if began, err = s.endpoint.become(k.mode); err != nil {
		return began, ended, err
	}
	if err := until(ctx, back); err != nil {
		return began, ended, err
	}
	ended, err = s.endpoint.become(http.StatusOK)
	return began, ended, err
}

func until(ctx context.Context, at time.Time) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Until(at)):
		return nil
	}
}
