package config

import (
	"errors"
	"os"
	"strings"
	"testing"
)

// FuzzParse checks that any file gives a configuration or problems that each fit
// one line, and that the same file gives the same ones again.
func FuzzParse(f *testing.F) {
	for _, path := range []string{reference, "testdata/library.yaml"} {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	for _, seed := range []string{
		relay,
		"defaults: {endpoint: {url: 'http://x/', headers: {a.b: c, 'x\\0y': d}}, tiers: auto}\nrelays: [{}, {<<: {topic: a}}]\n",
		"a: &a [*a]\nb: {<<: [*a, {c: d}]}\n? [x]\n: y\n",
		"relays: [{topic: ${A}, tiers: [~, {delay: !!int 5}], start: 2026-01-31}]\n",
		"relays: [{topic: a, endpoint: {url: 'http://x/', rules: [{status: [4xx, 500, 502-504], header: {X-A: '*'}, action: retry}, {error: 'dns, tls', action: hold, class: unknown}]}, tiers: []}]\n",
		"kafka: {brokers: 'a,b'}\n---\n%YAML 1.2\n",
		"relays:\n\t- x\n\"\\",
	} {
		f.Add([]byte(seed))
	}
	variables := environ(map[string]string{"A": "a", "RETRYD_DEFAULTS_TIERS": "5s", "RETRYD_ADMIN_LISTEN": ":1"})
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 4<<10 {
			return // small files reach everything, and quickly
		}
		cfg, err := parse("f", data, variables)
		if (cfg == nil) == (err == nil) {
			t.Fatalf("configuration %v with error %v", cfg, err)
		}
		if err == nil {
			return
		}
		wrong := new(Error)
		if !errors.As(err, &wrong) || strings.Count(err.Error(), "\n") != len(wrong.Problems)-1 {
			t.Fatalf("not one line a problem: %q", err)
		}
		if _, again := parse("f", data, variables); again == nil || again.Error() != err.Error() {
			t.Fatalf("first\n%v\nthen\n%v", err, again)
		}
	})
}
