package redact

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
)

var fuzzed = []string{"$.card.number", "$.items[*].iban", "$..password", "$[1]", "$.a['b c']..d"}

// FuzzJSON compares the redaction with one of the decoded tree.
func FuzzJSON(f *testing.F) {
	for _, seed := range []string{
		`{"card":{"number":"4111-1111","cvc":123},"items":[{"iban":"DE12"},{"iban":null}]}`,
		`[1.0,[{"password":{"x":[2e400]}}],"\u00e4\ud800"]`,
		`{"a":{"b c":[{"d":{"d":1}}]},"password":"x","password":"y"}`,
		`"of {\"password\":1}"`, `{"error":"of {\"iban\":\"DE\"}"}`, `{"a":1}{"b":[]}`, `{'password':1}`, "\xff\xfe{", `[1,`, "password=1", "",
		`{"e":"{\u0022p\u0061ssword\u0022:1}"}`, `["{\"p\\u0061ssword\" \u003a","\\\"iban\\\":1"]`, `{"e":"{\u0022iban\u0022:`, `"\u005cu0022number\u0022="`,
	} {
		f.Add([]byte(seed))
	}
	rules := rulesOf(fuzzed...)
	f.Fuzz(func(t *testing.T, in []byte) {
		before := bytes.Clone(in)
		out := rules.JSON(in)
		if !bytes.Equal(in, before) {
			t.Fatalf("%q was changed to %q", before, in)
		}
		if !json.Valid(in) {
			return
		}
		if !json.Valid(out) {
			t.Fatalf("%s became %s, which is no JSON", in, out)
		}
		requireOutsideUnchanged(t, string(in), string(out))
		requireSameEscaped(t, rules, in)
		if repeatsNames(t, in) {
			return
		}
		if diff := cmp.Diff(hidden(decoded(t, in), rules.paths, atRoot(rules.paths)), decoded(t, out)); diff != "" {
			t.Fatalf("%s became %s (-want +got):\n%s", in, out, diff)
		}
	})
}

// requireOutsideUnchanged finds what is around the masks of out in in, in that order.
func requireOutsideUnchanged(t *testing.T, in, out string) {
	t.Helper()
	pieces := strings.Split(out, `"`+Mask+`"`)
	rest, ok := strings.CutPrefix(in, pieces[0])
	if last := pieces[len(pieces)-1]; !ok || !strings.HasSuffix(in, last) {
		t.Fatalf("%s became %s: its ends differ", in, out)
	}
	for _, piece := range pieces[1:] {
		at := strings.Index(rest, piece)
		if at < 0 {
			t.Fatalf("%s became %s: %s is not in it", in, out, piece)
		}
		rest = rest[at+len(piece):]
	}
}

// requireSameEscaped quotes a text in a string, once with few escapes and once with as
// many as there can be: what hides the one hides the other.
func requireSameEscaped(t *testing.T, rules Rules, text []byte) {
	t.Helper()
	few, err := json.Marshal(string(text))
	if err != nil {
		t.Fatal(err)
	}
	many := escapeAll(string(text))
	if a, b := string(rules.JSON([]byte("["+string(few)+"]"))), string(rules.JSON([]byte("["+many+"]"))); (a == `["`+Mask+`"]`) != (b == `["`+Mask+`"]`) {
		t.Fatalf("%s becomes %s, but %s becomes %s", few, a, many, b)
	}
}

// escapeAll returns a text as a JSON string of escapes alone.
func escapeAll(text string) string {
	var b strings.Builder
	for _, unit := range utf16.Encode([]rune(text)) {
		fmt.Fprintf(&b, `\u%04x`, unit)
	}
	return `"` + b.String() + `"`
}

func decoded(t *testing.T, text []byte) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// repeatsNames reports whether an object has two members of a name: a tree has one.
func repeatsNames(t *testing.T, text []byte) bool {
	tree, err := json.Marshal(decoded(t, text))
	if err != nil {
		t.Fatal(err)
	}
	return tokens(tree) != tokens(text)
}

func tokens(text []byte) int {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	for n := 0; ; n++ {
		if _, err := d.Token(); err != nil {
			return n
		}
	}
}

func atRoot(paths []path) []position {
	var at []position
	for i := range paths {
		at = append(at, position{path: i})
	}
	return at
}

// hidden is the tree's way to the same end: it knows neither bytes nor order.
func hidden(v any, paths []path, at []position) any {
	for _, p := range at {
		if p.next == len(paths[p.path]) {
			return Mask
		}
	}
	inner := func(where place) []position {
		var next []position
		for _, p := range at {
			step := paths[p.path][p.next]
			if step.deep {
				next = append(next, p)
			}
			if step.all || where.index >= 0 && step.index == where.index || where.index < 0 && step.index < 0 && !step.all && step.name == where.name {
				next = append(next, position{p.path, p.next + 1})
			}
		}
		return next
	}
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			v[name] = hidden(member, paths, inner(place{name, -1}))
		}
	case []any:
		for i, element := range v {
			v[i] = hidden(element, paths, inner(place{"", i}))
		}
	case string:
		if mentioned(paths, []byte(`"`+v+`"`)) {
			return Mask
		}
	}
	return v
}

func FuzzParsePath(f *testing.F) {
	for _, seed := range append(fuzzed, "$", "$.", "$[", "$['", `$["\`, "$..", "$[9999999999]") {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := parsePath(text)
		switch {
		case err != nil:
			if !strings.Contains(err.Error(), strconv.Quote(text)) {
				t.Errorf("%q: the error does not quote it: %v", text, err)
			}
		case len(p) == 0:
			t.Errorf("%q: no step", text)
		}
		for _, s := range p {
			if s.deep && s.name == "" || s.index < -1 || s.name != "" && (s.all || s.index >= 0) {
				t.Errorf("%q: step %+v", text, s)
			}
		}
	})
}
