// Command retryd delivers records of Kafka topics to HTTP endpoints, with durable
// delayed retries and dead letters.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/retryd/retryd/internal/app"
	"github.com/retryd/retryd/internal/config"
)

// The exit codes. A wrong configuration has one of its own (EX_CONFIG of
// sysexits.h), so that a supervisor can tell that a restart does not help.
const (
	exitOK     = 0
	exitError  = 1
	exitConfig = 78
)

// version is set by -ldflags "-X main.version=1.2.3".
var version string

func main() {
	signals := make(chan os.Signal, 2) // the second one must not be lost
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	p := program{
		stdout:  os.Stdout,
		stderr:  os.Stderr,
		environ: os.Environ(),
		signals: signals,
		serve:   app.Run,
	}
	os.Exit(p.run(os.Args[1:]))
}

// program is the command line and what it needs of its surroundings.
type program struct {
	stdout, stderr io.Writer
	environ        []string
	signals        <-chan os.Signal // SIGINT and SIGTERM
	serve          func(context.Context, *config.Config, app.Options) error
}

// run executes one command line and returns the exit code.
func (p program) run(args []string) int {
	root := p.rootCommand()
	root.SetArgs(args)
	root.SetOut(p.stdout)
	root.SetErr(p.stderr)
	cmd, err := root.ExecuteC()
	var wrong *config.Error
	var failed *serveError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &wrong):
		fmt.Fprintln(p.stderr, wrong)
		return exitConfig
	case errors.As(err, &failed):
		fmt.Fprintln(p.stderr, "retryd:", failed)
	default: // everything else comes from reading the command line
		fmt.Fprintf(p.stderr, "retryd: %v\nSee %q.\n", err, cmd.CommandPath()+" --help")
	}
	return exitError
}

func (p program) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "retryd",
		Short: "Durable delayed retries on Kafka",
		Long: `retryd delivers records of Kafka topics to HTTP endpoints. A record that an
endpoint does not accept waits in retry topics and ends in a dead-letter topic.`,
		Example:       "  retryd run --config /etc/retryd/retryd.yaml",
		Version:       versionLine(),
		SilenceErrors: true, // printed by run
		SilenceUsage:  true,
		RunE: func(*cobra.Command, []string) error {
			return errors.New("a command is missing: run or version")
		},
	}
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetVersionTemplate("{{.Version}}\n")
	root.Flags().Bool("version", false, "print the version") // cobra's own would also take -v
	root.AddCommand(p.runCommand(), p.versionCommand())
	return root
}
