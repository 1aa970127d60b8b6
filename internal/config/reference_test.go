package config

import (
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/retryd/retryd/internal/policy"
	"github.com/retryd/retryd/internal/tier"
)

const reference = "../../configs/retryd.yaml"

func TestReferenceEqualsDefaults(t *testing.T) {
	got, err := Load(reference, nil)
	if err != nil {
		t.Fatal(err)
	}
	relay := tier.DefaultConfig()
	// What has no default, or derives from what has none.
	relay.Topic = "library.loan.overdue"
	relay.Start = "earliest"
	relay.Endpoint.URL = "http://127.0.0.1:8080/loans/overdue"
	relay.Resolve()
	jitter := relay.Policy.Jitter
	relay.Policy.Tiers.List = []policy.Tier{
		{Delay: 5 * time.Second, Topic: relay.Prefix + ".retry.1", Jitter: &jitter},
		{Delay: 30 * time.Second},
		{Delay: 5 * time.Minute},
	}
	want := Default()
	want.Relays = []tier.Config{relay}
	if diff := cmp.Diff(&want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("reference (-defaults +file):\n%s", diff)
	}
}

func TestReferenceExplainsEveryKey(t *testing.T) {
	data, err := os.ReadFile(reference)
	if err != nil {
		t.Fatal(err)
	}
	l := &loader{file: reference, env: newEnvironment(nil)}
	root := l.readYAML(data)
	if err := l.err(); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(data), "\n")
	for _, key := range everyKey(reflect.TypeFor[Config]()) {
		n := root.find(key)
		for _, empty := range []string{".park", ".endpoint.rules"} { // by default: the line explains what may be in it
			if relay, _, ok := strings.Cut(key, empty+"[0]."); ok {
				n = root.find(relay + empty)
			}
		}
		switch {
		case n == nil:
			t.Errorf("%s is not in the reference", key)
		case !strings.Contains(lines[n.line-1], " # "):
			t.Errorf("%s has no comment on line %d: %s", key, n.line, lines[n.line-1])
		}
	}
}

// everyKey returns the key paths of all values, with the first entry for a list.
func everyKey(t reflect.Type) []string {
	var keys []string
	for _, f := range fields(t) {
		switch e := element(f.typ); {
		case e != nil && nested(e):
			for _, key := range everyKey(e) {
				keys = append(keys, f.key+"[0]."+key)
			}
		case nested(f.typ):
			for _, key := range everyKey(f.typ) {
				keys = append(keys, f.key+"."+key)
			}
		default:
			keys = append(keys, f.key)
		}
	}
	return keys
}

func TestEveryKeyWalksTheStructs(t *testing.T) {
	got := map[string]bool{}
	for _, key := range everyKey(reflect.TypeFor[Config]()) {
		got[key] = true
	}
	for _, key := range []string{"kafka.brokers", "relays[0].endpoint.basic.password", "relays[0].tiers[0].jitter", "relays[0].backoff.max", "stop_timeout"} {
		if !got[key] {
			t.Errorf("%s is missing", key)
		}
	}
}
