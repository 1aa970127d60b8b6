// Command outage lets the endpoint of a relay fail in every way for an hour, sixty
// times compressed, while ten thousand records wait in the tiers and fresh ones arrive,
// and shows what retryd does: no dead letter, hardly an attempt spent, and a return
// without a flood. The opposite, too: a healthy endpoint that will never accept what is
// in the tiers.
//
// Broker, endpoint and retryd are in this process, which needs Go alone; with -kafka the
// broker is an Apache Kafka. What happened is read from the endpoint's log and from the
// topics, never asked of retryd.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"
)

// options are the command line.
type options struct {
	only     string        // part of the names of the kinds to run; empty: all
	outage   time.Duration // in real time
	waiting  int           // records
	poison   int           // records
	parallel int           // runs at a time
	kafka    bool          // on Apache Kafka
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "outage:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	r := runAll(ctx, o, out)
	r.print(out)
	if len(r.broken()) > 0 {
		return errors.New("a bound is broken")
	}
	return nil
}

func parse(args []string) (options, error) {
	o := options{}
	flags := flag.NewFlagSet("outage", flag.ContinueOnError)
	flags.StringVar(&o.only, "only", "", "run what has this in its name; poison is one")
	flags.DurationVar(&o.outage, "outage", time.Hour, "how long the endpoint is out; it takes a sixtieth of that")
	flags.IntVar(&o.waiting, "waiting", 10_000, "records in the tiers when it goes")
	flags.IntVar(&o.poison, "poison", 1000, "records that a healthy endpoint never accepts")
	flags.IntVar(&o.parallel, "parallel", 2, "runs at a time")
	flags.BoolVar(&o.kafka, "kafka", false, "run on Apache Kafka, which Maven fetches, and not on the embedded broker; one run at a time")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if o.kafka {
		o.parallel = 1
	}
	if o.outage < time.Minute || o.waiting < 1 || o.poison < 1 || o.parallel < 1 || flags.NArg() > 0 {
		return o, errors.New("outage must be at least 1m, the others at least 1, and there are no arguments")
	}
	if len(o.chosen()) == 0 && !o.poisons() {
		return o, fmt.Errorf("no run has %q in its name", o.only)
	}
	return o, nil
}

// runAll runs the kinds that were asked for, some at a time. What keeps a run from its
// end is a broken bound of it.
func runAll(ctx context.Context, o options, out io.Writer) report {
	var r report
	var running sync.WaitGroup
	var said sync.Mutex
	free := make(chan struct{}, o.parallel)
	begin := func(name string, act func()) {
		running.Go(func() {
			free <- struct{}{}
			began := time.Now()
			act()
			<-free
			said.Lock()
			defer said.Unlock()
			fmt.Fprintf(out, "%s: took %s\n", name, time.Since(began).Round(time.Second))
		})
	}
	chosen := o.chosen()
	r.outages = make([]result, len(chosen))
	for i, k := range chosen {
		k.kafka = o.kafka
		begin(k.name, func() { r.outages[i] = k.outcome(ctx) })
	}
	if o.poisons() {
		r.poison = make([]poisoned, 2)
		begin("poison", func() { r.poison[0] = poisonOutcome(ctx, o.poison, false, o.kafka) })
		begin("poison, health", func() { r.poison[1] = poisonOutcome(ctx, o.poison, true, o.kafka) })
	}
	running.Wait()
	return r
}

func (o options) chosen() []kind {
	var chosen []kind
	for _, k := range kinds(o.outage, o.waiting) {
		if strings.Contains(k.name, o.only) {
			chosen = append(chosen, k)
		}
	}
	return chosen
}

// poisons reports whether the run with poison was asked for.
func (o options) poisons() bool {
	name := "poison"
	return strings.Contains(name, o.only)
}

func (k kind) outcome(ctx context.Context) result {
	r, err := k.run(ctx)
	if err != nil {
		r = result{kind: k, failed: true}
		r.breaks("%v", err)
	}
	return r
}

func poisonOutcome(ctx context.Context, n int, health, kafka bool) poisoned {
	r, err := poison(ctx, n, health, kafka)
	if err != nil {
		r = poisoned{health: health, failed: true}
		r.breaks("%v", err)
	}
	return r
}
