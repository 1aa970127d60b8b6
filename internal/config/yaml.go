package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// readYAML makes the tree of a file. It returns nil if there is none; what is
// wrong with single values is reported and left out.
func (l *loader) readYAML(data []byte) *node {
	whole := func(line int, format string, args ...any) *node {
		l.complain(&node{line: line}, format, args...)
		return nil
	}
	if line, text := unreadable(data); text != "" {
		return whole(line, "%s", text)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var document, second yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return whole(0, "is empty; it needs at least relays")
	case err != nil:
		line, text := syntaxError(data, err)
		return whole(line, "%s", text)
	}
	if err := decoder.Decode(&second); !errors.Is(err, io.EOF) {
		return whole(second.Line, "holds a second YAML document; one file holds one configuration")
	}
	top := document.Content[0]
	root := l.convert(top, &node{line: top.Line}, 0)
	if l.nodes > maxNodes {
		l.problems = nil // they would be many, and follow from the one
		return whole(0, "holds more than %d values; are there aliases that repeat each other?", maxNodes)
	}
	switch root.value.(type) {
	case nil:
		return whole(0, "is empty; it needs at least relays")
	case mapping:
		return root
	}
	return whole(top.Line, "must be a mapping of keys such as kafka and relays, not %s", describe(root.value))
}

// unreadable finds bytes that cannot be YAML. The decoder would refuse them too,
// without a line.
func unreadable(data []byte) (line int, text string) {
	line = 1
	for len(data) > 0 {
		r, size := utf8.DecodeRune(data)
		switch {
		case r == utf8.RuneError && size == 1:
			return line, "not UTF-8 text; save the file as UTF-8"
		case unicode.IsControl(r) && !strings.ContainsRune("\t\n\r\u0085", r):
			return line, fmt.Sprintf("a control character (%U) is not allowed in YAML", r)
		case r == '\n':
			line++
		}
		data = data[size:]
	}
	return 0, ""
}

var (
	yamlPrefix    = regexp.MustCompile(`^yaml: (line (\d+): )?`)
	unknownAnchor = regexp.MustCompile(`^unknown anchor '.*' referenced$`)
)

// syntaxError words an error of the decoder. It never repeats a value: an
// unquoted secret may be what the decoder stumbled over.
func syntaxError(data []byte, err error) (line int, text string) {
	prefix := yamlPrefix.FindStringSubmatch(err.Error())
	text = err.Error()[len(prefix[0]):]
	switch {
	case unknownAnchor.MatchString(text):
		text = "a value that begins with * refers to an anchor, and there is none of that name; put the value in quotes"
	case strings.Contains(text, "cannot start any token"):
		text += "; indent with spaces, not tabs, and put values that begin with a special character in quotes"
	case strings.Contains(text, "did not find expected ',' or"):
		text += "; inside [ ] and { } put values with special characters in quotes, ${VAR} too"
	}
	if line = brokenLine(data); line == 0 {
		line, _ = strconv.Atoi(prefix[2])
	}
	return max(line, 1), "not valid YAML here or just above: " + text
}

// brokenLine returns the line behind the longest beginning of data that is valid
// YAML. The decoder's own line is often that of the mapping around the mistake.
// It returns 0 if the search would take long.
func brokenLine(data []byte) int {
	work := 16 << 20 // bytes to decode at most
	for end := len(data); end >= 0; end = bytes.LastIndexByte(data[:end], '\n') {
		if work -= end; work < 0 {
			return 0
		}
		var document yaml.Node
		if yaml.Unmarshal(data[:end], &document) == nil {
			return 2 + bytes.Count(data[:end], []byte("\n"))
		}
		if end == 0 {
			break
		}
	}
	return 1
}
