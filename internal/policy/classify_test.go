package policy

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// class is the table of docs/policy.md, written the other way round: the classes
// that are not their range's default.
func class(status int) Class {
	switch {
	case slices.Contains([]int{408, 425, 502, 503, 504}, status):
		return ClassTransient
	case status == 429:
		return ClassThrottled
	case status == 409 || status == 412:
		return ClassConflict
	case slices.Contains([]int{401, 403, 404, 405, 407, 415}, status):
		return ClassEndpoint
	case status >= 200 && status <= 299:
		return ClassNone
	case status >= 300 && status <= 399:
		return ClassEndpoint
	case status >= 400 && status <= 499:
		return ClassInvalid
	}
	return ClassUnknown
}

func TestClassifyEveryStatus(t *testing.T) {
	count := map[Class]int{}
	for status := 100; status <= 599; status++ {
		for _, kind := range []Kind{KindNone, KindStatus} {
			got := Classify(status, kind)
			if want := class(status); got != want {
				t.Errorf("status %d, kind %q: class %q, want %q", status, kind, got, want)
			}
			count[got]++
		}
	}
	want := map[Class]int{
		ClassNone: 200, ClassTransient: 10, ClassThrottled: 2, ClassConflict: 4, ClassEndpoint: 212,
		ClassInvalid: 2 * (100 - 2 - 1 - 2 - 6), ClassUnknown: 2 * (100 + 100 - 3),
	}
	for c, n := range want {
		if count[c] != n {
			t.Errorf("%d statuses of class %q, want %d", count[c], c, n)
		}
	}
}

func TestClassifyOutOfRangeStatusIsUnknown(t *testing.T) {
	for _, status := range []int{-200, -1, 0, 99, 600, 999, 20000} {
		if got := Classify(status, KindStatus); got != ClassUnknown {
			t.Errorf("status %d: class %q", status, got)
		}
	}
}

func TestClassifyKindOutweighsStatus(t *testing.T) {
	tests := map[Kind]Class{
		KindTimeout:   ClassTransient,
		KindRefused:   ClassTransient,
		KindReset:     ClassTransient,
		KindDNS:       ClassTransient,
		KindTLS:       ClassEndpoint,
		KindProtocol:  ClassUnknown,
		Kind("other"): ClassUnknown,
	}
	for kind, want := range tests {
		for _, status := range []int{0, 200, 400} {
			if got := Classify(status, kind); got != want {
				t.Errorf("kind %q, status %d: class %q, want %q", kind, status, got, want)
			}
		}
	}
}

func TestClosedSetsAreClosed(t *testing.T) {
	for status := range 700 {
		for _, kind := range append(Kinds(), KindNone) {
			if c := Classify(status, kind); c != ClassNone && !slices.Contains(Classes(), c) {
				t.Errorf("status %d, kind %q: class %q is not among Classes", status, kind, c)
			}
		}
	}
	if slices.Contains(Classes(), ClassNone) || slices.Contains(Kinds(), KindNone) || slices.Contains(Reasons(), ReasonNone) {
		t.Error("a set contains the empty value")
	}
	if len(Classes()) != 6 || len(Kinds()) != 7 || len(Reasons()) != 10 {
		t.Errorf("%d classes, %d kinds, %d reasons", len(Classes()), len(Kinds()), len(Reasons()))
	}
}

// TestDocumentedDefaultTable compares the table in docs/policy.md with the rules.
func TestDocumentedDefaultTable(t *testing.T) {
	data, err := os.ReadFile("../../docs/policy.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(data), "\n**The default table**")
	section, _, _ = strings.Cut(section, "\n## ")
	var want strings.Builder
	for _, r := range DefaultRules() {
		condition := "everything else"
		if key, values := "status", words(r.Status); values != "" {
			condition = fmt.Sprintf("`%s: %s`", key, values)
		} else if key, values := "error", words(r.Error); values != "" {
			condition = fmt.Sprintf("`%s: %s`", key, values)
		}
		fmt.Fprintf(&want, "| %s | `%s` |\n", condition, r.Action)
	}
	if !strings.Contains(section, want.String()) {
		t.Errorf("docs/policy.md does not show\n%s", want.String())
	}
}

// words writes a list as YAML does.
func words[T ~string](values []T) string {
	all := make([]string, len(values))
	for i, v := range values {
		all[i] = string(v)
	}
	if len(all) == 1 {
		return all[0]
	}
	if len(all) == 0 {
		return ""
	}
	return "[" + strings.Join(all, ", ") + "]"
}
