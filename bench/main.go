// Command bench measures retryd against bare loops that do the same exchange (see
// floor) on a real Kafka, and prints ratios. The daemon, the floors and the endpoint
// are processes of their own. What it measured is kept as JSON, of which
// docs/performance.md is made.
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
)

// options are the command line.
type options struct {
	scenario string // empty: all
	peers    bool   // all are those with peers
	pairs    int    // how often each comparison is repeated
	records  int    // of a throughput run; the other scenarios scale with it
	out      string // folder of the JSON
	document string // written when all scenarios ran
	profiles string // folder of the daemon's CPU profiles; empty: none are made
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	o, err := parse(args)
	if err != nil {
		return err
	}
	chosen, err := choose(o.scenario, o.peers)
	if err != nil {
		return err
	}
	for _, s := range chosen {
		fmt.Fprintf(out, "\n%s: %s\n", s.name, s.title)
		result, err := measure(ctx, o, s, out)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		if err := errors.Join(result.print(out), result.save(o.out)); err != nil {
			return err
		}
	}
	if o.scenario != "" {
		return nil
	}
	err = writeDocument(o.out, o.document)
	if errors.Is(err, errPeersAlone) {
		fmt.Fprintln(out, err)
		return nil
	}
	return err
}

func parse(args []string) (options, error) {
	o := options{}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.StringVar(&o.scenario, "scenario", "", "name of the only scenario to run")
	flags.BoolVar(&o.peers, "peers", false, "run the scenarios that compare with other software, which Maven builds")
	flags.IntVar(&o.pairs, "pairs", 10, "how often each comparison is repeated, at least 1")
	flags.IntVar(&o.records, "records", 100_000, "records of a throughput run, at least 1000; the other scenarios scale with it")
	flags.StringVar(&o.out, "out", "bench/out", "folder of the JSON results")
	flags.StringVar(&o.document, "document", "docs/performance.md", "written when all scenarios ran")
	flags.StringVar(&o.profiles, "profiles", "", "folder for a CPU profile of each run of the daemon, which costs a little; default: none")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if o.pairs < 1 || o.records < 1000 || flags.NArg() > 0 {
		return o, errors.New("pairs must be at least 1, records at least 1000, and there are no arguments")
	}
	return o, nil
}
