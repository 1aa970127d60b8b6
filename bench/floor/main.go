// Command floor is what retryd is compared with: bare loops that do the same exchange
// with the endpoint, and give no guarantee. Each is as good as it could be made without
// becoming more than a loop; docs/performance.md says what was tried.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// options are the command line.
type options struct {
	brokers     []string
	topics      []string // what is read; of the escalation floor also where it ends
	group       string
	url         string
	concurrency int

	rate    int           // of the timer floor, records per second
	records int           // of the timer floor
	delay   time.Duration // of the timer floor
	size    int           // of the timer floor's values, bytes
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "floor:", err)
		os.Exit(1)
	}
}

// run works until ctx ends. The first argument names the floor.
func run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return errors.New("which floor: fasthttp, nethttp, escalation or timer")
	}
	o, err := parse(args[1:])
	if err != nil {
		return err
	}
	switch args[0] {
	case "fasthttp":
		return consume(ctx, o, newFast)
	case "nethttp":
		return consume(ctx, o, newNet)
	case "escalation":
		return escalate(ctx, o)
	case "timer":
		return fire(ctx, o)
	}
	return fmt.Errorf("no floor %s", args[0])
}

func parse(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("floor", flag.ContinueOnError)
	brokers := flags.String("brokers", "", "host:port of brokers, with commas between")
	topics := flags.String("topics", "", "topics, with commas between")
	flags.StringVar(&o.group, "group", "", "consumer group")
	flags.StringVar(&o.url, "url", "", "of the endpoint")
	flags.IntVar(&o.concurrency, "concurrency", 0, "requests at a time")
	flags.IntVar(&o.rate, "rate", 0, "records per second")
	flags.IntVar(&o.records, "records", 0, "how many records")
	flags.DurationVar(&o.delay, "delay", 0, "of each record, with a jitter of a fifth")
	flags.IntVar(&o.size, "size", 0, "of each value, in bytes")
	err := flags.Parse(args)
	o.brokers, o.topics = strings.Split(*brokers, ","), strings.Split(*topics, ",")
	return o, err
}
