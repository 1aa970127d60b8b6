package policy

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/retryd/retryd/internal/record"
)

func TestWaitIsHonouredToTheMillisecond(t *testing.T) {
	for _, tt := range []struct{ ask, wait, uncharged time.Duration }{
		{0, 10 * time.Second, 0},
		{10 * time.Second, 10 * time.Second, 0},
		{10*time.Second + time.Millisecond, 10*time.Second + time.Millisecond, time.Millisecond},
		{time.Hour, time.Hour, time.Hour - 10*time.Second},
		{24 * time.Hour, 24 * time.Hour, 24*time.Hour - 10*time.Second},
	} {
		o := Outcome{Verdict: VerdictOf(ClassTransient), Wait: tt.ask}
		d := Decide(schedule(), record.State{}, o, now, 0.5)
		if want := now.Add(tt.wait + 600*time.Microsecond); d.Action != ActionForward || d.Step != 1 || !d.NotBefore.Equal(want) {
			t.Errorf("%v: decision %+v, want a forward to tier 1 due at %v", tt.ask, d, want)
		}
		if late := Advance(record.State{}, o, d, "loans.retry.1", now).Late; late != tt.uncharged {
			t.Errorf("%v: late %v, want %v", tt.ask, late, tt.uncharged)
		}
	}
}

// TestWaitIsNeverEarlierAndNeverEndsARecord: what the endpoint asks for makes a record
// due later, by as much as is added to its lateness, and changes nothing else.
func TestWaitIsNeverEarlierAndNeverEndsARecord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, state, o, uniform := drawSchedule(t), drawState(t), drawFailure(t), drawUniform(t)
		without := Decide(s, state, o, now, uniform)
		o.Wait = drawDuration(t, -time.Hour, 24*time.Hour, "wait")
		with := Decide(s, state, o, now, uniform)
		if with.Action != without.Action || with.Reason != without.Reason || with.Step != without.Step {
			t.Fatalf("%+v, without the wait %+v", with, without)
		}
		if with.Action != ActionForward {
			return
		}
		if want := ceilMilli(now.Add(max(o.Wait, without.Delay))); !with.NotBefore.Equal(want) || with.NotBefore.Before(without.NotBefore) {
			t.Fatalf("not before %v, want %v", with.NotBefore, want)
		}
		if with.Delay-with.Uncharged != without.Delay || with.Uncharged < 0 {
			t.Fatalf("charged with %v of %v, want %v", with.Delay-with.Uncharged, with.Delay, without.Delay)
		}
		if late := Advance(state, o, with, "loans.retry", now).Late; late != plus(max(state.Late, 0), with.Uncharged) {
			t.Fatalf("late %v, before %v, want %v more", late, state.Late, with.Uncharged)
		}
	})
}

// TestBudgetIsNotChargedWithWhatTheEndpointAskedFor: each wait is an hour, of a budget
// of a minute, and the walk is as without.
func TestBudgetIsNotChargedWithWhatTheEndpointAskedFor(t *testing.T) {
	s := schedule()
	s.Budget, s.Lifetime = 70*time.Second, 72*time.Hour
	var state record.State
	at := milli(now)
	for step := 1; step <= 3; step++ {
		for _, o := range []Outcome{throttled(time.Hour), {Verdict: VerdictOf(ClassTransient), Wait: time.Hour}} {
			d := Decide(s, state, o, at, 0.5)
			if d.Action == ActionDeadLetter || d.Delay != time.Hour {
				t.Fatalf("step %d: %+v", step, d)
			}
			state, at = Advance(state, o, d, "loans.retry", at), d.NotBefore
		}
	}
	if state.Attempt != 3 {
		t.Errorf("%d attempts, want 3", state.Attempt)
	}
}

// TestFailuresOfOneInstantComeBackSpread: no two clients in step, whatever happened to
// all of them at once.
func TestFailuresOfOneInstantComeBackSpread(t *testing.T) {
	const failures, bin = 10_000, 10 * time.Millisecond
	source := rand.New(rand.NewPCG(1, 2))
	s := Schedule{Steps: []Step{{Delay: 5 * time.Second, Jitter: 0.2}}, Budget: math.MaxInt64, Lifetime: time.Hour, LimitedAttempts: 3}
	shortest, longest := 4*time.Second, 6*time.Second
	for _, o := range []Outcome{{Verdict: VerdictOf(ClassTransient)}, throttled(0)} {
		bins := make([]int, (longest-shortest)/bin+1)
		for range failures {
			wait := Decide(s, record.State{}, o, milli(now), source.Float64()).NotBefore.Sub(milli(now))
			if wait < shortest || wait > longest {
				t.Fatalf("a wait of %v", wait)
			}
			bins[(wait-shortest)/bin]++
		}
		share := failures / (len(bins) - 1) // 50
		if most := slices.Max(bins); most > 2*share {
			t.Errorf("%s: %d in a bin of %v, want about %d", o.Treatment, most, bin, share)
		}
		if least := slices.Min(bins[:len(bins)-1]); least < share/4 { // the edges are among them
			t.Errorf("%s: %d in a bin of %v, want about %d: the range is not filled", o.Treatment, least, bin, share)
		}
	}
}
