package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/retryd/retryd/internal/inspect"
	"github.com/retryd/retryd/internal/policy"
)

// answersTitle heads the tables of relays that have no rules of their own.
const answersTitle = "What an answer of the endpoint does"

// writeSharedAnswers prints once what holds for every relay that has no rules of its own.
func writeSharedAnswers(w io.Writer, relays []inspect.RelayDescription) {
	own := 0
	for _, relay := range relays {
		if relay.OwnAnswers() {
			own++
		}
	}
	switch {
	case own == len(relays):
		return
	case own > 0:
		fmt.Fprintf(w, "\n%s, where a relay has no table of its own above\n", answersTitle)
	default:
		fmt.Fprintf(w, "\n%s\n", answersTitle)
	}
	writeAnswers(w, inspect.DefaultAnswers())
}

// writeAnswers prints one rule a line, or more where it has many conditions. The keys of
// the rules are a column only where there are some.
func writeAnswers(w io.Writer, answers []inspect.Answer) {
	named, width := false, 38
	if slices.ContainsFunc(answers, func(a inspect.Answer) bool { return a.Rule != "" }) {
		named, width = true, 30
	}
	row := func(w io.Writer, cells ...string) {
		if !named {
			cells = cells[1:]
		}
		fmt.Fprintf(w, "  %s\t\n", strings.Join(cells, "\t"))
	}
	aligned(w, func(w io.Writer) {
		row(w, "RULE", "ANSWER", "CLASS", "ATTEMPT", "WHAT HAPPENS")
		for i, a := range answers {
			conditions, effect := wrap(answerWords(a, answers[:i]), width), wrap(a.Effect, 36)
			row(w, ruleWord(a.Rule), conditions[0], string(a.Class), spentWord(a), effect[0])
			for n := 1; n < max(len(conditions), len(effect)); n++ {
				row(w, "", lineOf(conditions, n), "", "", lineOf(effect, n))
			}
		}
	})
}

// lineOf returns a line, or nothing behind the last.
func lineOf(lines []string, n int) string {
	if n < len(lines) {
		return lines[n]
	}
	return ""
}

// ruleWord shortens the key of a rule.
func ruleWord(rule string) string {
	if rule == "" {
		return "default"
	}
	return strings.TrimPrefix(rule, "endpoint.")
}

func spentWord(a inspect.Answer) string {
	switch {
	case a.Class == policy.ClassNone:
		return ""
	case a.Spent:
		return "spent"
	}
	return "kept"
}

// answerWords names the conditions of a rule that comes behind others.
func answerWords(a inspect.Answer, before []inspect.Answer) string {
	if a.Everything {
		return "everything else, such as 500, 501, or an answer that is no HTTP"
	}
	var words []string
	for _, s := range a.Statuses {
		words = append(words, statusWords(s, before))
	}
	for _, kind := range a.Kinds {
		words = append(words, kindWords(kind))
	}
	text := strings.Join(words, ", ")
	for i, h := range a.Headers {
		switch {
		case i > 0:
			text += " and "
		case text != "":
			text += " with "
		}
		if text += h.Name; h.Value != policy.AnyValue {
			text += ": " + h.Value
		}
	}
	return text
}

// statusWords says of a hundred whether the rules before are about some of it.
func statusWords(s policy.Statuses, before []inspect.Answer) string {
	first, last, _ := s.Range()
	if last-first != 99 || first%100 != 0 {
		return string(s)
	}
	word := "any"
	for _, a := range before {
		if slices.ContainsFunc(a.Statuses, func(taken policy.Statuses) bool {
			from, to, _ := taken.Range()
			return from <= last && first <= to
		}) {
			word = "any other"
		}
	}
	return fmt.Sprintf("%s %dxx", word, first/100)
}

func kindWords(k policy.Kind) string {
	switch k {
	case policy.KindTimeout:
		return "no answer in time"
	case policy.KindRefused, policy.KindReset:
		return "connection " + string(k)
	case policy.KindDNS:
		return "name not found"
	case policy.KindTLS:
		return "failed TLS handshake"
	case policy.KindProtocol:
		return "an answer that is no HTTP"
	}
	return string(k)
}
