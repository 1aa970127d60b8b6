package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is one thing that is wrong, and where.
type Problem struct {
	File string // as it was given to Load
	Line int    // 1-based; 0 if the problem has no line
	Env  string // the environment variable that holds the value, instead of File and Line
	Key  string // key path, such as relays[0].endpoint.url; empty if it is the file as a whole
	Text string // what is wrong and how to fix it, without secrets
}

// String returns the problem in one line: FILE:LINE: key.path: text.
func (p Problem) String() string {
	var b strings.Builder
	switch {
	case p.Env != "":
		fmt.Fprintf(&b, "environment %s: ", p.Env)
	case p.Line > 0:
		fmt.Fprintf(&b, "%s:%d: ", p.File, p.Line)
	default:
		fmt.Fprintf(&b, "%s: ", p.File)
	}
	if p.Key != "" {
		fmt.Fprintf(&b, "%s: ", p.Key)
	}
	b.WriteString(p.Text)
	return strings.ReplaceAll(b.String(), "\n", " ")
}

// Error is a configuration that cannot be used.
type Error struct {
	Problems []Problem // in the order of their lines; never empty
}

// Error returns all problems, one a line.
func (e *Error) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// loader collects the problems of one file.
type loader struct {
	file     string
	env      environment
	root     *node // merged with the defaults; nil until then
	nodes    int   // converted so far, aliases counted every time
	problems []Problem
	covered  []string // key paths that have a problem: nothing more is said about them
}

func (l *loader) err() error {
	if len(l.problems) == 0 {
		return nil
	}
	slices.SortStableFunc(l.problems, func(a, b Problem) int {
		return cmp.Or(
			cmp.Compare(a.Line, b.Line), cmp.Compare(a.Env, b.Env), cmp.Compare(a.Key, b.Key),
			cmp.Compare(a.Text, b.Text))
	})
	return &Error{Problems: slices.Compact(l.problems)}
}

// complain adds a problem of the key in n.
func (l *loader) complain(n *node, format string, args ...any) {
	l.problems = append(l.problems, Problem{
		File: l.file, Line: n.line, Env: n.env, Key: n.key, Text: fmt.Sprintf(format, args...),
	})
}

// reject adds a problem of the value in n, which is then not judged further.
func (l *loader) reject(n *node, format string, args ...any) {
	l.complain(n, format, args...)
	l.cover(n.key)
}

// cover says that a problem has been reported for the value at key.
func (l *loader) cover(key string) { l.covered = append(l.covered, key) }

// report adds a problem of the value at key, unless it follows from one that has
// been reported for the same value. A value that a relay has from the defaults is
// reported under its place there, so that several relays report it once.
func (l *loader) report(key, format string, args ...any) {
	n, key := l.root.place(key)
	if !l.isCovered(key) {
		l.complain(&node{key: key, line: n.line, env: n.env}, format, args...)
	}
}

// reportAll adds errors whose texts begin with a key relative to prefix.
func (l *loader) reportAll(prefix string, errs []error) {
	for _, err := range errs {
		key, text, _ := strings.Cut(err.Error(), ": ")
		l.report(prefix+key, "%s", text)
	}
}

func (l *loader) isCovered(key string) bool {
	inherited := key
	relay, rest, ok := strings.Cut(key, "].")
	if ok && strings.HasPrefix(relay, "relays[") && l.root != nil && l.root.find(key) == nil {
		inherited = "defaults." + rest // where it may be missing only because that is wrong
	}
	return slices.ContainsFunc(l.covered, func(c string) bool {
		// An entry without a value makes the whole list look wrong, and a wrong value its
		// whole entry.
		return within(key, c) || within(inherited, c) || strings.HasPrefix(c, key+"[") || strings.HasSuffix(key, "]") && within(c, key)
	})
}

// within reports whether key is parent or lies below it.
func within(key, parent string) bool {
	rest, ok := strings.CutPrefix(key, parent)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}
