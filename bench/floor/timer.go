package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/retryd/retryd/bench/load"
)

// jitter is the share of the delay by which it varies in both directions.
const jitter = 0.2

// fire POSTs records at their exact times, which it knows from the start: one loop
// sleeps until each, and hands it to a worker.
func fire(ctx context.Context, o options) error {
	posters, err := newFast(o)
	if err != nil {
		return err
	}
	work := make(chan int64, o.records)
	var workers sync.WaitGroup
	for range o.concurrency {
		workers.Go(func() {
			p := posters()
			for due := range work {
				punctual(p, due, o.size)
			}
		})
	}
	for _, due := range schedule(time.Now(), o) {
		time.Sleep(time.Until(time.UnixMilli(due)))
		work <- due
	}
	close(work)
	workers.Wait()
	<-ctx.Done()
	return nil
}

// schedule returns when the records are due that fail from now on at the rate, in
// epoch ms, in order.
func schedule(now time.Time, o options) []int64 {
	all := make([]int64, o.records)
	for i := range all {
		failed := now.Add(time.Duration(i) * time.Second / time.Duration(o.rate))
		delay := time.Duration(float64(o.delay) * (1 + jitter*(2*rand.Float64()-1)))
		all[i] = failed.Add(delay + time.Millisecond - 1).UnixMilli()
	}
	slices.Sort(all)
	return all
}

func punctual(p poster, due int64, size int) {
	x := exchange{
		eventID: fmt.Sprintf("floor/0/%d@%d", due, due), attempt: 2,
		topic: "floor", timestamp: time.UnixMilli(due), key: []byte("key-00000000"),
		value: load.Value(due*int64(time.Millisecond), size),
	}
	if status, err := p.post(x); err != nil || status != 200 {
		fmt.Fprintln(os.Stderr, "floor: not accepted:", status, err)
	}
}
