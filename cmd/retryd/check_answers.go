package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/retryd/retryd/internal/inspect"
	"github.com/retryd/retryd/internal/policy"
)

func writeAnswers(w io.Writer, answers []inspect.Answer) {
	aligned(w, func(w io.Writer) {
		fmt.Fprintln(w, "  ANSWER\tCLASS\tATTEMPT\tWHAT HAPPENS\t")
		for _, a := range answers {
			lines := answerWords(a)
			fmt.Fprintf(w, "  %s\t%s\t%s\t%s\t\n", lines[0], a.Class, spentWord(a), a.Effect)
			for _, line := range lines[1:] {
				fmt.Fprintf(w, "  %s\t\t\t\t\n", line)
			}
		}
	})
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

// answerWords names statuses in the first line, and other failures in the next ones.
func answerWords(a inspect.Answer) []string {
	first := list(a.Statuses)
	switch {
	case a.Rest == "*":
		first += ", everything else"
	case a.Rest == "4xx":
		first += ", any other 4xx"
	case a.Rest != "":
		first = strings.TrimPrefix(first+", any "+a.Rest, ", ")
	}
	var kinds []string
	for _, kind := range a.Kinds {
		kinds = append(kinds, kindWords(kind))
	}
	lines := []string{first}
	if len(kinds) > 0 {
		lines = append(lines, wrap(strings.Join(kinds, ", "), 38)...)
	}
	return lines
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
