package main

import (
	"fmt"
	"io"
	"time"

	"github.com/retryd/retryd/internal/inspect"
	"github.com/retryd/retryd/internal/status"
)

// paragraph prints a text indented by two blanks, and folded with two more.
func paragraph(w io.Writer, text string) {
	indent := "  "
	for _, line := range wrap(status.OneLine(text), textWidth-4) {
		fmt.Fprintln(w, indent+line)
		indent = "    "
	}
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

// count writes a number with its noun.
func count[N ~int | ~int32 | ~int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
