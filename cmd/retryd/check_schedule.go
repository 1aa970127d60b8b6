package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/retryd/retryd/internal/inspect"
	"github.com/retryd/retryd/internal/policy"
)

// writeSchedule prints the attempts, the dead-letter topic behind them, and what
// limits do to them.
func writeSchedule(w io.Writer, r inspect.RelayDescription) {
	aligned(w, func(w io.Writer) {
		fmt.Fprintln(w, "  ATTEMPT\tTOPIC\tDELAY\tEARLIEST\tLATEST\t")
		for _, a := range r.Attempts {
			switch {
			case a.Group == "":
				fmt.Fprintf(w, "  1\t%s\tyour application's\t\t\t\n", a.Topic)
			case a.Number == 1:
				fmt.Fprintf(w, "  1\t%s\t\t\t\t\n", a.Topic)
			case a.Never:
				fmt.Fprintf(w, "  %d *\t%s\t%s\tnever\tnever\t\n", a.Number, a.Topic, delayWords(a))
			case a.Number == firstMade(r): // the others count from its failure
				fmt.Fprintf(w, "  %d\t%s\t%s\t\t\t\n", a.Number, a.Topic, delayWords(a))
			default:
				fmt.Fprintf(w, "  %d%s\t%s\t%s\t%s\t%s\t\n", a.Number, star(a), a.Topic, delayWords(a), short(a.Earliest), short(a.Latest))
			}
		}
		if !r.Endless {
			fmt.Fprintf(w, "  end\t%s\t\t\t%s\t\n", r.DLT.Topic, short(r.End))
		}
	})
	if r.Endless {
		paragraph(w, "then "+repeatWords(r))
	}
	for _, note := range notes(r) {
		for _, line := range wrap("* "+note, textWidth-2) {
			fmt.Fprintf(w, "  %s\n", line)
		}
	}
}

// repeatWords says how an attempt is repeated that nothing follows.
func repeatWords(r inspect.RelayDescription) string {
	every, end := short(r.Shortest), "without an end"
	if r.Shortest != r.Longest {
		every += " to " + short(r.Longest)
	}
	if r.ExpireAfter > 0 {
		end = "until the record is " + short(r.ExpireAfter) + " old (expire_after)"
	}
	return fmt.Sprintf("every %s, %s: on_exhausted is repeat_last", every, end)
}

// firstMade is the number of the first attempt that retryd makes.
func firstMade(r inspect.RelayDescription) int {
	if r.Consume {
		return 1
	}
	return 2
}

// limited reports whether a limit touches an attempt.
func limited(a inspect.Attempt) bool { return a.Shortened || a.Budget || a.Lifetime || a.Expiry }

func star(a inspect.Attempt) string {
	if limited(a) {
		return " *"
	}
	return ""
}

// notes say what budget, lifetime and expire_after do to single attempts.
func notes(r inspect.RelayDescription) []string {
	var notes []string
	for _, a := range r.Attempts {
		if !limited(a) {
			continue
		}
		budget, lifetime := "the budget ("+short(r.Budget)+")", "the lifetime ("+short(r.Lifetime)+")"
		expiry := "expire_after (" + short(r.ExpireAfter) + ")"
		switch {
		case a.Never && a.Expiry:
			return append(notes, fmt.Sprintf("Attempt %d and those behind it are never made: %s ends before.", a.Number, expiry))
		case a.Never && a.Lifetime:
			return append(notes, fmt.Sprintf("Attempt %d and those behind it are never made: %s ends before.", a.Number, lifetime))
		case a.Never:
			return append(notes, fmt.Sprintf("Attempt %d and those behind it are never made: %s leaves less than half of the delay.", a.Number, budget))
		}
		var words []string
		switch {
		case a.Shortened && a.Budget:
			words = append(words, budget+" may shorten the wait, or not allow it")
		case a.Shortened:
			words = append(words, budget+" may shorten the wait")
		case a.Budget:
			words = append(words, budget+" may not allow it")
		}
		if a.Lifetime {
			words = append(words, lifetime+" may end before")
		}
		if a.Expiry {
			words = append(words, expiry+" may end before")
		}
		notes = append(notes, fmt.Sprintf("Attempt %d: %s.", a.Number, strings.Join(words, "; ")))
	}
	return notes
}

func delayWords(a inspect.Attempt) string {
	if a.Shortest == a.Longest {
		return short(a.Delay)
	}
	return fmt.Sprintf("%s (%s to %s)", short(a.Delay), short(a.Shortest), short(a.Longest))
}

// endings are the reasons that the configuration decides about. There are none for a
// relay that reads no records.
func endings(r inspect.RelayDescription) facts {
	if firstMade(r) > len(r.Attempts) {
		return nil
	}
	made := r.Made() // 0: each record expires in its first tier
	var f facts
	add := func(reason policy.Reason, format string, args ...any) {
		f = append(f, [2]string{string(reason), fmt.Sprintf(format, args...)})
	}
	switch last := r.Attempts[len(r.Attempts)-1]; {
	case r.Endless:
		add(policy.ReasonExhausted, "attempt %d failed while more than %s records of its partition were unfinished (max_unfinished)", last.Number, thousands(r.MaxUnfinished))
	case !last.Never:
		add(policy.ReasonExhausted, "attempt %d, the last one, failed", last.Number)
	}
	if r.LimitedAttempts <= made || r.Endless {
		add(policy.ReasonLimited, "failure number %d of class unknown, like a 500%s (endpoint.limited_attempts)", r.LimitedAttempts, ownWords(r))
	}
	if made > 0 && firstMade(r) < len(r.Attempts) && r.Budget > 0 {
		add(policy.ReasonBudget, "%s", budgetWords(r))
	}
	if made > 0 && r.Lifetime > 0 {
		add(policy.ReasonLifetime, "an attempt failed %s or more after the first failure, whatever was late", short(r.Lifetime))
	}
	if made > 0 {
		add(policy.ReasonReplays, "an attempt failed, and the record was replayed %s or more (max_replays)", timesWord(max(r.MaxReplays, 1)))
	}
	if r.ExpireAfter > 0 {
		add(policy.ReasonExpired, "an attempt would have begun %s or more after the record's own timestamp (expire_after)", short(r.ExpireAfter))
	}
	return f
}

func timesWord(n int) string {
	if n == 1 {
		return "once"
	}
	return thousands(n) + " times"
}

// ownWords tells retryd's failures from those of an application that makes attempts, too.
func ownWords(r inspect.RelayDescription) string {
	if r.Consume {
		return ""
	}
	return ", in retryd's own attempts"
}

func budgetPrevents(r inspect.RelayDescription) bool {
	return slices.ContainsFunc(r.Attempts, func(a inspect.Attempt) bool { return a.Budget })
}

func budgetWords(r inspect.RelayDescription) string {
	budget := short(r.Budget)
	switch {
	case budgetPrevents(r):
		return "less than half of the next delay would end within " + budget + " of the first failure"
	case r.Consume:
		return "never: every wait, or half of it at least, ends within " + budget + " of the first failure"
	}
	return "only with an earlier x-first-failure-at of your application's: else every wait, or half of it at least, ends within " + budget + " of the first failure"
}
