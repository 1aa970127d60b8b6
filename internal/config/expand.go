package config

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

var variableName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

// expand replaces ${VAR} by the variable's value, which is not expanded again,
// and $$ by a dollar sign; any other dollar sign stands for itself. The error
// never repeats s, which may be a secret.
func expand(s string, getenv func(string) (string, bool)) (string, error) {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, "$")
		b.WriteString(before)
		if !found {
			return b.String(), nil
		}
		switch {
		case strings.HasPrefix(after, "$"):
			b.WriteByte('$')
			s = after[1:]
		case strings.HasPrefix(after, "{"):
			name, rest, closed := strings.Cut(after[1:], "}")
			if !closed {
				return "", errors.New("has ${ without }; write $${ for the characters themselves")
			}
			if !variableName.MatchString(name) {
				return "", errors.New("has ${...} around what is no variable name; write $${ for the characters themselves")
			}
			value, ok := getenv(name)
			if !ok {
				return "", fmt.Errorf("environment variable %s is not set", name)
			}
			b.WriteString(value)
			s = rest
		default:
			b.WriteByte('$')
			s = after
		}
	}
}
