package main

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/retryd/retryd/internal/app"
	"github.com/retryd/retryd/internal/config"
)

// serveError is what ended the daemon, in contrast to a wrong command line.
type serveError struct{ error }

func (e *serveError) Unwrap() error { return e.error }

var errInterrupted = errors.New("a second signal ended it before it had stopped: records in flight are delivered again")

func (p program) runCommand() *cobra.Command {
	var path string
	cmd := &cobra.Command{
		Use:   "run --config FILE",
		Short: "Run all relays of a configuration",
		Long: `Run all relays of a configuration until SIGTERM or SIGINT, then stop cleanly:
attempts in flight finish, within stop_timeout. A second signal, a second or more
later, exits at once.

Exit codes: 0 after a clean stop, 1 after an error or a second signal, 78 if the
configuration is wrong, with one line for each problem.`,
		Example: "  retryd run --config /etc/retryd/retryd.yaml",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if path == "" {
				return errors.New("--config is missing: name the YAML file")
			}
			cfg, err := config.Load(path, p.environ)
			if err != nil {
				return err
			}
			if err := p.serveUntilSignal(cfg); err != nil {
				return &serveError{err}
			}
			return nil
		},
	}
	cmd.Flags().StringVarP(&path, "config", "c", "", "the YAML `FILE` (required)")
	return cmd
}

// echoTime is how long after the first signal another one is taken for the same:
// supervisors such as timeout of coreutils signal a process and then its group.
const echoTime = time.Second

// serveUntilSignal runs the daemon. The first signal stops it cleanly, the second
// returns at once and leaves it to the end of the process.
func (p program) serveUntilSignal(cfg *config.Config) error {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	done := make(chan error, 1)
	go func() {
		done <- p.serve(ctx, cfg, app.Options{
			Version:  currentVersion(),
			Log:      p.stderr,
			Terminal: isTerminal(p.stderr),
		})
	}()
	select {
	case err := <-done:
		return err
	case <-p.signals:
		stop()
	}
	for first := time.Now(); ; {
		select {
		case err := <-done:
			return err
		case <-p.signals:
			if time.Since(first) >= echoTime {
				return errInterrupted
			}
		}
	}
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
