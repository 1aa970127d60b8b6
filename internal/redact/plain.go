package redact

import (
	"bytes"
	"encoding/json"
	"slices"
)

// plain treats a text that is no JSON object or array.
func plain(paths []path, text []byte) []byte {
	end := len(text)
	for b, i := bareOf(text), 0; i < len(paths); i++ {
		if at := mention(b.text, paths[i].name()); at >= 0 {
			end = min(end, b.origin(at))
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
	b := bareOf(text)
	return slices.ContainsFunc(paths, func(p path) bool { return mention(b.text, p.name()) >= 0 })
}

// mention returns where a bare text first has something that looks like a member of that
// name: in quotes, as JSON and many other notations have it, and with a value; or -1.
func mention(text []byte, name string) int {
	bareName := bareOf([]byte(name)).text
	for from := 0; len(bareName) > 0; {
		at := bytes.Index(text[from:], bareName)
		if at < 0 {
			break
		}
		at += from
		if at > 0 && isQuote(text[at-1]) && hasValue(text[at+len(bareName):]) {
			return at - 1
		}
		from = at + 1
	}
	return -1
}

// hasValue reports whether what follows a name closes its quotes and has a value.
func hasValue(text []byte) bool {
	if len(text) == 0 || !isQuote(text[0]) {
		return false
	}
	at := skip(text, 1, " \t\r\n")
	return at < len(text) && (text[at] == ':' || text[at] == '=')
}

func isQuote(c byte) bool { return c == '"' || c == '\'' || c == '`' }
