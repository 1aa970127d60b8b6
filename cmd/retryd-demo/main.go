// Command retryd-demo shows retryd at work on a machine that has nothing but Go: an
// embedded broker, a sample endpoint and the daemon in one process. It prints what
// happens, as it happens.
//
// First, one record that its endpoint never accepts walks through three tiers into
// the dead-letter topic. Then 100 records, ten of which always fail, walk through
// tiers without a delay, and the topics are read back and counted.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/retryd/retryd/internal/devbroker"
)

// limit bounds the whole show.
const limit = 2 * time.Minute

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

func run(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("retryd-demo", flag.ContinueOnError)
	flags.SetOutput(stderr)
	keep := flags.Bool("keep", false, "leave broker, endpoint and daemon running until interrupted, and print their addresses")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := show(ctx, stdout, *keep); err != nil {
		fmt.Fprintln(stderr, "retryd-demo:", err)
		return 1
	}
	return 0
}

// show sets the stage, plays both acts and, if asked to, stays.
func show(ctx context.Context, out io.Writer, keep bool) (err error) {
	broker, err := devbroker.Start(devbroker.Options{})
	if err != nil {
		return err
	}
	defer broker.Close()
	endpoint, err := newEndpoint()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, endpoint.close()) }()
	app, err := newApplication(broker.Addrs())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, app.close()) }()
	s := stage{out: out, brokers: broker.Addrs(), endpoint: endpoint, app: app}

	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if err := s.walk(bounded); err != nil {
		return err
	}
	if err := s.count(bounded); err != nil {
		return err
	}
	if keep {
		return s.stay(ctx)
	}
	return nil
}
