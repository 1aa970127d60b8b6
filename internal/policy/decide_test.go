package policy

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retryd/retryd/internal/record"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 250_400_000, time.UTC)

// schedule has exact waits of 10, 20 and 40 s, of which the budget holds 60 s.
func schedule() Schedule {
	return Schedule{
		Steps:           []Step{{10 * time.Second, 0}, {20 * time.Second, 0}, {40 * time.Second, 0}},
		Budget:          60 * time.Second,
		Lifetime:        time.Hour,
		LimitedAttempts: 3,
	}
}

// failed is the state of a record that has made attempts, the first of which
// failed the given time ago.
func failed(attempts int, ago time.Duration) record.State {
	return record.State{Attempt: attempts, FirstFailure: now.Add(-ago), Trace: marks(attempts)}
}

func marks(n int) record.Trace {
	var trace record.Trace
	for range n {
		trace = trace.Fail("loans.retry", now)
	}
	return trace
}

// changed is failed(1, 15 s) with a change.
func changed(change func(*record.State)) record.State {
	state := failed(1, 15*time.Second)
	change(&state)
	return state
}

func TestDecide(t *testing.T) {
	forward := func(step int, delay time.Duration) Decision {
		// now + whole seconds, 250.4 ms rounded up.
		return Decision{Action: ActionForward, Step: step, Delay: delay, NotBefore: now.Add(delay + 600*time.Microsecond)}
	}
	dead := func(r Reason, made int) Decision {
		return Decision{Action: ActionDeadLetter, Reason: r, Step: made, NotBefore: now.Add(-400 * time.Microsecond)}
	}
	tests := []struct {
		name  string
		class Class
		state record.State
		want  Decision
	}{
		{"delivered", ClassNone, failed(2, time.Second), Decision{Action: ActionDone}},
		{"delivered past everything", ClassNone, failed(9, 100*time.Hour), Decision{Action: ActionDone}},
		{"endpoint holds", ClassEndpoint, failed(9, 100*time.Hour), Decision{Action: ActionHold}},
		{"invalid", ClassInvalid, record.State{}, dead(ReasonRejected, 1)},
		{"invalid outweighs exhausted", ClassInvalid, failed(3, time.Second), dead(ReasonRejected, 4)},
		{"conflict", ClassConflict, failed(1, time.Second), dead(ReasonConflict, 2)},

		{"first failure", ClassTransient, record.State{}, forward(1, 10*time.Second)},
		{"second failure", ClassTransient, failed(1, 15*time.Second), forward(2, 20*time.Second)},
		{"unnamed class is a spent attempt", Class("other"), failed(1, 15*time.Second), forward(2, 20*time.Second)},
		{"failed in every step", ClassTransient, failed(3, 50*time.Second), dead(ReasonExhausted, 4)},
		{"attempts beyond the schedule", ClassTransient, changed(func(s *record.State) { s.Attempt = math.MaxInt }), dead(ReasonExhausted, 4)},
		{"attempts below the schedule", ClassTransient, changed(func(s *record.State) { s.Attempt = math.MinInt }), forward(1, 10*time.Second)},

		{"unknown below the limit", ClassUnknown, changed(func(s *record.State) { s.Limited = 1 }), forward(2, 20*time.Second)},
		{"unknown at the limit", ClassUnknown, changed(func(s *record.State) { s.Limited = 2 }), dead(ReasonLimited, 2)},
		{"unknown far beyond the limit", ClassUnknown, changed(func(s *record.State) { s.Limited = math.MaxInt }), dead(ReasonLimited, 2)},
		{"transient at the limit of unknown", ClassTransient, changed(func(s *record.State) { s.Limited = 2 }), forward(2, 20*time.Second)},
		{"limited outweighs exhausted", ClassUnknown, record.State{Attempt: 3, Limited: 2}, dead(ReasonLimited, 4)},

		{"marks fill the schedule", ClassTransient, changed(func(s *record.State) { s.Trace = marks(3) }), dead(ReasonLoop, 2)},
		{"marks leave one step", ClassTransient, changed(func(s *record.State) { s.Trace = marks(2) }), forward(2, 20*time.Second)},
		{"exhausted outweighs loop", ClassTransient, record.State{Attempt: 3, Trace: marks(14)}, dead(ReasonExhausted, 4)},
		{"loop outweighs lifetime", ClassTransient, record.State{FirstFailure: now.Add(-time.Hour), Trace: marks(3)}, dead(ReasonLoop, 1)},

		{"as old as the lifetime", ClassTransient, failed(1, time.Hour), dead(ReasonLifetime, 2)},
		{"lateness does not extend the lifetime", ClassTransient, changed(func(s *record.State) {
			s.FirstFailure, s.Late = now.Add(-time.Hour), time.Hour
		}), dead(ReasonLifetime, 2)},
		{"younger than the lifetime by lateness alone", ClassTransient, changed(func(s *record.State) {
			s.FirstFailure, s.Late = now.Add(1-time.Hour), time.Hour
		}), forward(2, 20*time.Second)},

		{"wait ends with the budget", ClassTransient, failed(2, 20*time.Second), forward(3, 40*time.Second)},
		{"wait shortened", ClassTransient, failed(2, 25*time.Second), forward(3, 35*time.Second)},
		{"wait shortened to half", ClassTransient, failed(2, 40*time.Second), forward(3, 20*time.Second)},
		{"less than half a wait left", ClassTransient, failed(2, 40*time.Second+1), dead(ReasonBudget, 3)},
		{"budget spent", ClassTransient, failed(1, 61*time.Second), dead(ReasonBudget, 2)},
		{"lateness is not charged", ClassTransient, changed(func(s *record.State) {
			s.FirstFailure, s.Late = now.Add(-30*time.Minute), 30*time.Minute-15*time.Second
		}), forward(2, 20*time.Second)},
		{"lateness below zero is none", ClassTransient, changed(func(s *record.State) { s.Late = -time.Hour }), forward(2, 20*time.Second)},
		{"lateness beyond all time", ClassTransient, changed(func(s *record.State) { s.Late = math.MaxInt64 }), forward(2, 20*time.Second)},
		{"first failure in the future", ClassTransient, failed(1, -100*time.Hour), forward(2, 20*time.Second)},
		{"first failure at the end of time, late for an age", ClassTransient, record.State{
			Attempt: 1, FirstFailure: time.UnixMilli(math.MaxInt64), Late: math.MaxInt64 / 2,
		}, forward(2, 20*time.Second)},
		{"first failure at the start of time", ClassTransient, record.State{
			Attempt: 1, FirstFailure: time.UnixMilli(math.MinInt64 / 1000),
		}, dead(ReasonLifetime, 2)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Decide(schedule(), tt.state, Outcome{Verdict: VerdictOf(tt.class)}, now, 0.5)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("decision (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDecideKeepsDeadLettersApart(t *testing.T) {
	review, named := Verdict{Treatment: TreatReview}, Verdict{Treatment: TreatDeadLetter, DLT: "loans.unreadable"}
	tests := []struct {
		name    string
		topic   string // to review
		verdict Verdict
		state   record.State
		reason  Reason
		want    string
	}{
		{"to review", "loans.review", review, record.State{}, ReasonConflict, "loans.review"},
		{"to review in the last step", "loans.review", review, failed(3, time.Second), ReasonConflict, "loans.review"},
		{"to review, whatever its class", "loans.review", Verdict{Treatment: TreatReview, Class: ClassInvalid}, record.State{}, ReasonConflict, "loans.review"},
		{"nothing to review", "", review, record.State{}, ReasonConflict, ""},
		{"the topic of a rule", "loans.review", named, record.State{}, ReasonRejected, "loans.unreadable"},
		{"rejected", "loans.review", Verdict{Treatment: TreatDeadLetter, Class: ClassConflict}, record.State{}, ReasonRejected, ""},
		{"exhausted", "loans.review", Verdict{Treatment: TreatRetry, Class: ClassConflict, DLT: "loans.unreadable"}, failed(3, time.Second), ReasonExhausted, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := schedule()
			s.Review = tt.topic
			got := Decide(s, tt.state, Outcome{Verdict: tt.verdict}, now, 0.5)
			if got.Action != ActionDeadLetter || got.Reason != tt.reason || got.DLT != tt.want {
				t.Errorf("%s in %q, want %s in %q", got.Reason, got.DLT, tt.reason, tt.want)
			}
			if got := got.Oversize(now); got.Reason != ReasonOversize || got.DLT != "" {
				t.Errorf("where it does not fit: %s in %q, want the dead-letter topic", got.Reason, got.DLT)
			}
		})
	}
}

func TestDecideWithoutTiers(t *testing.T) {
	s := Schedule{Lifetime: time.Hour, LimitedAttempts: 3}
	got := Decide(s, record.State{}, Outcome{Verdict: VerdictOf(ClassTransient)}, now, 0.5)
	if got.Action != ActionDeadLetter || got.Reason != ReasonExhausted || got.Step != 1 {
		t.Errorf("decision %+v", got)
	}
}

func TestDecideZeroDelaysPassUntilTheBudgetIsSpent(t *testing.T) {
	s := schedule()
	s.Steps = []Step{{0, 0.2}, {0, 0.2}, {0, 0.2}}
	if got := Decide(s, failed(1, s.Budget), Outcome{Verdict: VerdictOf(ClassTransient)}, now, 0.9); got.Action != ActionForward || got.Delay != 0 {
		t.Errorf("at the end of the budget: %+v", got)
	}
	if got := Decide(s, failed(1, s.Budget+1), Outcome{Verdict: VerdictOf(ClassTransient)}, now, 0.9); got.Reason != ReasonBudget {
		t.Errorf("past the budget: %+v", got)
	}
}

func TestDecidePlacesTheJitter(t *testing.T) {
	s := schedule()
	s.Steps[0].Jitter = 0.2
	for uniform, want := range map[float64]time.Duration{0: 8 * time.Second, 0.25: 9 * time.Second, 0.75: 11 * time.Second} {
		if got := Decide(s, record.State{}, Outcome{Verdict: VerdictOf(ClassTransient)}, now, uniform); got.Delay != want {
			t.Errorf("uniform %v: delay %v, want %v", uniform, got.Delay, want)
		}
	}
}

func TestNotBeforeIsWholeMillisecondsNeverEarlier(t *testing.T) {
	s := schedule()
	for _, tt := range []struct{ nanos, want time.Duration }{
		{0, 0}, {1, time.Millisecond}, {999_999, time.Millisecond}, {1_000_000, time.Millisecond}, {1_000_001, 2 * time.Millisecond},
	} {
		base := now.Truncate(time.Second)
		got := Decide(s, record.State{}, Outcome{Verdict: VerdictOf(ClassTransient)}, base.Add(tt.nanos), 0.5).NotBefore
		if want := base.Add(10*time.Second + tt.want); !got.Equal(want) {
			t.Errorf("%d ns: not before %v, want %v", tt.nanos, got, want)
		}
	}
}

func TestDecideGoesByTheWallClock(t *testing.T) {
	got := Decide(schedule(), record.State{}, Outcome{Verdict: VerdictOf(ClassTransient)}, time.Now(), 0.5).NotBefore
	if got != got.Round(0) {
		t.Errorf("not before %v has a monotonic reading", got)
	}
}

func TestOversizeKeepsTheAttempt(t *testing.T) {
	d := Decide(schedule(), failed(1, 15*time.Second), Outcome{Verdict: VerdictOf(ClassTransient)}, now, 0.5).Oversize(now)
	want := Decision{Action: ActionDeadLetter, Reason: ReasonOversize, Step: 2, NotBefore: now.Truncate(time.Millisecond)}
	if diff := cmp.Diff(want, d); diff != "" {
		t.Errorf("decision (-want +got):\n%s", diff)
	}
}
