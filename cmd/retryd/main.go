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
	"strings"
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
	p := program{
		stdin:   os.Stdin,
		stdout:  os.Stdout,
		stderr:  os.Stderr,
		environ: os.Environ(),
		user:    currentUser,
		signals: stopSignals,
		serve:   serveSupervised,
	}
	os.Exit(p.run(os.Args[1:]))
}

// stopSignals begins to catch SIGINT and SIGTERM, which end a process otherwise, as
// does SIGPIPE: a log whose reader has gone is no reason to stop.
func stopSignals() <-chan os.Signal {
	signal.Ignore(syscall.SIGPIPE)
	signals := make(chan os.Signal, 2) // the second one must not be lost
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	return signals
}

// program is the command line and what it needs of its surroundings.
type program struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	environ        []string
	user           func() string           // who gives orders
	signals        func() <-chan os.Signal // from then on the signals that stop the daemon are caught
	serve          func(context.Context, *config.Config, app.Options) error
}

// run executes one command line and returns the exit code. It alone prints errors
// and turns them into codes: commands return them.
func (p program) run(args []string) int {
	out := &sink{to: p.stdout}
	p.stdout = out
	root := p.rootCommand()
	root.SetArgs(args)
	reached := false // what fails before a command runs comes from reading the command line
	root.PersistentPreRun = func(*cobra.Command, []string) { reached = true }
	cmd, err := root.ExecuteC()
	var wrong *config.Error
	var misused *usageError
	switch {
	case out.err != nil:
		fmt.Fprintln(p.stderr, "retryd: standard output:", out.err)
	case err == nil:
		return exitOK
	case errors.As(err, &wrong):
		fmt.Fprintln(p.stderr, wrong)
		return exitConfig
	case errors.Is(err, errTold):
	case !reached || errors.As(err, &misused):
		fmt.Fprintf(p.stderr, "retryd: %s\nSee %q.\n", strings.TrimRight(err.Error(), "\n"), cmd.CommandPath()+" --help")
	default:
		fmt.Fprintln(p.stderr, "retryd:", err)
	}
	return exitError
}

// sink remembers the first error of writing: cobra ignores it for help texts, and for
// --version takes it for one of the command line.
type sink struct {
	to  io.Writer
	err error
}

// Write implements io.Writer.
func (s *sink) Write(b []byte) (int, error) {
	n, err := s.to.Write(b)
	if s.err == nil {
		s.err = err
	}
	return n, err
}

// usageError is a command line that a command cannot work with.
type usageError struct{ error }

func (e *usageError) Unwrap() error { return e.error }

// errTold ends a command whose output says already what is wrong.
var errTold = errors.New("the output says what is wrong")

// The groups of commands, in the order in which one needs them.
const (
	groupRun    = "run"
	groupBefore = "before"
	groupWhile  = "while"
)

func (p program) rootCommand() *cobra.Command {
	root := &cobra.Command{
		Use:   "retryd",
		Short: "Durable delayed retries on Kafka",
		Long: `retryd delivers records of Kafka topics to HTTP endpoints. A record that an
endpoint does not accept waits in retry topics and ends in a dead-letter topic.`,
		Example: `  retryd check --config /etc/retryd/retryd.yaml
  retryd run --config /etc/retryd/retryd.yaml
  retryd status`,
		Version:       versionLine(),
		SilenceErrors: true, // printed by run
		SilenceUsage:  true,
		RunE: func(*cobra.Command, []string) error {
			return usage("a command is missing")
		},
	}
	root.SetOut(p.stdout)
	root.SetErr(p.stderr)
	root.SetVersionTemplate("{{.Version}}\n")
	root.Flags().Bool("version", false, "print the version") // cobra's own would also take -v
	root.AddGroup(
		&cobra.Group{ID: groupBefore, Title: "Before it runs:"},
		&cobra.Group{ID: groupRun, Title: "The daemon:"},
		&cobra.Group{ID: groupWhile, Title: "While it runs:"},
	)
	add := func(group string, commands ...*cobra.Command) {
		for _, c := range commands {
			c.GroupID = group
		}
		root.AddCommand(commands...)
	}
	add(groupBefore, p.checkCommand(), p.topicsCommand(), p.sendCommand())
	add(groupRun, p.runCommand())
	add(groupWhile, p.statusCommand(), p.healthcheckCommand(), p.pauseCommand(), p.resumeCommand())
	add("", p.versionCommand())
	root.SetHelpCommand(helpCommand())
	addCompletion(root)
	return root
}
