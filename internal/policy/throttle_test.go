package policy

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/retryd/retryd/internal/record"
)

func throttled(wait time.Duration) Outcome {
	return Outcome{Verdict: VerdictOf(ClassThrottled), Kind: KindStatus, Status: 429, Error: "status 429", Wait: wait}
}

func TestThrottledRecordWaitsWhereSuchWaitsAreFor(t *testing.T) {
	const second = time.Second
	tiers := func(delays ...time.Duration) Schedule {
		s := schedule()
		s.Steps = nil
		for _, d := range delays {
			s.Steps = append(s.Steps, Step{Delay: d})
		}
		return s
	}
	parked := func(s Schedule, delays ...time.Duration) Schedule { s.Park = delays; return s }
	tests := []struct {
		name     string
		schedule Schedule
		attempt  int
		ask      time.Duration
		place    int // 0: it is held
		wait     time.Duration
	}{
		{"as long as before its first step", tiers(10*second, 20*second), 0, 0, 1, 10 * second},
		{"as long as before its second step", tiers(10*second, 20*second), 1, 0, 2, 20 * second},
		{"as long as in the last tier", tiers(10*second, 20*second), 2, 0, 2, 20 * second},
		{"the endpoint asks for less", tiers(10*second, 20*second), 0, second, 1, 10 * second},
		{"the endpoint asks for more", tiers(10*second, 20*second), 0, 19 * second, 1, 19 * second},
		{"the endpoint asks for as long as tier 2", tiers(10*second, 20*second), 0, 20 * second, 2, 20 * second},
		{"a park topic fits", parked(tiers(10*second, 20*second), time.Minute, time.Hour), 1, 90 * second, 3, 90 * second},
		{"the longest park topic fits", parked(tiers(10*second, 20*second), time.Minute, time.Hour), 1, 24 * time.Hour, 4, 24 * time.Hour},
		{"never a tier without a delay, where another fits", tiers(0, 20*second), 1, 0, 2, 20 * second},
		{"tier 1 without a delay, where none fits", tiers(0, 20*second), 0, 5 * second, 1, 5 * second},
		{"a later tier that fits beside a tier 1 without delay", tiers(0, 5*second, 20*second), 0, 7 * second, 2, 7 * second},
		{"the next step, where tier 1 is read too late", tiers(30*second, 5*second), 1, 0, 2, 5 * second},
		{"no tiers", tiers(), 0, 3 * second, 0, 3 * second},
		{"no tiers, and nothing is asked for", tiers(), 0, 0, 0, 0},
		{"no tiers, a park topic", parked(tiers(), time.Minute), 0, time.Minute, 1, time.Minute},
		{"no tiers, a park topic that is too long", parked(tiers(), time.Minute), 0, 59 * second, 0, 59 * second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			state := failed(tt.attempt, time.Second)
			want := Decision{
				Action: ActionMove, Step: tt.attempt, Delay: tt.wait, Uncharged: tt.wait, Place: tt.place,
				NotBefore: now.Add(tt.wait + 600*time.Microsecond),
			}
			if tt.place == 0 {
				want.Action = ActionHold
			}
			if diff := cmp.Diff(want, Decide(tt.schedule, state, throttled(tt.ask), now, 0.5)); diff != "" {
				t.Errorf("decision (-want +got):\n%s", diff)
			}
		})
	}
}

func TestThrottledRecordDrawsItsJitter(t *testing.T) {
	s := schedule()
	s.Steps[0].Jitter = 0.2 // shorter than the tier's delay, and still there: no tier fits
	if d := Decide(s, record.State{}, throttled(0), now, 0); d.Delay != 8*time.Second || d.Place != 1 {
		t.Errorf("decision %+v, want 8 s in tier 1", d)
	}
}

func TestThrottledRecordSpendsNoAttempt(t *testing.T) {
	s, state := schedule(), record.State{Trace: record.Begin("main", now), Late: time.Second}
	o := throttled(15 * time.Second)
	d := Decide(s, state, o, now, 0.5)
	got := Advance(state, o, d, "loans.retry.1", now)
	at := milli(now)
	want := record.State{
		FirstFailure: at, NotBefore: d.NotBefore, Late: 16 * time.Second,
		Trace: state.Trace.Move("loans.retry.1", at),
		Last:  record.Failure{Class: "throttled", Status: 429, Kind: "status", Error: "status 429", At: at},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
	if d.Spends() {
		t.Error("an attempt is spent")
	}
}

func TestThrottledRecordIsHeldWithItsState(t *testing.T) {
	s := Schedule{Lifetime: time.Hour}
	o := throttled(15 * time.Second)
	d := Decide(s, record.State{}, o, now, 0.5)
	got := Advance(record.State{Trace: record.Begin("main", now)}, o, d, "", now)
	if !got.FirstFailure.Equal(milli(now)) || !got.NotBefore.Equal(d.NotBefore) || got.Last.Status != 429 || got.Trace != record.Begin("main", now) {
		t.Errorf("state %+v", got)
	}
}

// TestOnlyLifetimeEndsAThrottledRecord: not its attempts, its budget, its marks, its
// replays or its failures of class unknown.
func TestOnlyLifetimeEndsAThrottledRecord(t *testing.T) {
	s := schedule()
	state := failed(3, s.Lifetime-1)
	state.Limited, state.Replays, state.Trace = 99, 99, marks(14)
	if d := Decide(s, state, throttled(time.Hour), now, 0.5); d.Action != ActionMove {
		t.Errorf("younger than its lifetime: %+v", d)
	}
	state.FirstFailure = now.Add(-s.Lifetime)
	want := Decision{Action: ActionDeadLetter, Reason: ReasonLifetime, Step: 3, NotBefore: milli(now)}
	d := Decide(s, state, throttled(time.Hour), now, 0.5)
	if diff := cmp.Diff(want, d); diff != "" {
		t.Errorf("decision (-want +got):\n%s", diff)
	}
	dead := Advance(state, throttled(0), d, "loans.DLT", now)
	if dead.Attempt != 3 || dead.Trace.Failures() != 14 || !dead.Trace.Moved() {
		t.Errorf("dead letter %+v, want no more attempts than before", dead)
	}
	s.RepeatLast = true
	if d := Decide(s, state, throttled(time.Hour), now, 0.5); d.Action != ActionMove {
		t.Errorf("with repeat_last: %+v", d)
	}
}

// TestThrottledWaitKeepsItsBounds: never earlier than the endpoint asked and the step
// would wait, and never in a topic that is read too late for it.
func TestThrottledWaitKeepsItsBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, state := drawSchedule(t), drawState(t)
		for range rapid.IntRange(0, 2).Draw(t, "park topics") {
			s.Park = append(s.Park, drawDuration(t, leastPark, maxDelay, "park"))
		}
		uniform, ask := drawUniform(t), drawDuration(t, 0, 24*time.Hour, "ask")
		d := Decide(s, state, throttled(ask), now, uniform)
		if d.Action == ActionDeadLetter {
			if d.Reason != ReasonLifetime || sinceFirstFailure(state, now) < s.Lifetime {
				t.Fatalf("decision %+v", d)
			}
			return
		}
		least := ask
		if next := min(s.position(state.Attempt)+1, len(s.Steps)); next > 0 {
			least = max(least, s.Steps[next-1].wait(uniform))
		}
		if wait := d.NotBefore.Sub(now); wait < least || wait-least >= time.Millisecond {
			t.Fatalf("waits %v, want %v rounded up", wait, least)
		}
		switch {
		case d.Action == ActionHold && len(s.Steps) == 0:
		case d.Action != ActionMove || d.Place < 1 || d.Place > len(s.Rests()):
			t.Fatalf("decision %+v", d)
		case s.Rests()[d.Place-1].Least > least:
			t.Fatalf("waits %v in place %d, whose records wait for %v at least", least, d.Place, s.Rests()[d.Place-1].Least)
		}
	})
}
