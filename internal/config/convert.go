package config

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Bounds of what is made from a file: an alias may repeat a large value, and one
// inside its own anchor would never end.
const (
	maxNodes = 100_000
	maxDepth = 32
)

// convert fills n with the value of y, or leaves it empty where a bound is
// exceeded.
func (l *loader) convert(y *yaml.Node, n *node, depth int) *node {
	l.nodes++
	switch {
	case l.nodes > maxNodes:
		return n
	case depth > maxDepth:
		l.reject(n, "nested more than %d levels deep", maxDepth)
		return n
	}
	switch y.Kind {
	case yaml.AliasNode:
		return l.convert(y.Alias, n, depth+1)
	case yaml.MappingNode:
		n.value = l.convertMapping(y, n, depth)
	case yaml.SequenceNode:
		n.value = l.convertList(y, n, depth)
	case yaml.ScalarNode:
		n.value = l.convertScalar(y, n)
	}
	return n
}

func (l *loader) convertList(y *yaml.Node, parent *node, depth int) list {
	items := make(list, 0, len(y.Content))
	for i, item := range y.Content {
		n := &node{key: fmt.Sprintf("%s[%d]", parent.key, i), line: item.Line}
		before := len(l.problems)
		if l.convert(item, n, depth+1); n.value == nil && len(l.problems) == before {
			l.reject(n, "is empty; remove the entry or give it a value")
		}
		items = append(items, n)
	}
	return items
}

func (l *loader) convertMapping(y *yaml.Node, parent *node, depth int) mapping {
	m := mapping{}
	var merges []*yaml.Node
	for i := 0; i+1 < len(y.Content); i += 2 {
		key, value := y.Content[i], y.Content[i+1]
		switch {
		case key.Kind != yaml.ScalarNode:
			l.complain(&node{key: parent.key, line: key.Line}, "a key must be a plain word")
		case key.ShortTag() == "!!merge":
			merges = append(merges, value)
		default:
			l.addKey(m, key, parent, value, depth)
		}
	}
	for _, value := range merges {
		l.mergeAnchor(m, value, parent, depth)
	}
	return m
}

func (l *loader) addKey(m mapping, key *yaml.Node, parent *node, value *yaml.Node, depth int) {
	n := &node{name: key.Value, key: join(parent.key, key.Value), line: key.Line}
	if first := m[strings.ToLower(n.name)]; first != nil {
		l.complain(n, "duplicate key, already on line %d", first.line)
		return
	}
	m[strings.ToLower(n.name)] = l.convert(value, n, depth+1)
}

// mergeAnchor adds what a merge key (<<) refers to; the mapping's own keys win,
// then the earlier of several (https://yaml.org/type/merge.html).
func (l *loader) mergeAnchor(m mapping, value *yaml.Node, parent *node, depth int) {
	sources := []*yaml.Node{value}
	if value.Kind == yaml.SequenceNode {
		sources = value.Content
	}
	for _, source := range sources {
		n := l.convert(source, &node{key: parent.key, line: source.Line}, depth+1)
		merged, ok := n.value.(mapping)
		if !ok {
			l.complain(n, "<< must refer to a mapping, not to %s", describe(n.value))
		}
		for key, child := range merged {
			if m[key] == nil {
				m[key] = child
			}
		}
	}
}

// convertScalar returns text as text, also where YAML would make a time of it.
func (l *loader) convertScalar(y *yaml.Node, n *node) any {
	switch y.ShortTag() {
	case "!!null":
		return nil
	case "!!str", "!!timestamp":
		text, err := expand(y.Value, l.env.refer)
		if err != nil {
			l.reject(n, "%v", err)
		}
		return text
	case "!!bool", "!!int", "!!float":
		var v any
		if err := y.Decode(&v); err != nil {
			l.reject(n, "does not fit its YAML tag %s", y.ShortTag())
		}
		return v
	}
	l.reject(n, "has a YAML tag; put a value that begins with ! in quotes")
	return ""
}

var plainKey = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)

// join appends a key to a path, quoted if it would not read as one word.
func join(path, key string) string {
	if !plainKey.MatchString(key) {
		key = strconv.Quote(key)
	}
	if path == "" {
		return key
	}
	return path + "." + key
}
