package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/retryd/retryd/internal/inspect"
)

// checked is what check prints as JSON. Findings are there with --connect.
type checked struct {
	inspect.Description
	Findings []inspect.Finding `json:"findings,omitempty"`
}

func (p program) checkCommand() *cobra.Command {
	var path string
	var connect bool
	cmd := &cobra.Command{
		Use:   "check --config FILE",
		Short: "Check a configuration and explain what it does",
		Long: `Check a configuration and explain what it does: when a failing record is tried
again, where it ends, what retries cost, and what each answer of the endpoint means.
The file alone is looked at; nothing is contacted.

With --connect it is also held against what is there: brokers, topics, consumer
groups, access rights, how many records a first start would read, and whether the
endpoints take connections. Nothing is changed, and nothing is posted.

Exit codes: 0 if all is well or there are warnings only, 1 if --connect found a
failure, 78 if the configuration is wrong, with one line for each problem.`,
		Example: `  retryd check --config /etc/retryd/retryd.yaml
  retryd check --config /etc/retryd/retryd.yaml --connect
  retryd check --config /etc/retryd/retryd.yaml --output json`,
		Args: noArgs,
	}
	configFlag(cmd, &path, requiredFile)
	cmd.Flags().BoolVar(&connect, "connect", false, "also look at Kafka and the endpoints, changing nothing")
	output := outputFlag(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		cfg, err := p.load(path)
		if err != nil {
			return err
		}
		result := checked{Description: inspect.Describe(cfg)}
		if connect {
			result.Findings = inspect.Connect(context.Background(), cfg, currentVersion())
		}
		err = p.print(*output, result, func(w io.Writer) {
			writeDescription(w, path, result.Description)
			if connect {
				fmt.Fprintln(w, "\nKafka and the endpoints")
				writeFindings(w, result.Findings)
			}
		})
		if err == nil && inspect.Failed(result.Findings) {
			return errTold
		}
		return err
	}
	return cmd
}
