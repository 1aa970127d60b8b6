package policy

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retryd/retryd/internal/record"
)

func TestFirstAttemptIsMadeAgainInItsPlace(t *testing.T) {
	s := schedule()
	s.InPlace = InPlace{Attempts: 3, Delay: 200 * time.Millisecond}
	of := func(treatment Treatment, wait time.Duration) Outcome {
		return Outcome{Verdict: Verdict{Treatment: treatment}, Wait: wait}
	}
	tests := []struct {
		name  string
		state record.State
		o     Outcome
		posts int
		want  bool
	}{
		{"first POST", record.State{}, of(TreatRetry, 0), 1, true},
		{"second POST", record.State{}, of(TreatLimited, 0), 2, true},
		{"last POST", record.State{}, of(TreatRetry, 0), 3, false},
		{"no treatment is limited", record.State{}, of("", 0), 1, true},
		{"limited at its end", record.State{Limited: 9, Replays: 99}, of(TreatLimited, 0), 1, true},
		{"a tier's attempt", record.State{Attempt: 1}, of(TreatRetry, 0), 1, false},
		{"throttled before", record.State{FirstFailure: now}, of(TreatRetry, 0), 1, true},
		{"the endpoint asks for as long", record.State{}, of(TreatRetry, 200*time.Millisecond), 1, true},
		{"the endpoint asks for longer", record.State{}, of(TreatRetry, 201*time.Millisecond), 1, false},
		{"delivered", record.State{}, of(TreatDone, 0), 1, false},
		{"held", record.State{}, of(TreatHold, 0), 1, false},
		{"stopped", record.State{}, of(TreatStop, 0), 1, false},
		{"throttled", record.State{}, of(TreatThrottle, 0), 1, false},
		{"rejected", record.State{}, of(TreatDeadLetter, 0), 1, false},
		{"conflict", record.State{}, of(TreatReview, 0), 1, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var want Decision
			if tt.want {
				want = Decision{Action: ActionHold, Delay: 200 * time.Millisecond, NotBefore: now.Add(200*time.Millisecond + 600*time.Microsecond)}
			}
			d, again := s.Again(tt.state, tt.o, tt.posts, now)
			if diff := cmp.Diff(want, d); diff != "" || again != tt.want {
				t.Fatalf("again %v, decision (-want +got):\n%s", again, diff)
			}
			if state := Advance(tt.state, tt.o, d, "", now); again && state != tt.state {
				t.Errorf("state %+v, want it unchanged", state)
			}
		})
	}
	if _, again := schedule().Again(record.State{}, of(TreatRetry, 0), 1, now); again {
		t.Error("again though it is off")
	}
}
