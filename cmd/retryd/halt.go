package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/user"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/retryd/retryd/internal/admin"
	"github.com/retryd/retryd/internal/status"
)

// haltOptions are the flags of pause and resume.
type haltOptions struct {
	where  addressOptions
	reason string
}

func (p program) pauseCommand() *cobra.Command {
	return p.haltCommand(&cobra.Command{
		Use:   "pause RELAY",
		Short: "Let a relay deliver nothing until it is resumed",
		Long: `Pause a relay, on all instances: attempts under way finish, and no further one is
made. Records wait on Kafka; no attempt is spent, and nothing is dead-lettered. It
holds over restarts, until retryd resume: Kafka keeps it.

` + whereItListens + `
A daemon takes orders over loopback only.

Exit codes: 0 if the relay is halted, 1 if not, 78 if the configuration is wrong.`,
		Example: `  retryd pause loans --reason "database upgrade"
  retryd pause loans --config /etc/retryd/retryd.yaml`,
	}, admin.Pause, writePaused)
}

func (p program) resumeCommand() *cobra.Command {
	return p.haltCommand(&cobra.Command{
		Use:   "resume RELAY",
		Short: "Let a paused or stopped relay deliver again",
		Long: `Resume a relay on all instances: one that was paused, or that a rule has stopped. It
says so where the relay's endpoint holds it up all the same, which ends by itself.

` + whereItListens + `
A daemon takes orders over loopback only.

Exit codes: 0 if the relay is not halted any more, 1 if it may be, 78 if the
configuration is wrong.`,
		Example: `  retryd resume loans
  retryd resume loans --reason "upgrade done"`,
	}, admin.Resume, writeResumed)
}

// haltCommand completes a command that gives an order to a running daemon.
func (p program) haltCommand(
	cmd *cobra.Command,
	do func(ctx context.Context, addr, relay string, o admin.Order) (admin.Halted, error),
	write func(io.Writer, admin.Halted),
) *cobra.Command {
	var o haltOptions
	cmd.Args = func(_ *cobra.Command, args []string) error {
		switch len(args) {
		case 0:
			return usage("a relay is missing: name one that retryd status shows")
		case 1:
			return nil
		}
		return noArgs(nil, args[1:])
	}
	cmd.ValidArgsFunction = p.completeRelay
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		addr, err := p.addressOf(o.where)
		if err != nil {
			return err
		}
		done, err := do(context.Background(), addr, args[0], admin.Order{Reason: o.reason, By: p.user()})
		if err != nil {
			return err
		}
		return p.print(formatText, done, func(w io.Writer) { write(w, done) })
	}
	addressFlags(cmd, &o.where)
	cmd.Flags().StringVar(&o.reason, "reason", "", "why, for whoever looks at it: `TEXT` of at most 256 bytes")
	return cmd
}

func writePaused(w io.Writer, h admin.Halted) {
	switch {
	case h.Halt == nil: // it was resumed meanwhile
		fmt.Fprintf(w, "relay %s is not halted\n", status.OneLine(h.Relay))
	case h.Halt.State == status.Stopped:
		fmt.Fprintf(w, "relay %s is halted already: %s\n", status.OneLine(h.Relay), status.OneLine(h.Halt.Text(h.Relay)))
	default:
		fmt.Fprintf(w, "relay %s is %s\n", status.OneLine(h.Relay), status.OneLine(h.Halt.Text(h.Relay)))
	}
}

func writeResumed(w io.Writer, h admin.Halted) {
	said := "is resumed"
	if h.Was == nil {
		said = "was not halted"
	}
	if h.Endpoint != "" {
		said += ", but its endpoint holds it up, which ends by itself: " + h.Endpoint
	}
	fmt.Fprintf(w, "relay %s %s\n", status.OneLine(h.Relay), status.OneLine(said))
}

// currentUser is the name of whoever runs the program, or its number where it has none.
func currentUser() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "uid " + strconv.Itoa(os.Getuid())
}
