package main

import (
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestEndOfPoison(t *testing.T) {
	for _, tt := range []struct {
		tier, limited, attempts int
		reason                  string
	}{
		{1, 0, 3, "limited"}, // of which the third is in the last tier, too
		{1, 1, 2, "limited"},
		{2, 0, 2, "exhausted"},
		{2, 1, 2, "limited"},
		{2, 2, 1, "limited"},
		{3, 0, 1, "exhausted"},
		{3, 1, 1, "exhausted"},
		{3, 2, 1, "limited"},
	} {
		attempts, reason := waiting{tier: tt.tier, limited: tt.limited}.end(3)
		if attempts != tt.attempts || reason != tt.reason {
			t.Errorf("tier %d, limited %d: %d attempts, %s", tt.tier, tt.limited, attempts, reason)
		}
	}
}

func TestJudgePoison(t *testing.T) {
	const answer = http.StatusInternalServerError
	record := waiting{id: "a", tier: 2, due: at(0)}
	schedule := func() evidence {
		return evidence{
			calls: []call{answered("a", 3, answer, 5), answered("a", 4, answer, 5010)},
			hops: []hop{
				{id: "a", attempts: 2, notBefore: at(0)},
				{id: "a", attempts: 3, notBefore: at(5006)},
				{id: "a", attempts: 4, reason: "exhausted"},
			},
		}
	}
	for _, tt := range []struct {
		name   string
		change func(*evidence)
		want   []string
	}{
		{"on schedule", func(*evidence) {}, nil},
		{"early", func(e *evidence) { e.hops[1].notBefore = at(5020) }, []string{"a: attempt 4 came 10ms before it was due"}},
		{"late", func(e *evidence) { e.calls[1].arrived = at(7006) }, []string{"an attempt began 2s after it was due"}},
		{"an attempt too many", func(e *evidence) {
			e.calls = append(e.calls, answered("a", 4, answer, 5100))
		}, []string{"1 attempts were made again, 0 at most are explained by those in flight when health was asked for"}},
		{"another reason", func(e *evidence) { e.hops[2].reason = "budget" }, []string{"a: dead letters with the reasons [budget], want one: exhausted"}},
		{"no dead letter", func(e *evidence) { e.hops = e.hops[:2] }, []string{"a: dead letters with the reasons [], want one: exhausted"}},
		{"from nowhere", func(e *evidence) { e.hops = e.hops[1:] }, []string{"a: attempt 3 comes from no tier"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := schedule()
			tt.change(&e)
			r := judgePoison([]waiting{record}, e, kind{tiers: shortTiers()}, steady())
			if diff := cmp.Diff(tt.want, r.broken); diff != "" {
				t.Errorf("broken (-want +got):\n%s", diff)
			}
		})
	}
}
