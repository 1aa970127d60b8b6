package policy

import (
	"slices"
	"strings"
)

// scope is what a rule is about: ways in which attempts end, each true, and the headers
// that have to hold besides. The ways are the final statuses, and behind them Kinds.
type scope struct {
	ways   []bool
	header map[string]string
}

const finalStatuses = mostStatus + 1 - leastStatus

func scopeOf(r Rule) scope {
	s := scope{make([]bool, finalStatuses+len(Kinds())), r.Header}
	for _, statuses := range r.Status {
		first, last, err := statuses.Range()
		for status := first; err == nil && status <= last; status++ {
			s.ways[status-leastStatus] = true
		}
	}
	if len(r.Status)+len(r.Error) == 0 {
		for i := range finalStatuses {
			s.ways[i] = true
		}
	}
	for i, kind := range Kinds() {
		s.ways[finalStatuses+i] = r.matchesKind(kind)
	}
	return s
}

// coveredBy returns the places of the scopes that together hold all of s: a single one
// if there is one, else several in their order; none if anything is left. It knows all
// that there is of statuses and kinds. Of headers it knows that one condition implies
// another, not which values a header can have.
func (s scope) coveredBy(earlier []scope) []int {
	var together []int
	left := slices.Clone(s.ways)
	for i, e := range earlier {
		if !e.impliedBy(s) {
			continue
		}
		switch alone, more := e.take(s.ways, left); {
		case alone:
			return []int{i}
		case more:
			together = append(together, i)
		}
	}
	if slices.Contains(left, true) {
		return nil
	}
	return together
}

// take removes from left what s holds. alone reports whether s holds all of the ways,
// more whether it removed any.
func (s scope) take(ways, left []bool) (alone, more bool) {
	alone = true
	for i, way := range ways {
		alone = alone && (!way || s.ways[i])
		if left[i] && s.ways[i] {
			left[i], more = false, true
		}
	}
	return alone, more
}

// impliedBy reports whether what other asks of the headers is all that s asks, or more.
func (s scope) impliedBy(other scope) bool {
	for name, value := range s.header {
		if !other.asks(name, value) {
			return false
		}
	}
	return true
}

func (s scope) asks(name, value string) bool {
	for own, asked := range s.header {
		if strings.EqualFold(own, name) && (asked == value || value == AnyValue) {
			return true
		}
	}
	return false
}
