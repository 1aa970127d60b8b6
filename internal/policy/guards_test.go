package policy

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/retryd/retryd/internal/record"
)

// TestGuards walks a record that fails in each attempt into each guard, which has a
// reason of its own.
func TestGuards(t *testing.T) {
	tests := []struct {
		reason Reason
		class  Class
		change func(*Schedule)
		start  record.State
		reset  bool // something on its way resets x-attempt
		made   int  // attempts
	}{
		{ReasonExhausted, ClassTransient, func(*Schedule) {}, record.State{}, false, 4},
		{ReasonLimited, ClassUnknown, func(*Schedule) {}, record.State{}, false, 3},
		{ReasonBudget, ClassTransient, func(s *Schedule) { s.Budget = 35 * time.Second }, record.State{}, false, 3},
		{ReasonLifetime, ClassTransient, func(s *Schedule) { s.Lifetime = 25 * time.Second }, record.State{}, false, 3},
		{ReasonLoop, ClassTransient, func(s *Schedule) { s.Budget = time.Hour }, record.State{}, true, 4},
		{ReasonReplays, ClassTransient, func(s *Schedule) { s.MaxReplays = 10 }, record.State{Replays: 10}, false, 1},
		{ReasonReplays, ClassUnknown, func(s *Schedule) { s.MaxReplays, s.LimitedAttempts = 10, 1 }, record.State{Replays: 11}, false, 1},
		{ReasonReplays, ClassTransient, func(s *Schedule) { s.MaxReplays = 0 }, record.State{Replays: 1}, false, 1},
		{ReasonExhausted, ClassTransient, func(s *Schedule) { s.MaxReplays = 0 }, record.State{}, false, 4},
		{ReasonExhausted, ClassTransient, func(s *Schedule) { s.MaxReplays = 10 }, record.State{Replays: 9}, false, 4},
		{ReasonRejected, ClassInvalid, func(s *Schedule) { s.MaxReplays = 10 }, record.State{Replays: 10}, false, 1},
		{ReasonConflict, ClassConflict, func(s *Schedule) { s.MaxReplays = 10 }, record.State{Replays: 10}, false, 1},
	}
	for _, tt := range tests {
		s := schedule()
		s.Budget = 70 * time.Second
		tt.change(&s)
		state, at := tt.start, milli(now)
		for made := 1; ; made++ {
			o := Outcome{Verdict: VerdictOf(tt.class)}
			d := Decide(s, state, o, at, 0.5)
			if d.Action == ActionForward && made < 20 {
				state, at = Advance(state, o, d, "loans.retry", at), d.NotBefore
				if tt.reset {
					state.Attempt = 0
				}
				continue
			}
			if d.Action != ActionDeadLetter || d.Reason != tt.reason || made != tt.made {
				t.Errorf("%s: attempt %d decided %+v, want the end in attempt %d", tt.reason, made, d, tt.made)
			}
			break
		}
	}
}

// TestNoTimeEndsWhatIsNotJudged: a record that an endpoint at fault, an open breaker or
// a stop holds up is no nearer to its end, whatever the clock says and its state claims.
func TestNoTimeEndsWhatIsNotJudged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, state := drawSchedule(t), drawState(t)
		s.RepeatLast = len(s.Steps) > 0 && rapid.Bool().Draw(t, "repeat")
		s.MaxReplays = rapid.IntRange(0, 3).Draw(t, "max replays")
		state.Replays = rapid.IntRange(0, 5).Draw(t, "replays")
		at := now.Add(time.Duration(rapid.Int64().Draw(t, "clock")))
		o := Outcome{Verdict: Verdict{
			Treatment: rapid.SampledFrom([]Treatment{TreatHold, TreatStop}).Draw(t, "treatment"),
			Class:     rapid.SampledFrom(Classes()).Draw(t, "class"),
			Doubtful:  rapid.Bool().Draw(t, "doubtful"),
		}, Wait: drawDuration(t, 0, 24*time.Hour, "wait")}
		d := Decide(s, state, o, at, drawUniform(t))
		if diff := cmp.Diff(Decision{Action: ActionHold}, d); diff != "" {
			t.Fatalf("decision (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(state, Advance(state, o, d, "loans.retry", at)); diff != "" {
			t.Fatalf("state (-before +after):\n%s", diff)
		}
	})
}
