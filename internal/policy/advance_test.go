package policy

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retryd/retryd/internal/record"
)

// known are the parts of a state that no attempt changes.
func known(attempt int) record.State {
	return record.State{
		Attempt:      attempt,
		Limited:      1,
		FirstFailure: now.Add(-15 * time.Second),
		NotBefore:    now.Add(-2 * time.Second),
		Late:         time.Second,
		Trace:        marks(attempt),
		EventID:      "loan-0",
		Origin:       record.Position{Topic: "loans", Partition: 3, Offset: 7, Timestamp: now.Add(-time.Minute)},
		Consumer:     "loans/retryd-loans",
		Last:         record.Failure{Class: "transient", Kind: "refused", Error: "connection refused", At: now.Add(-15 * time.Second)},
	}
}

var unknown = Outcome{Verdict: VerdictOf(ClassUnknown), Kind: KindStatus, Status: 500, Error: "500 Internal Server Error"}

func TestAdvanceForward(t *testing.T) {
	state := known(1)
	d := Decide(schedule(), state, unknown, now, 0.5)
	got := Advance(state, unknown, d, "loans.retry.2", now)

	at := now.Truncate(time.Millisecond)
	want := known(1)
	want.Attempt = 2
	want.Limited = 2
	want.NotBefore = at.Add(20*time.Second + time.Millisecond)
	want.Trace = want.Trace.Fail("loans.retry.2", at)
	want.Last = record.Failure{Class: "unknown", Kind: "status", Status: 500, Error: "500 Internal Server Error", At: at}
	requireState(t, want, got)
	requireState(t, known(1), state)
}

func TestAdvanceFirstFailureSetsItsTime(t *testing.T) {
	o := Outcome{Verdict: VerdictOf(ClassTransient), Kind: KindTimeout}
	got := Advance(record.State{}, o, Decide(schedule(), record.State{}, o, now, 0.5), "loans.retry.1", now)
	if want := now.Truncate(time.Millisecond); !got.FirstFailure.Equal(want) || got.Limited != 0 || got.Attempt != 1 {
		t.Errorf("first failure %v, want %v; state %+v", got.FirstFailure, want, got)
	}
}

func TestAdvanceDeadLetterCountsTheAttempt(t *testing.T) {
	tests := []struct {
		name             string
		class            Class
		attempt, limited int
		wantAttempt      int
		wantLimited      int
	}{
		{"fourth failure", ClassTransient, 3, 1, 4, 1},
		{"limited", ClassUnknown, 1, 2, 2, 3},
		{"rejected", ClassInvalid, 0, 0, 1, 0},
		{"conflict", ClassConflict, 2, 0, 3, 0},
		{"beyond the schedule", ClassTransient, 100, 0, 4, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			state := known(1)
			state.Attempt, state.Limited = tt.attempt, tt.limited
			o := Outcome{Verdict: VerdictOf(tt.class)}
			got := Advance(state, o, Decide(schedule(), state, o, now, 0.5), "loans.DLT", now)
			if got.Attempt != tt.wantAttempt || got.Limited != tt.wantLimited {
				t.Errorf("attempt %d, limited %d; want %d and %d", got.Attempt, got.Limited, tt.wantAttempt, tt.wantLimited)
			}
			if want := now.Truncate(time.Millisecond); !got.NotBefore.Equal(want) {
				t.Errorf("not before %v, want now, %v", got.NotBefore, want)
			}
			if got.Trace.Failures() != state.Trace.Failures()+1 {
				t.Errorf("%d failure marks after %d", got.Trace.Failures(), state.Trace.Failures())
			}
		})
	}
}

func TestAdvanceOversizeEqualsTheForwardElsewhere(t *testing.T) {
	state := known(1)
	d := Decide(schedule(), state, unknown, now, 0.5)
	want := Advance(state, unknown, d, "loans.DLT", now)
	want.NotBefore = now.Truncate(time.Millisecond)
	requireState(t, want, Advance(state, unknown, d.Oversize(now), "loans.DLT", now))
}

func TestAdvanceKeepsWhatStays(t *testing.T) {
	for _, class := range []Class{ClassNone, ClassEndpoint} {
		o := Outcome{Verdict: VerdictOf(class)}
		requireState(t, known(1), Advance(known(1), o, Decide(schedule(), known(1), o, now, 0.5), "loans", now))
	}
}

func TestExpireAddsNoFailure(t *testing.T) {
	at := now.Truncate(time.Millisecond)
	want := known(2)
	want.NotBefore = at
	want.Trace = want.Trace.Move("loans.DLT", at)
	got := Expire(known(2), "loans.DLT", now)
	requireState(t, want, got)
	if got.Trace.Failures() != 2 {
		t.Errorf("%d failure marks, want 2", got.Trace.Failures())
	}
}

func requireState(t *testing.T, want, got record.State) {
	t.Helper()
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(record.Trace{})); diff != "" {
		t.Errorf("state (-want +got):\n%s", diff)
	}
}
