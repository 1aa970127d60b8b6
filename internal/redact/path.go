package redact

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// path is a JSONPath (RFC 9535) of a small subset: .name, ['name'], [n] and [*], each
// once or more, and ..name for a name at any depth. It has one step at least.
type path []step

// step leads from a value to some of what is in it.
type step struct {
	deep  bool   // to what is in these, too, at any depth
	all   bool   // [*]: every member or element
	name  string // of a member; "" if it is none
	index int    // of an element, from 0; -1 if it is none
}

// place is where a value is in the one around it.
type place struct {
	name  string // of a member; "" for an element
	index int    // of an element, from 0; -1 for a member
}

func (s step) selects(at place) bool {
	return s.all || s.index == at.index && s.name == at.name
}

// name returns the last name in a path, or "".
func (p path) name() string {
	for i := len(p) - 1; i >= 0; i-- {
		if p[i].name != "" {
			return p[i].name
		}
	}
	return ""
}

// parsePath parses one entry of the configuration. The error quotes it.
func parsePath(text string) (path, error) {
	rest, ok := strings.CutPrefix(text, "$")
	if !ok {
		return nil, fmt.Errorf("%q does not begin with $, as in $.card.number", text)
	}
	if rest == "" {
		return nil, fmt.Errorf("%q is the whole value; name a part of it, as in $.card.number", text)
	}
	var p path
	for rest != "" {
		var s step
		var err error
		if s, rest, err = parseStep(rest); err != nil {
			return nil, fmt.Errorf("%q %w", text, err)
		}
		p = append(p, s)
	}
	return p, nil
}

// parseStep parses the first step of text, which is not empty.
func parseStep(text string) (s step, rest string, err error) {
	rest, deep := strings.CutPrefix(text, "..")
	dotted := deep
	if !deep {
		rest, dotted = strings.CutPrefix(text, ".")
	}
	switch bracket := strings.HasPrefix(rest, "["); {
	case bracket && (deep || !dotted):
		s, rest, err = parseBracket(rest)
	case dotted:
		s, rest, err = parseName(rest)
	default:
		err = fmt.Errorf("has %q, where a dot or a bracket must be", rest)
	}
	if err == nil && deep && s.name == "" {
		err = errors.New("must have a name behind its two dots, as in $..password")
	}
	s.deep = deep
	return s, rest, err
}

// parseName parses a name without quotes, up to the next dot or bracket.
func parseName(text string) (s step, rest string, err error) {
	end := strings.IndexAny(text, ".[")
	if end < 0 {
		end = len(text)
	}
	name := text[:end]
	switch {
	case name == "":
		return s, "", errors.New("has a dot without a name behind it")
	case name == "*":
		return s, "", errors.New("has .*; write [*]")
	case strings.ContainsAny(name, "'\"*]()?@$,: \t"):
		return s, "", fmt.Errorf("has the name %s; write such a name as ['...']", name)
	}
	return step{name: name, index: -1}, text[end:], nil
}

// parseBracket parses what begins with a bracket: ['name'], [n] or [*].
func parseBracket(text string) (s step, rest string, err error) {
	inside := text[1:]
	if inside != "" && (inside[0] == '\'' || inside[0] == '"') {
		return parseQuoted(inside)
	}
	content, rest, closed := strings.Cut(inside, "]")
	if !closed {
		return s, "", errors.New("has a [ without ]")
	}
	if content == "*" {
		return step{all: true, index: -1}, rest, nil
	}
	n, err := strconv.ParseUint(content, 10, 31)
	if err != nil {
		return s, "", fmt.Errorf("has [%s]; in brackets may be a name in quotes, a number from 0 on, or *", content)
	}
	return step{index: int(n)}, rest, nil
}

// parseQuoted parses a name from its quotation mark on. A backslash stands for the
// character behind it.
func parseQuoted(text string) (s step, rest string, err error) {
	var name []byte
	for i := 1; i < len(text); i++ {
		switch {
		case text[i] == '\\' && i+1 < len(text):
			i++
			name = append(name, text[i])
		case text[i] != text[0]:
			name = append(name, text[i])
		case !strings.HasPrefix(text[i+1:], "]"):
			return s, "", errors.New("has no ] behind a quoted name; two names are two entries")
		case len(name) == 0:
			return s, "", errors.New("has an empty name")
		default:
			return step{name: string(name), index: -1}, text[i+2:], nil
		}
	}
	return s, "", errors.New("has a quotation mark that is not closed")
}
