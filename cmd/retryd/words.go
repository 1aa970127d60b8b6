package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/retryd/retryd/internal/inspect"
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

// aligned is a table whose cells may be empty: each row ends in a tab, so that none
// ends the columns, and the blanks at the ends of lines go.
func aligned(w io.Writer, rows func(io.Writer)) {
	var out strings.Builder
	table(&out, rows)
	for line := range strings.Lines(out.String()) {
		fmt.Fprintln(w, strings.TrimRight(line, " \n"))
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
	d := time.Duration(s)
	switch {
	case d >= time.Minute:
		d = d.Round(time.Second)
	case d >= time.Second:
		d = d.Round(100 * time.Millisecond)
	case d >= time.Millisecond:
		d = d.Round(time.Millisecond)
	}
	text := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(text, zero) {
			text = text[:len(text)-2]
		}
	}
	return text
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
