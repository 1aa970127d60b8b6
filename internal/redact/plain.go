package redact

import (
	"bytes"
	"encoding/json"
	"slices"
)

// plain treats a text that is no JSON object or array.
func plain(paths []path, text []byte) []byte {
	end := len(text)
	for _, p := range paths {
		if at := mention(text[:end], p.name()); at >= 0 {
			end = at
		}
	}
	switch {
	case end == len(text):
		return text
	case json.Valid(text): // a string
		return []byte(`"` + Mask + `"`)
	}
	return append(bytes.Clone(text[:end]), note...)
}

// mentioned reports whether a text has the last name of any path.
func mentioned(paths []path, text []byte) bool {
	return slices.ContainsFunc(paths, func(p path) bool { return mention(text, p.name()) >= 0 })
}

// mention returns where a text first has something that looks like a member of that
// name: in quotes, as JSON and many other notations have it, and with a value; or -1.
func mention(text []byte, name string) int {
	for from := 0; name != ""; {
		at := bytes.Index(text[from:], []byte(name))
		if at < 0 {
			break
		}
		at += from
		if at > 0 && isQuote(text[at-1]) && hasValue(text[at+len(name):]) {
			return at - 1
		}
		from = at + 1
	}
	return -1
}

// hasValue reports whether what follows a name closes its quotes and has a value. In
// a string, the quotes have a backslash before them.
func hasValue(text []byte) bool {
	at := skip(text, 0, `\`)
	if at == len(text) || !isQuote(text[at]) {
		return false
	}
	at = skip(text, at+1, " \t\r\n")
	return at < len(text) && (text[at] == ':' || text[at] == '=')
}

func isQuote(c byte) bool { return c == '"' || c == '\'' || c == '`' }
