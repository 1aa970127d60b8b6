package policy

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/retryd/retryd/internal/record"
)

const (
	day     = 24 * time.Hour
	horizon = 5 * time.Second
)

// places of mustSchedule with park: [1h, 24h], and of a tier without a delay.
const (
	retired = iota
	tier5s
	tier30s
	tier5m
	park1h
	park24h
)

func restsOf(t *testing.T) Rests {
	return mustSchedule(t, func(c *Config) { c.Park = parks(time.Hour, day) }).Rests()
}

func TestReparkMovesWhatWaitsForTooLong(t *testing.T) {
	const week = 7 * day
	tests := []struct {
		name      string
		place     int
		remaining time.Duration
		age       time.Duration
		retention time.Duration
		pressing  Cause
		moved     bool

		want  int // place; 0: it stays
		cause Cause
	}{
		{name: "to the largest delay that fits", place: tier5s, remaining: 30 * day, age: time.Minute, want: park24h, cause: CauseWait},
		{name: "a delay that is as long as the wait", place: tier5s, remaining: time.Hour, age: time.Minute, want: park1h, cause: CauseWait},
		{name: "a delay that is longer than the wait", place: tier5s, remaining: time.Hour - 1, age: time.Minute, want: tier5m, cause: CauseWait},
		{name: "to the tail of its own topic", place: park24h, remaining: day + 1, age: day, want: park24h, cause: CauseWait},
		{name: "what its topic is for, jitter included", place: tier5m, remaining: 6 * time.Minute, age: 5 * time.Minute},
		{name: "longer than with all jitter", place: tier5m, remaining: 6*time.Minute + 1, age: 5 * time.Minute, want: tier5m, cause: CauseWait},
		{name: "not before its topic's delay", place: tier5m, remaining: 30 * day, age: 5*time.Minute - 1},
		{name: "not before a minute", place: tier5s, remaining: 30 * day, age: time.Minute - 1},
		{name: "written by a clock that is ahead", place: tier5s, remaining: 30 * day, age: -time.Hour},
		{name: "a due record", place: tier5s, remaining: -time.Hour, age: 2 * time.Hour},
		{name: "a retired tier's wait that a configured one is for", place: retired, remaining: day, age: time.Hour},
		{name: "a retired tier's wait that none is for", place: retired, remaining: day + 1, age: time.Minute, want: park24h, cause: CauseWait},

		{name: "kept for half of the retention: the same tier", place: tier5s, remaining: -day, age: week / 2, retention: week, want: tier5s, cause: CauseRetention},
		{name: "a due record of a tier whose tail is not read for minutes", place: tier5m, remaining: -day, age: week / 2, retention: week, want: tier5s, cause: CauseRetention},
		{name: "a record that is due before its tier's tail is read", place: tier5m, remaining: time.Minute, age: week / 2, retention: week, want: tier30s, cause: CauseRetention},
		{name: "a record that is due after its tier's tail is read", place: tier5m, remaining: 4 * time.Minute, age: week / 2, retention: week, want: tier5m, cause: CauseRetention},
		{name: "kept for less", place: tier5s, remaining: -day, age: week/2 - 1, retention: week},
		{name: "kept for ever", place: tier5s, remaining: -day, age: 365 * day},
		{name: "a due record of a park topic", place: park24h, remaining: 0, age: week / 2, retention: week, want: tier5s, cause: CauseRetention},
		{name: "a record of a park topic that still waits", place: park24h, remaining: time.Minute, age: week / 2, retention: week, want: tier30s, cause: CauseRetention},
		{name: "a retired tier's record", place: retired, remaining: 0, age: week / 2, retention: week, want: tier5s, cause: CauseRetention},
		{name: "a retention that is no time at all", place: tier5s, remaining: 0, age: time.Minute - 1, retention: time.Millisecond},

		{name: "the window presses: at once", place: tier5m, remaining: 6 * time.Minute, pressing: CauseWindow, want: tier5m, cause: CauseWindow},
		{name: "the window presses, and it would be read again at once", place: tier5m, remaining: 5*time.Minute - 1, pressing: CauseWindow},
		{name: "the window presses again at once", place: tier5m, remaining: 6 * time.Minute, pressing: CauseWindow, moved: true, age: time.Minute - 1},
		{name: "the window presses again after a minute", place: tier5m, remaining: 6 * time.Minute, pressing: CauseWindow, moved: true, age: time.Minute, want: tier5m, cause: CauseWindow},
		{name: "the offsets press: at once, wherever it fits", place: tier5m, remaining: 30 * time.Second, pressing: CauseOffsets, want: tier30s, cause: CauseOffsets},
		{name: "the offsets press again at once", place: tier5m, remaining: 30 * time.Second, pressing: CauseOffsets, moved: true, age: time.Minute - 1},
		{name: "the offsets press again after a minute", place: tier5m, remaining: 30 * time.Second, pressing: CauseOffsets, moved: true, age: time.Minute, want: tier30s, cause: CauseOffsets},
		{name: "the offsets press, and it fits nowhere", place: tier5m, remaining: 5*time.Second - 1, pressing: CauseOffsets},
		{name: "the offsets press, and it is due", place: tier5m, pressing: CauseOffsets},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := Waiting{Place: tt.place, NotBefore: now.Add(tt.remaining), Written: now.Add(-tt.age), Moved: tt.moved, Retention: tt.retention}
			want := Decision{Action: ActionHold}
			if tt.want > 0 {
				want = Decision{Action: ActionRepark, Place: tt.want, Cause: tt.cause, NotBefore: w.NotBefore}
			}
			if got := restsOf(t).Repark(w, tt.pressing, horizon, now); got != want {
				t.Errorf("%+v, want %+v", got, want)
			}
		})
	}
}

func TestReparkLooksForNoPlaceWithoutADelay(t *testing.T) {
	zero := mustSchedule(t, func(c *Config) { c.Tiers = list(0, time.Hour, 0) }).Rests()
	w := Waiting{Place: 1, NotBefore: now.Add(30 * time.Minute), Written: now.Add(-time.Hour)}
	if d := zero.Repark(w, CauseOffsets, horizon, now); d.Action != ActionHold {
		t.Errorf("%+v of half an hour between no delay and an hour, want that it stays", d)
	}
	if d := (Rests{}).Repark(Waiting{NotBefore: now.Add(day), Written: now.Add(-7 * day), Retention: day}, CauseOffsets, horizon, now); d.Action != ActionHold {
		t.Errorf("%+v although there is no topic to go to", d)
	}
}

// hops counts the moves of a record that nothing presses, each as soon as it is possible.
func hops(rests Rests, place int, wait time.Duration) (n int) {
	w := Waiting{Place: place, NotBefore: now.Add(wait), Written: now}
	for {
		at := w.Written.Add(rests.at(w.Place).rest())
		d := rests.Repark(w, CauseNone, horizon, at)
		if !at.Before(w.NotBefore) || d.Action != ActionRepark {
			return n
		}
		w.Place, w.Written, n = d.Place, at, n+1
	}
}

// TestALongWaitTakesFewHops is what docs/policy.md says of a wait of 30 days.
func TestALongWaitTakesFewHops(t *testing.T) {
	tiers := mustSchedule(t, func(*Config) {}).Rests()
	if n, most := hops(tiers, tier5s, 30*day), int(30*day/(4*time.Minute)); n < 8000 || n > most {
		t.Errorf("%d hops with tiers alone, want 8,640 or so, at most %d", n, most)
	}
	if n := hops(restsOf(t), tier5s, 30*day); n != 29 {
		t.Errorf("%d hops with park: [1h, 24h], want 29: one into 24h, and one a day but for the last", n)
	}
}

func drawRests(t *rapid.T) Rests {
	s := drawSchedule(t)
	for i := range s.Steps { // among them short ones and none, as people have them
		if rapid.Bool().Draw(t, "short") {
			s.Steps[i].Delay = drawDuration(t, 0, 10*time.Minute, "short delay")
		}
	}
	for range rapid.IntRange(0, 3).Draw(t, "park topics") {
		s.Park = append(s.Park, drawDuration(t, leastPark, 3*day, "park delay"))
	}
	return s.Rests()
}

func drawWaiting(t *rapid.T, rests Rests) Waiting {
	return Waiting{
		Place:     rapid.IntRange(0, len(rests)).Draw(t, "place"),
		NotBefore: now.Add(drawDuration(t, -day, 40*day, "remaining")),
		Written:   now.Add(-drawDuration(t, -day, 10*day, "age")),
		Moved:     rapid.Bool().Draw(t, "moved"),
		Retention: rapid.SampledFrom([]time.Duration{0, time.Second, time.Hour, 7 * day}).Draw(t, "retention"),
	}
}

func drawPressing(t *rapid.T) Cause {
	return rapid.SampledFrom([]Cause{CauseNone, CauseWindow, CauseOffsets}).Draw(t, "pressing")
}

// TestAReparkKeepsItsBounds: the due time stays; it goes where it does not come due
// before it is read, unless that is to save it; never to a topic without a delay, unless
// that is its own.
func TestAReparkKeepsItsBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rests := drawRests(t)
		w, pressing := drawWaiting(t, rests), drawPressing(t)
		d := rests.Repark(w, pressing, horizon, now)
		if d.Action != ActionRepark {
			if d != (Decision{Action: ActionHold}) {
				t.Fatalf("%+v of a record that stays", d)
			}
			return
		}
		to := rests[d.Place-1]
		switch {
		case !d.NotBefore.Equal(w.NotBefore):
			t.Fatalf("due at %v, was due at %v", d.NotBefore, w.NotBefore)
		case to.Delay == 0 && !(d.Cause == CauseRetention && d.Place == w.Place):
			t.Fatalf("%+v to a topic without a delay", d)
		case d.Cause != CauseRetention && to.Least > w.NotBefore.Sub(now):
			t.Fatalf("%+v waits for %v, in a topic that is not read for %v", d, w.NotBefore.Sub(now), to.Least)
		}
	})
}

// TestWhatIsSavedIsReadInTime: before it is due or, where it is due soon, within the
// horizon, as far as there is a topic that is.
func TestWhatIsSavedIsReadInTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rests, week := drawRests(t), 7*day
		w := drawWaiting(t, rests)
		w.Written, w.Retention = now.Add(-week/2), week
		d, remaining := rests.Repark(w, CauseNone, horizon, now), w.NotBefore.Sub(now)
		inTime := func(r Rest) bool { return r.Delay > 0 && r.Least <= max(remaining, horizon) }
		if !slices.ContainsFunc(rests, inTime) {
			return
		}
		if d.Action != ActionRepark || rests[d.Place-1].Least > max(remaining, horizon) {
			t.Fatalf("%+v of %+v, which waits for %v", d, w, remaining)
		}
	})
}

func TestDueRecordOfALongTierIsSavedWhereItsTailIsReadSoonest(t *testing.T) {
	for _, tt := range []struct {
		tiers []time.Duration
		want  int // place
	}{
		{tiers: []time.Duration{day, 30 * time.Second, 5 * time.Second}, want: 3},
		{tiers: []time.Duration{day, 0, time.Hour}, want: 3},
		{tiers: []time.Duration{day, 0}, want: 1}, // there is no other
	} {
		rests := mustSchedule(t, func(c *Config) { c.Tiers = list(tt.tiers...) }).Rests()
		w := Waiting{Place: 1, NotBefore: now.Add(-day), Written: now.Add(-7 * day / 2), Retention: 7 * day}
		if d := rests.Repark(w, CauseNone, horizon, now); d.Place != tt.want {
			t.Errorf("tiers %v: place %d, want %d", tt.tiers, d.Place, tt.want)
		}
	}
}

// TestNoRecordIsMovedTwiceWithinAMinute, however early it is read where it was moved to,
// and whatever presses.
func TestNoRecordIsMovedTwiceWithinAMinute(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rests := drawRests(t)
		w := drawWaiting(t, rests)
		d := rests.Repark(w, drawPressing(t), horizon, now)
		if d.Action != ActionRepark {
			return
		}
		w.Place, w.Written, w.Moved = d.Place, now, true
		soon := now.Add(drawDuration(t, 0, time.Minute-1, "soon"))
		if again := rests.Repark(w, drawPressing(t), horizon, soon); again.Action == ActionRepark {
			t.Fatalf("%+v, and after %v %+v", d, soon.Sub(now), again)
		}
	})
}

func TestReparkKeepsWhatTheRecordHasBeenThrough(t *testing.T) {
	state := record.State{
		Attempt: 2, Limited: 1, FirstFailure: now.Add(-time.Hour), NotBefore: now.Add(day), Late: time.Second,
		Trace: record.Begin("main", now).Fail("t.retry.1", now), Last: record.Failure{Class: "transient", At: now},
	}
	want := state
	want.Trace = want.Trace.Move("t.park.24h", now)
	if got := Repark(state, "t.park.24h", now); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	due := Repark(record.State{}, "t.retry.1", now)
	if !due.NotBefore.Equal(milli(now)) {
		t.Errorf("not before %v, want now: the tier's delay must not count", due.NotBefore)
	}
}
