package config

import (
	"reflect"
	"strings"

	"github.com/retryd/retryd/internal/policy"
	"github.com/retryd/retryd/internal/tier"
)

// The types that stand for more than their kind.
var (
	schema    = reflect.TypeFor[file]()
	relayType = reflect.TypeFor[tier.Config]()
	tiersType = reflect.TypeFor[policy.Tiers]()
	tierType  = reflect.TypeFor[policy.Tier]()
	parkType  = reflect.TypeFor[policy.Park]()

	statusesType = reflect.TypeFor[policy.Statuses]()
	kindType     = reflect.TypeFor[policy.Kind]()
)

// field is one key of a mapping.
type field struct {
	key string
	typ reflect.Type
}

// fields returns the keys of a configuration struct.
func fields(t reflect.Type) []field {
	var keys []field
	for i := range t.NumField() {
		f := t.Field(i)
		key, option, _ := strings.Cut(f.Tag.Get("mapstructure"), ",")
		switch {
		case option == "squash":
			keys = append(keys, fields(f.Type)...)
		case key != "" && key != "-":
			keys = append(keys, field{key, f.Type})
		}
	}
	return keys
}

// shorthand reports whether a value of t may be written as its delay alone.
func shorthand(t reflect.Type) bool { return t == tierType || t == parkType }

// nested reports whether t is a mapping of known keys.
func nested(t reflect.Type) bool { return t.Kind() == reflect.Struct && t != tiersType }

// element returns the type of a list's entries, or nil if t is no list.
func element(t reflect.Type) reflect.Type {
	switch {
	case t == tiersType:
		return tierType
	case t.Kind() == reflect.Slice:
		return t.Elem()
	}
	return nil
}

// leaves returns the key paths of t that are in no list.
func leaves(t reflect.Type) []string {
	var paths []string
	for _, f := range fields(t) {
		switch {
		case nested(f.typ):
			for _, path := range leaves(f.typ) {
				paths = append(paths, f.key+"."+path)
			}
		case f.typ.Kind() == reflect.Map, f.typ.Kind() == reflect.Slice && nested(f.typ.Elem()) && !shorthand(f.typ.Elem()):
		default:
			paths = append(paths, f.key)
		}
	}
	return paths
}

// checkKeys reports and removes the keys that t does not have.
func (l *loader) checkKeys(n *node, t reflect.Type) {
	switch v := n.value.(type) {
	case list:
		if e := element(t); e != nil {
			for _, item := range v {
				l.checkKeys(item, e)
			}
		}
	case mapping:
		if !nested(t) {
			return
		}
		known := map[string]reflect.Type{}
		for _, f := range fields(t) {
			known[f.key] = f.typ
		}
		for key, child := range v {
			if known[child.name] != nil {
				l.checkKeys(child, known[key])
				continue
			}
			delete(v, key)
			l.unknownKey(n, child, t)
		}
	}
}

func (l *loader) unknownKey(parent, n *node, t reflect.Type) {
	meant := suggest(n.name, t)
	if meant == "" {
		l.reject(n, "unknown key")
		return
	}
	l.reject(n, "unknown key, did you mean %q?", meant)
	if parent.find(meant) == nil {
		l.cover(strings.TrimPrefix(parent.key+"."+meant, ".")) // it is not missing, it is misspelled
	}
}

// suggest returns the key of t that name probably means: one with a typo or two,
// a longer one, or the same one a level deeper. It returns the empty string if
// there is none.
func suggest(name string, t reflect.Type) string {
	best, least := "", 2
	if len(name) > 4 {
		least = 3
	}
	for _, f := range fields(t) {
		d := distance(fold(name), fold(f.key))
		if len(name) > 2 && strings.HasPrefix(f.key, name) {
			d = min(d, 1)
		}
		if d < least {
			best, least = f.key, d
		}
	}
	if best != "" {
		return best
	}
	for _, path := range leaves(t) {
		if parent, key, ok := strings.Cut(path, "."); ok && key == name {
			return parent + "." + key
		}
	}
	return ""
}

// fold makes spellings equal that differ in style only: maxInFlight, max-in-flight.
func fold(key string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(key))
}

// distance counts the insertions, deletions and replacements that make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
