package config

import (
	"maps"
	"slices"
	"strings"
)

// envPrefix begins the names of the variables that set keys.
const envPrefix = "RETRYD_"

// environment holds the variables of a process.
type environment struct {
	values map[string]string
	used   map[string]bool // those that the file refers to
}

// newEnvironment takes NAME=value as os.Environ returns it.
func newEnvironment(environ []string) environment {
	e := environment{values: map[string]string{}, used: map[string]bool{}}
	for _, pair := range environ {
		name, value, _ := strings.Cut(pair, "=")
		e.values[name] = value
	}
	return e
}

// refer looks up a variable that the file refers to.
func (e environment) refer(name string) (string, bool) {
	e.used[name] = true
	value, ok := e.values[name]
	return value, ok
}

// isServiceLink reports whether name is of those that Kubernetes gives each container
// for a service, here one whose name begins with retryd
// (https://kubernetes.io/docs/concepts/services-networking/service/#environment-variables).
func (e environment) isServiceLink(name string) bool {
	for host := range e.values {
		service, ok := strings.CutSuffix(host, "_SERVICE_HOST")
		if ok && (strings.HasPrefix(name, service+"_SERVICE_") || name == service+"_PORT" || strings.HasPrefix(name, service+"_PORT_")) {
			return true
		}
	}
	return false
}

// variable returns the environment variable that sets a key: RETRYD_ADMIN_LISTEN.
func variable(key string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
}

// applyEnvironment sets the keys that the environment names, over those of the
// file. An empty variable counts as not set.
func (l *loader) applyEnvironment(root *node) {
	known := map[string]bool{}
	for _, key := range leaves(schema) {
		name := variable(key)
		known[name] = true
		if value := l.env.values[name]; value != "" {
			root.set(key, name, value)
		}
	}
	l.refuseUnknown(known)
}

// refuseUnknown reports variables that set nothing. Ignored in silence, they would
// leave the file's value, or the default, in place.
func (l *loader) refuseUnknown(known map[string]bool) {
	for name, value := range l.env.values {
		if !strings.HasPrefix(name, envPrefix) || value == "" || known[name] || l.env.used[name] || l.env.isServiceLink(name) {
			continue
		}
		n := &node{env: name}
		if strings.HasPrefix(name, variable("relays")) {
			l.complain(n, "a key in a list cannot be set by environment; write ${SOME_VARIABLE} as its value in the file")
		} else if meant := suggestVariable(name, slices.Sorted(maps.Keys(known))); meant != "" {
			l.complain(n, "is the variable of no key, did you mean %s?", meant)
		} else {
			l.complain(n, "is the variable of no key; unset it, or refer to it in the file")
		}
	}
}

// suggestVariable returns the one of known that name probably means: one with a
// typo or two, or one that ends in the same words. It returns the empty string if
// there is none.
func suggestVariable(name string, known []string) string {
	best, least := "", 3
	for _, k := range known {
		if d := distance(name, k); d < least {
			best, least = k, d
		}
	}
	if best != "" {
		return best
	}
	ending := "_" + strings.TrimPrefix(name, envPrefix)
	for _, k := range known {
		if strings.HasSuffix(k, ending) {
			return k
		}
	}
	return ""
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
