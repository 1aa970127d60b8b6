package policy

import "fmt"

// Table is what a relay does about every outcome. Make it with NewTable. It is only
// read, and safe for concurrent use.
type Table struct {
	lines    []Line
	byStatus [finalStatuses][]candidate
	beyond   []candidate // for what is no final status
	byKind   map[Kind]Verdict
	rest     Verdict // for a kind that is not known
}

// Line is a rule of a table.
type Line struct {
	Rule
	By string // the key that it comes from, such as endpoint.rules[0]; empty: the default table
}

// candidate is a rule that is about a status.
type candidate struct {
	verdict Verdict
	headers []condition // that have to hold besides
}

// NewTable returns the table of a relay with these rules and these statuses of
// endpoint.success, both of which may be empty. Success comes behind the rules: it
// accepts what it lists, and no other 2xx. The default table comes last.
func NewTable(rules []Rule, success []int) *Table {
	t := &Table{lines: linesOf(rules, success), byKind: map[Kind]Verdict{}}
	scopes := t.scopes()
	for i := range t.byStatus {
		t.byStatus[i] = t.candidates(func(line int) bool { return scopes[line].ways[i] })
	}
	t.beyond = t.candidates(func(line int) bool { return len(t.lines[line].Status)+len(t.lines[line].Error) == 0 })
	t.rest = t.failure(KindNone)
	for _, kind := range Kinds() {
		t.byKind[kind] = t.failure(kind)
	}
	return t
}

func (t *Table) scopes() []scope {
	scopes := make([]scope, len(t.lines))
	for i, line := range t.lines {
		scopes[i] = scopeOf(line.Rule)
	}
	return scopes
}

func linesOf(rules []Rule, success []int) []Line {
	var lines []Line
	for i, r := range rules {
		lines = append(lines, Line{r, fmt.Sprintf("endpoint.rules[%d]", i)})
	}
	if len(success) > 0 {
		accepted := Rule{Action: TreatDone}
		for _, status := range success {
			accepted.Status = append(accepted.Status, Statuses(fmt.Sprint(status)))
		}
		lines = append(lines,
			Line{accepted, "endpoint.success"},
			Line{Rule{Status: []Statuses{"2xx"}, Action: TreatLimited}, "endpoint.success"})
	}
	for _, r := range DefaultRules() {
		lines = append(lines, Line{Rule: r})
	}
	return lines
}

// candidates returns the rules that are about a status, up to the first that needs no
// header.
func (t *Table) candidates(about func(line int) bool) []candidate {
	var found []candidate
	for i, line := range t.lines {
		if !about(i) {
			continue
		}
		c := candidate{line.Verdict(line.By), line.conditions()}
		if found = append(found, c); len(c.headers) == 0 {
			break
		}
	}
	return found
}

func (t *Table) failure(kind Kind) Verdict {
	for _, line := range t.lines {
		if line.matchesKind(kind) {
			return line.Verdict(line.By)
		}
	}
	return Verdict{} // the default table leaves nothing over
}

// Answer returns what is done about an answer. It looks at headers only where a rule
// asks for one.
func (t *Table) Answer(status int, h Headers) Verdict {
	candidates := t.beyond
	if status >= leastStatus && status <= mostStatus {
		candidates = t.byStatus[status-leastStatus]
	}
	last := len(candidates) - 1
	for i := range candidates[:last] {
		if candidates[i].matches(h) {
			return candidates[i].verdict
		}
	}
	return candidates[last].verdict
}

// Failure returns what is done about an attempt without an answer.
func (t *Table) Failure(kind Kind) Verdict {
	if v, ok := t.byKind[kind]; ok {
		return v
	}
	return t.rest
}

func (c *candidate) matches(h Headers) bool {
	for _, condition := range c.headers {
		if !condition.holds(h) {
			return false
		}
	}
	return true
}

// Lines returns the rules in their order, without those of the default table that
// never apply behind the others.
func (t *Table) Lines() []Line {
	var lines []Line
	scopes := t.scopes()
	for i, line := range t.lines {
		if line.By != "" || line.Unconditional() || len(scopes[i].coveredBy(scopes[:i])) == 0 {
			lines = append(lines, line)
		}
	}
	return lines
}
