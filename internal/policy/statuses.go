package policy

import (
	"fmt"
	"strconv"
	"strings"
)

// The final statuses of HTTP (RFC 9110, section 15); rules name no others.
const (
	leastStatus = 200
	mostStatus  = 599
)

// Statuses is what a rule writes for one status or a range of them: 409, 4xx or
// 502-504.
type Statuses string

// Range returns the first and the last status that s stands for, both of 200 to 599.
// The error says what s is not.
func (s Statuses) Range() (first, last int, err error) {
	text := string(s)
	if hundred, ok := strings.CutSuffix(strings.ToLower(text), "xx"); ok && len(hundred) == 1 {
		text = hundred + "00-" + hundred + "99"
	}
	from, to, isRange := strings.Cut(text, "-")
	if !isRange {
		to = from
	}
	first, last = status(from), status(to)
	switch {
	case first == 0 || last == 0:
		return 0, 0, fmt.Errorf("%q is no final HTTP status; write one of 200 to 599, 4xx, or 502-504", string(s))
	case first > last:
		return 0, 0, fmt.Errorf("%q begins with the greater status; write %d-%d", string(s), last, first)
	}
	return first, last, nil
}

// status returns the final status that a text of three digits is, or 0.
func status(text string) int {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || len(text) != 3 || n < leastStatus || n > mostStatus {
		return 0
	}
	return int(n)
}
