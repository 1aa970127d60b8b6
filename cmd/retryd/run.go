package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/spf13/cobra"

	"github.com/retryd/retryd/internal/app"
	"github.com/retryd/retryd/internal/config"
)

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
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			cfg, err := p.load(path)
			if err != nil {
				return err
			}
			return p.serveUntilSignal(cfg)
		},
	}
	configFlag(cmd, &path, requiredFile)
	return cmd
}

// echoTime is how long after the first signal another one is taken for the same:
// supervisors such as timeout of coreutils signal a process and then its group.
const echoTime = time.Second

// serveUntilSignal runs the daemon. The first signal stops it cleanly, the second
// returns at once and leaves it to the end of the process.
func (p program) serveUntilSignal(cfg *config.Config) error {
	signals := p.signals()
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
	case <-signals:
		stop()
	}
	for first := time.Now(); ; {
		select {
		case err := <-done:
			return err
		case <-signals:
			if time.Since(first) >= echoTime {
				return errInterrupted
			}
		}
	}
}

// serveSupervised is app.Run under the service manager that the environment names, if
// any (NOTIFY_SOCKET and WATCHDOG_USEC, see sd_notify(3) and sd_watchdog_enabled(3)). Its
// process is the daemon's alone.
func serveSupervised(ctx context.Context, cfg *config.Config, o app.Options) error {
	timeout, err := daemon.SdWatchdogEnabled(false)
	if err != nil {
		return fmt.Errorf("ask for the service manager's watchdog: %w", err)
	}
	o.Watchdog = timeout
	o.Notify = func(state string) error {
		_, err := daemon.SdNotify(false, state)
		return err
	}
	defer collectRarely()()
	return app.Run(ctx, cfg, o)
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
