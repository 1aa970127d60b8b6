package status

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxHeadline bounds a status line, in bytes. It leaves room beside it: systemd
// ignores a notification of more than 4096 bytes as a whole (NOTIFY_BUFFER_MAX, which
// is PIPE_BUF, in manager_dispatch_notify_fd of its src/core/manager.c).
const maxHeadline = 1024

// Lines returns one printable line per problem: first those of the whole process,
// then those of the relays, in their order, as "relay NAME: text".
func (p Process) Lines() []string {
	var lines []string
	for _, each := range p.all() {
		lines = append(lines, each.line)
	}
	return lines
}

// Summary is the state of the process in one printable line of at most 1 KiB: what
// the whole process waits for, or else how many relays are ready and the first
// problem, blocking ones first.
func (p Process) Summary() string {
	problems := p.all()
	slices.SortStableFunc(problems, func(a, b problem) int { return b.weight - a.weight })
	var parts []string
	if len(problems) == 0 || problems[0].weight < processBlocking {
		parts = append(parts, p.count())
	}
	if len(problems) > 0 {
		parts = append(parts, problems[0].line)
	}
	if more := len(problems) - 1; more > 0 {
		parts = append(parts, Count(more, "more problem"))
	}
	return Headline(strings.Join(parts, "; "))
}

// Headline returns text as one printable line of at most 1 KiB: so much may be told
// to a supervisor.
func Headline(text string) string {
	text = OneLine(text)
	if len(text) <= maxHeadline {
		return text
	}
	end := maxHeadline - len("...")
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "..."
}

// OneLine returns text with a space for everything that does not print: line ends,
// and the escapes by which foreign text could write on a terminal.
func OneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, text)
}

// problem is a problem's line, and how much it matters.
type problem struct {
	line   string
	weight int
}

const (
	telling         = iota // blocks nothing
	relayBlocking          // keeps a relay from being ready
	processBlocking        // keeps the whole process from being ready
)

func (p Process) all() []problem {
	var all []problem
	add := func(prefix string, blocking int, problems []Problem) {
		for _, each := range problems {
			weight := telling
			if each.Blocking {
				weight = blocking
			}
			all = append(all, problem{OneLine(prefix + each.Text), weight})
		}
	}
	add("", processBlocking, p.Problems)
	for _, r := range p.Relays {
		add("relay "+r.Name+": ", relayBlocking, r.Problems)
	}
	return all
}

func (p Process) count() string {
	ready := 0
	for _, r := range p.Relays {
		if r.Ready {
			ready++
		}
	}
	if ready == len(p.Relays) && p.Ready {
		return "ready: " + Count(ready, "relay")
	}
	return fmt.Sprintf("%d of %s ready", ready, Count(len(p.Relays), "relay"))
}

// Count writes a number with its noun.
func Count[N ~int | ~int32 | ~int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
