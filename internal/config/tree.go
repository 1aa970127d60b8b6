package config

import (
	"strconv"
	"strings"
)

// node is one value of the configuration, and where an operator finds it.
type node struct {
	name  string // the last part of key, as it is spelled
	key   string // path where the value was written; defaults.jitter, also below a relay
	line  int    // of the key, or of the list's entry; 0 if it comes from the environment
	env   string // the environment variable that it comes from
	value any    // nil, string, bool, int, float64 and the like, list or mapping
}

type (
	list    []*node
	mapping map[string]*node // keys in lower case, as viper makes them
)

// child returns the value below n that part names, or nil.
func (n *node) child(part string) *node {
	switch v := n.value.(type) {
	case mapping:
		return v[strings.ToLower(part)]
	case list:
		if i, err := strconv.Atoi(part); err == nil && i >= 0 && i < len(v) {
			return v[i]
		}
	}
	return nil
}

// find returns the value at a key path, or nil.
func (n *node) find(key string) *node {
	for _, part := range split(key) {
		if n == nil {
			return nil
		}
		n = n.child(part)
	}
	return n
}

// place returns where a problem of key belongs: the value itself, or else what is
// there of its parents, and the key to name.
func (n *node) place(key string) (*node, string) {
	parent := n
	for _, part := range split(key) {
		if n = n.child(part); n == nil {
			return parent, key
		}
		if scalar(n.value) {
			return n, n.key // a tier's delay may be written as the tier itself
		}
		if !within(n.key, "defaults") {
			parent = n // what is missing is missing in the relay, not in the defaults
		}
	}
	return n, n.key
}

// split takes a key path apart: relays[0].endpoint.headers[x-a] has five parts.
func split(key string) []string {
	return strings.FieldsFunc(key, func(r rune) bool { return r == '.' || r == '[' || r == ']' })
}

func scalar(v any) bool {
	switch v.(type) {
	case list, mapping:
		return false
	}
	return true
}

// valueOf is value for a node that may be missing.
func (n *node) valueOf() any {
	if n == nil {
		return nil
	}
	return n.value
}

// plain returns the value as viper takes it. A key without a value is nil, which
// leaves the default.
func (n *node) plain() any {
	switch v := n.value.(type) {
	case mapping:
		m := make(map[string]any, len(v))
		for key, child := range v {
			m[key] = child.plain()
		}
		return m
	case list:
		s := make([]any, len(v))
		for i, child := range v {
			s[i] = child.plain()
		}
		return s
	}
	return n.value
}

// mergeDefaults puts the values below defaults under every relay.
func (n *node) mergeDefaults() {
	defaults := n.find("defaults")
	if _, ok := defaults.valueOf().(mapping); !ok {
		return
	}
	relays, _ := n.find("relays").valueOf().(list)
	for i, relay := range relays {
		if own, ok := relay.value.(mapping); ok {
			relays[i] = merge(withoutOtherTiers(defaults, own), relay)
		}
	}
}

// withoutOtherTiers leaves tiers out of the defaults for a relay that has a
// backoff of its own, and the other way round: they are two ways to say one thing.
func withoutOtherTiers(defaults *node, relay mapping) *node {
	if relay["tiers"] == nil && relay["backoff"] == nil {
		return defaults
	}
	rest := mapping{}
	for key, child := range defaults.value.(mapping) {
		if key != "tiers" && key != "backoff" {
			rest[key] = child
		}
	}
	for _, key := range []string{"tiers", "backoff"} {
		if relay[key] != nil && defaults.child(key) != nil {
			rest[key] = defaults.child(key)
		}
	}
	return &node{key: defaults.key, line: defaults.line, value: rest}
}

// merge returns own with what only the defaults have. Mappings merge deeply, all
// else is replaced; an own key without a value has the built-in default.
func merge(defaults, own *node) *node {
	base, ok := defaults.value.(mapping)
	if !ok {
		return own
	}
	over, ok := own.value.(mapping)
	if !ok && own.value != nil {
		return own // not a mapping, which is reported when it is decoded
	}
	merged := mapping{}
	for key, child := range base {
		merged[key] = child
	}
	for key, child := range over {
		if base[key] != nil {
			child = merge(base[key], child)
		}
		merged[key] = child
	}
	return &node{name: own.name, key: own.key, line: own.line, env: own.env, value: merged}
}
