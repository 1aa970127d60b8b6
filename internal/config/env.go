package config

import (
	"fmt"
	"strings"
)

// variable returns the environment variable that sets a key: RETRYD_ADMIN_LISTEN.
func variable(key string) string {
	key = strings.NewReplacer(".", "_", "[", "_", "]", "").Replace(key)
	return "RETRYD_" + strings.ToUpper(key)
}

// applyEnvironment sets the keys that the environment names, over those of the
// file. An empty variable counts as not set.
func (l *loader) applyEnvironment(root *node) {
	for _, key := range leaves(schema) {
		name := variable(key)
		if value, ok := l.getenv(name); ok && value != "" {
			root.set(key, name, value)
		}
	}
	l.refuseInLists(root)
}

// set puts a value at key, and the mappings above it where they are missing. What
// is there but no mapping stays: that is reported when it is decoded.
func (n *node) set(key, env, value string) {
	parts := split(key)
	for i, part := range parts {
		m, ok := n.value.(mapping)
		switch {
		case n.value == nil:
			m = mapping{}
			n.value = m
		case !ok:
			return
		}
		if last := i == len(parts)-1; last || m[part] == nil {
			m[part] = &node{name: part, key: strings.Join(parts[:i+1], "."), env: env}
		}
		n = m[part]
	}
	n.value = value
}

// refuseInLists reports variables that would have to reach into a list. Ignored
// in silence, they would leave the file's value in place.
func (l *loader) refuseInLists(root *node) {
	relays, _ := root.find("relays").valueOf().(list)
	keys := leaves(relayType)
	for i := range relays {
		for _, key := range keys {
			path := fmt.Sprintf("relays[%d].%s", i, key)
			if name := variable(path); l.has(name) {
				l.reject(&node{key: path, env: name}, "a key in a list cannot be set by environment; write ${SOME_VARIABLE} as its value in the file")
			}
		}
	}
}

func (l *loader) has(name string) bool {
	value, ok := l.getenv(name)
	return ok && value != ""
}
