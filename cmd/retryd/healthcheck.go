package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/retryd/retryd/internal/admin"
)

func (p program) healthcheckCommand() *cobra.Command {
	var where addressOptions
	var ready bool
	cmd := &cobra.Command{
		Use:   "healthcheck",
		Short: "Exit 0 if a running daemon is healthy",
		Long: `Ask a running daemon whether it is healthy: alive, and making progress. Nothing is
printed if it is, one line if not. With --ready: whether it is ready, so that also
what has to be mended outside of it counts.

` + whereItListens + `

Exit codes: 0 if it is, 1 if not or if nobody answers, 78 if the configuration is
wrong.`,
		Example: `  retryd healthcheck
  retryd healthcheck --ready --config /etc/retryd/retryd.yaml`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			addr, err := p.addressOf(where)
			if err != nil {
				return err
			}
			page := "/healthz"
			if ready {
				page = "/readyz"
			}
			return admin.Probe(context.Background(), addr, page)
		},
	}
	addressFlags(cmd, &where)
	cmd.Flags().BoolVar(&ready, "ready", false, "ask whether it is ready")
	return cmd
}
