package policy

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/retryd/retryd/internal/record"
)

func endless(c *Config) { c.OnExhausted, c.MaxUnfinished = "repeat_last", 100 }

func TestLastTierIsRepeatedWithoutAnEnd(t *testing.T) {
	s, errs := config(endless).Schedule(timeout, 3)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	var state record.State
	at := milli(now)
	for made := 1; made <= 1000; made++ {
		o := Outcome{Verdict: VerdictOf(ClassTransient)}
		d := Decide(s, state, o, at, 0.5)
		want := Decision{Action: ActionForward, Step: min(made, 3), Repeat: made > 3, Delay: s.Steps[min(made, 3)-1].Delay}
		want.NotBefore = at.Add(want.Delay)
		if diff := cmp.Diff(want, d); diff != "" {
			t.Fatalf("attempt %d (-want +got):\n%s", made, diff)
		}
		state = Advance(state, o, d, "loans.retry", at)
		at = d.NotBefore.Add(24 * time.Hour)
	}
	if state.Attempt != 3 || state.Trace.Failures() > record.MaxHops {
		t.Errorf("state %+v, want x-attempt 3 and a bounded trace", state)
	}
}

// TestNoHeaderEndsWhatRepeats: the guards that are off are off for any state, and those
// that stay on end it.
func TestNoHeaderEndsWhatRepeats(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, state := drawSchedule(t), drawState(t)
		if len(s.Steps) == 0 {
			s.Steps = []Step{{Delay: time.Second}}
		}
		s.RepeatLast, s.MaxUnfinished, s.Budget, s.Lifetime = true, 1, math.MaxInt64, math.MaxInt64
		o := drawFailure(t)
		d := Decide(s, state, o, now, drawUniform(t))
		if o.Treatment == TreatLimited && state.Limited >= s.LimitedAttempts-1 {
			if d.Reason != ReasonLimited {
				t.Fatalf("decision %+v, want the end: limited", d)
			}
			return
		}
		if d.Action != ActionForward || d.Step != min(s.position(state.Attempt)+1, len(s.Steps)) || d.Repeat != (s.position(state.Attempt) == len(s.Steps)) {
			t.Fatalf("decision %+v", d)
		}
		if least := now.Add(s.LeastDelay(d.Step)); d.NotBefore.Before(least) {
			t.Fatalf("not before %v is earlier than the least, %v", d.NotBefore, least)
		}
	})
}

func TestUnfinishedRecordsBoundTheRepeating(t *testing.T) {
	s, _ := config(endless).Schedule(timeout, 3)
	repeat := Decide(s, failed(3, time.Hour), Outcome{Verdict: VerdictOf(ClassTransient)}, now, 0.5)
	if diff := cmp.Diff(repeat, repeat.Bound(s, 100, now)); diff != "" || !repeat.Repeat {
		t.Errorf("with as many as may be (-before +after):\n%s", diff)
	}
	want := Decision{Action: ActionDeadLetter, Reason: ReasonExhausted, Step: 4, NotBefore: milli(now)}
	if diff := cmp.Diff(want, repeat.Bound(s, 101, now)); diff != "" {
		t.Errorf("with more (-want +got):\n%s", diff)
	}
	if d := repeat.Oversize(now); d.Step != 4 {
		t.Errorf("too large: %d attempts, want 4", d.Step)
	}
	first := Decide(s, failed(2, time.Hour), Outcome{Verdict: VerdictOf(ClassTransient)}, now, 0.5)
	if diff := cmp.Diff(first, first.Bound(s, math.MaxInt64, now)); diff != "" {
		t.Errorf("one that comes into the last tier first (-before +after):\n%s", diff)
	}
}

func TestProblemsOfHowAWalkEnds(t *testing.T) {
	const autoEndless = "tiers: auto makes the tiers from the budget, and on_exhausted: repeat_last has none; list the tiers and leave budget out (tiers: [5s, 30s, 5m])"
	tests := []struct {
		name   string
		change func(*Config)
		want   []string
	}{
		{"defaults", func(*Config) {}, nil},
		{"repeat_last", endless, nil},
		{"nothing known", func(c *Config) { c.OnExhausted = "retry" }, []string{`on_exhausted: "retry" is neither dead_letter nor repeat_last`}},
		{"a bound without repeats", func(c *Config) { c.MaxUnfinished = 1 }, []string{"max_unfinished: bounds on_exhausted: repeat_last and has no meaning without; remove it, or set that"}},
		{"everything that contradicts repeats", func(c *Config) {
			c.OnExhausted, c.Budget, c.Lifetime, c.Tiers = "repeat_last", time.Minute, time.Hour, list()
		}, []string{
			"max_unfinished: missing: on_exhausted: repeat_last has no end; say at how many unfinished records of a partition of the last tier the next one that fails there is dead-lettered, 1 to 1000000",
			"budget: 1m0s would end what on_exhausted: repeat_last repeats without an end; remove one of the two",
			"lifetime: 1h0m0s would end what on_exhausted: repeat_last repeats without an end; remove one of the two",
			"on_exhausted: repeat_last has no last tier to repeat with tiers: []; add a tier, or use dead_letter",
		}},
		{"no delay to repeat", func(c *Config) { endless(c); c.Tiers = list(time.Minute, 0) }, []string{
			"on_exhausted: repeat_last would attempt a failing record again after 0s, without an end; raise tiers[1].delay to at least 1s"}},
		{"a short delay to repeat", func(c *Config) { endless(c); c.Tiers = list(time.Second - 1) }, []string{
			"on_exhausted: repeat_last would attempt a failing record again after 999.999999ms, without an end; raise tiers[0].delay to at least 1s"}},
		{"the shortest delay to repeat", func(c *Config) { endless(c); c.Tiers = list(0, time.Second) }, nil},
		{"a generated delay to repeat", func(c *Config) {
			endless(c)
			c.Tiers, c.Backoff = Tiers{}, Backoff{100 * time.Millisecond, 2, time.Minute, 4}
		}, []string{
			"on_exhausted: repeat_last would attempt a failing record again after 400ms, without an end; raise the last delay of backoff to at least 1s"}},
		{"a wrong delay to repeat", func(c *Config) { endless(c); c.Tiers = list(-1) }, []string{
			"tiers[0].delay: -1ns is negative; 0s means at once"}},
		{"tiers of a budget that may not be", func(c *Config) { endless(c); c.Tiers = Tiers{Auto: true} }, []string{autoEndless}},
		{"tiers of a budget that is", func(c *Config) { endless(c); c.Tiers, c.Budget = Tiers{Auto: true}, time.Second }, []string{autoEndless}},
		{"a negative bound", func(c *Config) { endless(c); c.MaxUnfinished = -1 }, []string{"max_unfinished: -1 is outside 1 to 1000000"}},
		{"a bound that is none", func(c *Config) { endless(c); c.MaxUnfinished = 1_000_001 }, []string{"max_unfinished: 1000001 is outside 1 to 1000000"}},
		{"the largest bound", func(c *Config) { endless(c); c.MaxUnfinished = 1_000_000 }, nil},
		{"no replays at all", func(c *Config) { c.MaxReplays = 0 }, nil},
		{"replays below 0", func(c *Config) { c.MaxReplays = -1 }, []string{"max_replays: -1 is outside 0 to 1000"}},
		{"too many replays", func(c *Config) { c.MaxReplays = 1001 }, []string{"max_replays: 1001 is outside 0 to 1000"}},
		{"no POST", func(c *Config) { c.InPlace.Attempts = 0 }, []string{"in_place.attempts: 0 is outside 1 to 10; it counts the first POST, 1 is none more"}},
		{"too many POSTs", func(c *Config) { c.InPlace.Attempts = 11 }, []string{"in_place.attempts: 11 is outside 1 to 10; it counts the first POST, 1 is none more"}},
		{"POSTs at once", func(c *Config) { c.InPlace = InPlace{2, 0} }, []string{"in_place.delay: 0s is not positive; give the wait between the POSTs"}},
		{"POSTs far apart", func(c *Config) { c.InPlace = InPlace{2, 10*time.Second + 1} }, []string{"in_place.delay: 10.000000001s is too long; it is at most 10s, longer waits are what tiers are for"}},
		{"the most of POSTs", func(c *Config) { c.InPlace = InPlace{10, 10 * time.Second} }, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, errs := config(tt.change).Schedule(timeout, 3)
			var got []string
			for _, err := range errs {
				got = append(got, err.Error())
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}
