package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode/utf8"

	"github.com/retryd/retryd/internal/inspect"
	"github.com/retryd/retryd/internal/status"
)

// textWidth is how many columns sentences take at most.
const textWidth = 100

// facts are names, each with what is to be said of it.
type facts [][2]string

// write prints one below the other, the texts wrapped in a column of their own.
func (f facts) write(w io.Writer) {
	longest := 0
	for _, fact := range f {
		longest = max(longest, len(fact[0]))
	}
	for _, fact := range f {
		name := fact[0]
		for _, line := range wrap(fact[1], textWidth-longest-4) {
			fmt.Fprintf(w, "  %-*s  %s\n", longest, name, line)
			name = ""
		}
	}
}

// table aligns the columns of what rows prints with tabs between its cells.
func table(w io.Writer, rows func(io.Writer)) {
	columns := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	rows(columns)
	_ = columns.Flush() // w is a buffer
}

// aligned is a table whose cells may be empty: each row ends in a tab, so that none
// ends the columns, and the blanks at the ends of lines go.
func aligned(w io.Writer, rows func(io.Writer)) {
	var out strings.Builder
	table(&out, rows)
	for line := range strings.Lines(out.String()) {
		fmt.Fprintln(w, strings.TrimRight(line, " \n"))
	}
}

// paragraph prints a text indented by two blanks, and folded with two more.
func paragraph(w io.Writer, text string) {
	indent := "  "
	for _, line := range wrap(status.OneLine(text), textWidth-4) {
		fmt.Fprintln(w, indent+line)
		indent = "    "
	}
}

// wrap breaks a text between words into lines of at most width characters; a
// longer word stays whole.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = word
		case utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width:
			lines = append(lines, line)
			line = word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}

// short writes a duration as the configuration does, 5m and not 5m0s, with no more
// digits than people read.
func short(s inspect.Seconds) string {
	text := time.Duration(s).Round(precision(time.Duration(s))).String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
}

// precision is to what people read a duration.
func precision(d time.Duration) time.Duration {
	switch {
	case d >= time.Minute:
		return time.Second
	case d >= time.Second:
		return 100 * time.Millisecond
	case d >= 10*time.Millisecond:
		return time.Millisecond
	case d >= time.Millisecond:
		return 100 * time.Microsecond
	case d >= time.Microsecond:
		return time.Microsecond
	}
	return time.Nanosecond
}

const day = 24 * time.Hour

// age writes a duration that may last for days: 45s, 3h5m, 2d4h.
func age(d time.Duration) string {
	if d < day {
		return short(inspect.Seconds(d))
	}
	days := fmt.Sprintf("%dd", d/day)
	if hours := d % day / time.Hour; hours > 0 {
		return fmt.Sprintf("%s%dh", days, hours)
	}
	return days
}

// thousands writes 1300 as 1,300.
func thousands(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

func list(numbers []int) string {
	words := make([]string, len(numbers))
	for i, n := range numbers {
		words[i] = strconv.Itoa(n)
	}
	return strings.Join(words, ", ")
}
