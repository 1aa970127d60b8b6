package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/retryd/retryd/internal/admin"
	"github.com/retryd/retryd/internal/status"
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
			if ready {
				return probe(addr, "/readyz")
			}
			return probe(addr, "/healthz")
		},
	}
	addressFlags(cmd, &where)
	cmd.Flags().BoolVar(&ready, "ready", false, "ask whether it is ready")
	return cmd
}

// probe returns an error of one line if the page does not say that all is well.
func probe(addr, page string) error {
	code, body, err := admin.Probe(context.Background(), addr, page)
	if err != nil || code == http.StatusOK {
		return err
	}
	lines := strings.Split(strings.TrimSpace(body), "\n")
	return fmt.Errorf("%s of %s answers %d: %s", page, addr, code, status.OneLine(strings.Join(lines, "; ")))
}
