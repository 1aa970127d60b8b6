package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/retryd/retryd/internal/admin"
	"github.com/retryd/retryd/internal/status"
)

func (p program) statusCommand() *cobra.Command {
	var where addressOptions
	var output *format
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the state of a running daemon",
		Long: `Show the state of a running daemon: whether it is ready, and for each relay what is
due, what waits for its time, problems, and the last errors. The numbers are of the
partitions that this daemon owns, and - where it has measured none; other instances
own others.

` + whereItListens + `
A daemon tells its state over loopback only.

Exit codes: 0 if the daemon answered, 1 if not, 78 if the configuration is wrong.`,
		Example: `  retryd status
  retryd status --config /etc/retryd/retryd.yaml
  retryd status --address 127.0.0.1:9464 --output json`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			addr, err := p.addressOf(where)
			if err != nil {
				return err
			}
			state, err := admin.Fetch(context.Background(), addr)
			if err != nil {
				return err
			}
			return p.print(*output, state, func(w io.Writer) { writeStatus(w, state) })
		},
	}
	addressFlags(cmd, &where)
	output = outputFlag(cmd)
	return cmd
}

func writeStatus(w io.Writer, s status.Process) {
	fmt.Fprintf(w, "retryd %s: %s, up %s (since %s)\n", status.OneLine(s.Version), readiness(s.Ready),
		age(s.Time.Sub(s.Since)), s.Since.UTC().Format(time.DateTime+" MST"))
	writeProblems(w, s.Problems, s.Time)
	for _, relay := range s.Relays {
		fmt.Fprintln(w)
		writeRelayStatus(w, relay, s.Time)
	}
}

func readiness(ready bool) string {
	if ready {
		return "ready"
	}
	return "not ready"
}

func relayState(r status.Relay) string {
	if r.Halt != nil {
		return readiness(r.Ready) + ", " + status.OneLine(string(r.Halt.State))
	}
	return readiness(r.Ready)
}

func writeRelayStatus(w io.Writer, r status.Relay, now time.Time) {
	fmt.Fprintf(w, "relay %s: %s, %s in flight to %s\n", status.OneLine(r.Name), relayState(r),
		status.Count(r.InFlight, "attempt"), status.OneLine(r.Endpoint))
	table(w, func(w io.Writer) { writeTiers(w, r.Tiers, now) })
	paragraph(w, "dead letters: "+deadText(r.DLT))
	if r.Review != nil {
		paragraph(w, "to review: "+deadText(*r.Review))
	}
	writeProblems(w, r.Problems, now)
	if !told(r.Problems, r.LastError) {
		writeError(w, "", r.LastError, now)
	}
	for _, t := range r.Tiers {
		newest := t.LastError != nil && r.LastError != nil && *t.LastError == *r.LastError // the relay's, too
		if !newest && !told(r.Problems, t.LastError) {
			writeError(w, " of "+t.Topic, t.LastError, now)
		}
	}
}

// told reports whether a problem says what an error does: that of a tier is a problem
// of the relay, behind the name of the topic or group.
func told(problems []status.Problem, e *status.Event) bool {
	return slices.ContainsFunc(problems, func(p status.Problem) bool { return e != nil && strings.HasSuffix(p.Text, e.Text) })
}

func writeTiers(w io.Writer, tiers []status.Tier, now time.Time) {
	fmt.Fprintln(w, "  TIER\tTOPIC\tPARTITIONS\tDUE\tHELD\tOLDEST DUE\tFURTHEST DUE\tJOINED")
	for _, t := range tiers {
		fmt.Fprintf(w, "  %s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", tierText(t), status.OneLine(t.Topic), ranges(t.Partitions),
			countText(t.Due), countText(t.Held), ageText(t.OldestDue), aheadText(t.Furthest, now), yesNo(t.Joined))
	}
}

func writeProblems(w io.Writer, problems []status.Problem, now time.Time) {
	for _, p := range problems {
		paragraph(w, fmt.Sprintf("problem for %s: %s", age(now.Sub(p.Since)), p.Text))
	}
}

func writeError(w io.Writer, where string, e *status.Event, now time.Time) {
	if e != nil {
		paragraph(w, fmt.Sprintf("last error%s, %s ago: %s", where, age(now.Sub(e.Time)), e.Text))
	}
}

func tierText(t status.Tier) string {
	if t.Retired {
		return status.OneLine(t.Name) + " (retired)"
	}
	return status.OneLine(t.Name)
}

func deadText(d status.DLT) string {
	if d.Records == nil {
		return fmt.Sprintf("%s, not counted yet", d.Topic)
	}
	return fmt.Sprintf("%s in %s", status.Count(*d.Records, "record"), d.Topic)
}

func countText(n *int64) string {
	if n == nil {
		return "-"
	}
	return fmt.Sprint(*n)
}

func ageText(seconds *float64) string {
	if seconds == nil {
		return "-"
	}
	return age(time.Duration(*seconds * float64(time.Second)))
}

func aheadText(at *time.Time, now time.Time) string {
	if at == nil {
		return "-"
	}
	return "in " + age(max(0, at.Sub(now)))
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// ranges prints ascending numbers as 0-2,5.
func ranges(numbers []int32) string {
	var parts []string
	for i := 0; i < len(numbers); {
		j := i
		for j+1 < len(numbers) && numbers[j+1] == numbers[j]+1 {
			j++
		}
		part := fmt.Sprint(numbers[i])
		if j > i {
			part = fmt.Sprintf("%d-%d", numbers[i], numbers[j])
		}
		parts = append(parts, part)
		i = j + 1
	}
	if len(parts) == 0 {
		return "-"
	}
	return strings.Join(parts, ",")
}
