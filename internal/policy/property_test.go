package policy

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/retryd/retryd/internal/record"
)

func drawSchedule(t *rapid.T) Schedule {
	step := rapid.Custom(func(t *rapid.T) Step {
		return Step{
			Delay:  time.Duration(rapid.Int64Range(0, int64(maxDelay)).Draw(t, "delay")),
			Jitter: rapid.Float64Range(0, 1).Draw(t, "jitter"),
		}
	})
	return Schedule{
		Steps:           rapid.SliceOfN(step, 0, MaxSteps).Draw(t, "steps"),
		Budget:          time.Duration(rapid.Int64Range(1, math.MaxInt64).Draw(t, "budget")),
		Lifetime:        time.Duration(rapid.Int64Range(1, math.MaxInt64).Draw(t, "lifetime")),
		LimitedAttempts: rapid.IntRange(1, 20).Draw(t, "limited"),
	}
}

// drawState is a state that any headers may claim.
func drawState(t *rapid.T) record.State {
	state := record.State{
		Attempt: rapid.OneOf(rapid.IntRange(0, MaxSteps), rapid.Int()).Draw(t, "attempt"),
		Limited: rapid.OneOf(rapid.IntRange(0, 5), rapid.Int()).Draw(t, "limited"),
		Late:    time.Duration(rapid.Int64().Draw(t, "late")),
		Trace:   marks(rapid.IntRange(0, 20).Draw(t, "marks")),
	}
	switch rapid.IntRange(0, 2).Draw(t, "first failure is") {
	case 1:
		state.FirstFailure = now.Add(time.Duration(rapid.Int64().Draw(t, "since")))
	case 2:
		state.FirstFailure = time.UnixMilli(rapid.Int64().Draw(t, "first failure"))
	}
	return state
}

func drawFailure(t *rapid.T) Outcome {
	return Outcome{Verdict: VerdictOf(rapid.SampledFrom([]Class{ClassTransient, ClassUnknown}).Draw(t, "class"))}
}

func drawUniform(t *rapid.T) float64 {
	return rapid.Float64Range(0, math.Nextafter(1, 0)).Draw(t, "uniform")
}

func drawDuration(t *rapid.T, low, high time.Duration, label string) time.Duration {
	return time.Duration(rapid.Int64Range(int64(low), int64(high)).Draw(t, label))
}

// walk fails a record again and again, and returns the decisions. between changes
// what travels on after each forward.
func walk(t *rapid.T, s Schedule, state record.State, between func(*record.State)) []Decision {
	var decisions []Decision
	at := now
	for range len(s.Steps) + 1 {
		o := drawFailure(t)
		d := Decide(s, state, o, at, drawUniform(t))
		decisions = append(decisions, d)
		if d.Action != ActionForward {
			break
		}
		state = Advance(state, o, d, "loans.retry", at)
		between(&state)
		at = d.NotBefore.Add(drawDuration(t, 0, time.Hour, "lateness and attempt"))
	}
	return decisions
}

func requireEnd(t *rapid.T, s Schedule, decisions []Decision) {
	t.Helper()
	if last := decisions[len(decisions)-1]; last.Action != ActionDeadLetter || last.Reason == ReasonNone {
		t.Fatalf("after %d failures in a schedule of %d steps: %+v", len(decisions), len(s.Steps), last)
	}
}

func TestFailingAlwaysEndsInADeadLetter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSchedule(t)
		requireEnd(t, s, walk(t, s, drawState(t), func(*record.State) {}))
	})
}

func TestFailingEndsThoughHeadersAreForgedAtEveryHop(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSchedule(t)
		requireEnd(t, s, walk(t, s, drawState(t), func(state *record.State) {
			trace := state.Trace
			*state = drawState(t)
			state.Trace = trace
		}))
	})
}

func TestARecordIsNeverForwardedBackwards(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSchedule(t)
		state := drawState(t)
		step := min(max(state.Attempt, 0), len(s.Steps))
		for _, d := range walk(t, s, state, func(*record.State) {}) {
			if step++; d.Step != step {
				t.Fatalf("decision %+v, want step %d", d, step)
			}
			if d.Action == ActionForward && d.Step > len(s.Steps) {
				t.Fatalf("forward to step %d of %d", d.Step, len(s.Steps))
			}
		}
	})
}

// TestAForwardKeepsItsBounds: never due before the least delay that the engine
// relies on, never longer than the jitter allows, never past the budget.
func TestAForwardKeepsItsBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, state := drawSchedule(t), drawState(t)
		state.Attempt = rapid.IntRange(0, max(len(s.Steps)-1, 0)).Draw(t, "attempt in the schedule")
		state.Trace = marks(rapid.IntRange(0, state.Attempt).Draw(t, "marks in the schedule"))
		d := Decide(s, state, Outcome{Verdict: VerdictOf(ClassTransient)}, now, drawUniform(t))
		if d.Action == ActionForward {
			requireBounds(t, s, state, d)
		}
	})
}

// TestASpentBudgetKeepsItsBounds looks where the budget ends, which states drawn
// from everything hardly meet.
func TestASpentBudgetKeepsItsBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		step := Step{Delay: drawDuration(t, 0, time.Minute, "delay"), Jitter: rapid.Float64Range(0, 1).Draw(t, "jitter")}
		s := Schedule{
			Steps:           []Step{step},
			Budget:          drawDuration(t, time.Minute, 10*time.Minute, "budget"),
			Lifetime:        drawDuration(t, time.Minute, 20*time.Minute, "lifetime"),
			LimitedAttempts: 3,
		}
		late := drawDuration(t, 0, 10*time.Minute, "late")
		remaining := drawDuration(t, -time.Minute, 2*time.Minute, "remaining")
		state := record.State{FirstFailure: now.Add(remaining - s.Budget - late), Late: late}
		d := Decide(s, state, Outcome{Verdict: VerdictOf(ClassTransient)}, now, drawUniform(t))
		if d.Action != ActionForward {
			if s.Budget+late-remaining < s.Lifetime && remaining >= step.wait(1) {
				t.Fatalf("%v remain, and still %+v", remaining, d)
			}
			return
		}
		requireBounds(t, s, state, d)
	})
}

func requireBounds(t *rapid.T, s Schedule, state record.State, d Decision) {
	t.Helper()
	step := s.Steps[d.Step-1]
	if least := now.Add(s.LeastDelay(d.Step)); d.NotBefore.Before(least) {
		t.Fatalf("not before %v is earlier than the least, %v", d.NotBefore, least)
	}
	if d.NotBefore.Before(now.Add(d.Delay)) || d.NotBefore.Sub(now)-d.Delay >= time.Millisecond {
		t.Fatalf("not before %v is not now + %v rounded up", d.NotBefore, d.Delay)
	}
	if float64(d.Delay) > float64(step.Delay)*(1+step.Jitter)+1 {
		t.Fatalf("delay %v is longer than %v and its jitter", d.Delay, step.Delay)
	}
	elapsed := max(0, sinceFirstFailure(state, now)-max(state.Late, 0))
	if d.Delay > s.Budget-elapsed {
		t.Fatalf("delay %v is longer than what remains of the budget, %v", d.Delay, s.Budget-elapsed)
	}
}

// TestDefaultBudgetLastsForTheWholeWalk: a record that waits the longest and times
// out everywhere still sees every step, none of them shortened.
func TestDefaultBudgetLastsForTheWholeWalk(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := DefaultConfig()
		c.Lifetime = math.MaxInt64
		c.Jitter = rapid.Float64Range(0, 1).Draw(t, "jitter")
		c.Tiers.List = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Tier {
			return Tier{Delay: drawDuration(t, 0, 24*time.Hour, "delay").Truncate(time.Millisecond)}
		}), 1, MaxSteps).Draw(t, "tiers")
		timeout := drawDuration(t, time.Second, time.Minute, "timeout")
		s, errs := c.Schedule(timeout, 3)
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		var state record.State
		at := now
		for i, step := range s.Steps {
			o := Outcome{Verdict: VerdictOf(ClassTransient)}
			d := Decide(s, state, o, at, math.Nextafter(1, 0))
			if d.Action != ActionForward || d.Delay < step.Delay {
				t.Fatalf("step %d of %d: %+v", i+1, len(s.Steps), d)
			}
			state = Advance(state, o, d, "loans.retry", at)
			late := drawDuration(t, 0, time.Hour, "late")
			state.Late += late
			at = d.NotBefore.Add(late + timeout)
		}
	})
}

func TestBackoffGrowsFromBaseToMax(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// Whole milliseconds: a float64 holds them exactly up to the longest delay.
		b := Backoff{
			Base:     drawDuration(t, time.Millisecond, maxDelay, "base").Truncate(time.Millisecond),
			Factor:   rapid.Float64Range(1, math.MaxFloat64).Draw(t, "factor"),
			Attempts: rapid.IntRange(1, MaxSteps+1).Draw(t, "attempts"),
		}
		b.Max = drawDuration(t, b.Base, maxDelay, "max").Truncate(time.Millisecond)
		steps, errs := b.steps(0.2)
		if len(errs) > 0 || len(steps) != b.Attempts-1 {
			t.Fatalf("%d steps, errors %v", len(steps), errs)
		}
		last := b.Base
		for i, step := range steps {
			if step.Delay < last || step.Delay > b.Max || i == 0 && step.Delay != b.Base {
				t.Fatalf("delay %d is %v after %v", i, step.Delay, last)
			}
			last = step.Delay
		}
	})
}
