package tier

import (
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/retryd/retryd/internal/metrics"
	"github.com/retryd/retryd/internal/window"
)

func TestReadingPausesWhenTheWindowIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, source{topic: rigTopic, label: "1", step: 1}, window.Config{Records: 10, Horizon: time.Hour})
		defer r.stop()
		due := time.Now().Add(time.Second)
		for range 9 {
			r.read(due)
		}
		if r.group.isPaused() {
			t.Fatal("paused below the limit")
		}
		r.read(due)
		if !r.group.isPaused() {
			t.Fatal("not paused at the limit")
		}
		r.read(due) // what was fetched already is held all the same
		var taken []*job
		for range 11 {
			taken = append(taken, r.worker())
		}
		for i, j := range taken { // each completion is looked at at once, not at the next tick
			r.complete(j)
			synctest.Wait()
			if left := 10 - i; r.group.isPaused() != (left > 5) {
				t.Errorf("with %d of 10 records left, paused is %v", left, r.group.isPaused())
			}
		}
	})
}

func TestReadingPausesWhenTheProcessHoldsEnough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newStoppedRig(t, source{topic: rigTopic, label: "1", step: 1}, window.Config{Records: 1000, Horizon: time.Hour})
		r.claim.share = window.NewBudget(2 * jobOverhead * 4 / 3).Part().Join() // who is alone may use three quarters
		r.start()
		defer r.stop()
		r.read(time.Now())
		if r.group.isPaused() {
			t.Fatal("paused with half of what the process may hold")
		}
		r.read(time.Now())
		if !r.group.isPaused() {
			t.Fatal("reading goes on although the process holds all that it may")
		}
		first, second := r.worker(), r.worker()
		r.complete(first)
		r.complete(second)
		synctest.Wait()
		if r.group.isPaused() {
			t.Error("still paused with nothing held")
		}
	})
}

func TestCompletedRecordsAboveAStuckOneDoNotStopReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, source{topic: rigTopic, label: "1", step: 1}, window.Config{Records: 10, Horizon: time.Hour})
		defer r.stop()
		r.read(time.Now())
		stuck := r.worker()
		for range 50 {
			r.read(time.Now())
			r.complete(r.worker())
		}
		synctest.Wait()
		if r.group.isPaused() {
			t.Error("reading pauses although one record alone is held")
		}
		r.complete(stuck)
	})
}

func TestReadingPausesWhileTheCompletedSetDoesNotFit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, source{topic: rigTopic, label: metrics.TierMain}, window.Config{Records: 10, Horizon: time.Hour})
		defer r.stop()
		for _, step := range []struct {
			used   float64
			paused bool
		}{{.89, false}, {.9, true}, {.85, true}, {.84, false}, {.89, false}} {
			r.claim.mu.Lock()
			r.claim.setUsed = step.used
			r.claim.mu.Unlock()
			r.nudge()
			synctest.Wait()
			if r.group.isPaused() != step.paused {
				t.Errorf("with %v of the room used, paused is %v", step.used, !step.paused)
			}
		}
	})
}

// mixing is a claim with room for records that complete in another order than they came.
func mixing(t *testing.T, src source) *rig {
	t.Helper()
	r := newStoppedRig(t, src, windowOf(50_000))
	r.claim.share = window.NewBudget(1 << 30).Part().Join()
	return r
}

// readUpTo lets the claim read to before an offset, as far as nothing pauses it.
func (r *rig) readUpTo(end int64) {
	for r.unread < end && r.pauses() == "" {
		r.takeUpTo(min(r.unread+maxDrain, end))
	}
}

func (r *rig) pauses() metrics.Pause {
	r.claim.mu.Lock()
	defer r.claim.mu.Unlock()
	r.claim.paused = r.claim.whyPause(false, false)
	return r.claim.paused
}

// requireTold fails the test unless a commit would tell all that is complete.
func (r *rig) requireTold(t *testing.T) {
	t.Helper()
	at := r.position(position{})
	if at.untold > 0 {
		t.Errorf("%d complete offsets would not be told, of %d", at.untold, r.unread-at.Offset)
	}
}

// That is what a burst of failures makes of a tier: its records were written at once, and
// jitter mixes them at random.
func TestWhatWasReadCanBeToldInWhateverOrderItCompletes(t *testing.T) {
	for _, stuck := range []int64{0, 1000, 200_000} { // complete ones above one that waits
		r := mixing(t, minute)
		for r.unread < stuck {
			r.takeUpTo(r.unread + 1000)
			for offset := max(1, r.unread-1000); offset < r.unread; offset++ {
				r.completeHeld(offset)
			}
		}
		r.requireTold(t)
		r.readUpTo(stuck + 45_000)
		if got := r.unread - stuck; r.pauses() != metrics.PauseCompleted || got < 10_000 {
			t.Errorf("%d records were read before reading paused for %q", got, r.pauses())
		}
		r.takeUpTo(r.unread + 1000) // was fetched by then
		order := rand.New(rand.NewPCG(1, 2)).Perm(int(r.unread - stuck))
		for i, offset := range order {
			r.completeHeld(stuck + int64(offset))
			if i%1000 == 0 {
				r.requireTold(t)
			}
		}
	}
}

// completeHeld completes a record that is held, if it is.
func (r *rig) completeHeld(offset int64) {
	r.claim.mu.Lock()
	defer r.claim.mu.Unlock()
	r.offsets.Complete(offset)
}

// 1,000 due records a second over six partitions, in a tier of 5 minutes with a jitter of
// 0.2, which is read from half of its delay on, since a budget could shorten a wait so far.
func TestUsualTierIsReadBeforeItsRecordsAreDue(t *testing.T) {
	const rate, fetched = 167, 1000
	src := source{topic: rigTopic, label: "1", step: 1, least: 150 * time.Second, delay: 300 * time.Second, most: 360 * time.Second}
	random := rand.New(rand.NewPCG(1, 2))
	r := mixing(t, src)
	r.relay.deps.Window.Horizon = 5 * time.Second
	began := time.Now()
	var due window.Heap[int64]
	for now := began; now.Before(began.Add(900 * time.Second)); now = now.Add(time.Second) {
		for r.reads(now) && now.Sub(began) > src.least {
			before := r.unread
			r.takeUpTo(before + fetched)
			for offset := before; offset < r.unread; offset++ {
				written := began.Add(time.Duration(offset) * time.Second / rate)
				at := written.Add(time.Duration((.8 + .4*random.Float64()) * float64(src.delay)))
				if r.claim.newest = written; at.Before(now) && before > 0 {
					t.Fatalf("offset %d is read %v late, reading paused for %q", offset, now.Sub(at), r.claim.paused)
				}
				due.Push(at.UnixMilli(), offset, offset)
			}
		}
		for at, offset, ok := due.Top(); ok && at <= now.UnixMilli(); at, offset, ok = due.Top() {
			due.Pop()
			r.completeHeld(offset)
		}
		if r.claim.paused != far && r.claim.paused != "" {
			t.Fatalf("after %v reading pauses for %q at %d offsets", now.Sub(began), r.claim.paused, r.offsets.Span())
		}
	}
	r.requireTold(t)
}

// reads reports whether the claim is read further at a time.
func (r *rig) reads(now time.Time) bool {
	r.claim.throttle(now)
	return r.claim.paused == ""
}

// The records of main complete nearly in order, however many are held.
func TestMainIsReadAsFarAsItsWindow(t *testing.T) {
	r := mixing(t, source{topic: rigTopic, label: metrics.TierMain})
	r.readUpTo(50_000)
	if r.unread < 50_000 {
		t.Errorf("reading pauses for %q at %d records", r.pauses(), r.unread)
	}
}

// Nothing is pending then whose completion could make room.
func TestWhatAnEarlierOwnerHadToldIsReadAgain(t *testing.T) {
	r := mixing(t, minute)
	r.offsets.Restore([]window.Run{{From: 10, To: 20}, {From: 30, To: 30_000}})
	r.claim.setUsed = 1
	r.readUpTo(30_001)
	if r.unread < 30_000 {
		t.Errorf("reading pauses for %q at %d", r.pauses(), r.unread)
	}
}

// A tier pauses again and again because it was read far enough ahead. Then it needs no
// more room than at other times to go on.
func TestReadingFarAheadLowersNoMark(t *testing.T) {
	r := newStoppedRig(t, minute, windowOf(10))
	for offset := range int64(9) {
		r.claim.take(message(offset, time.Now()), time.Now())
	}
	r.claim.setUsed = .89
	for _, step := range []struct {
		ahead bool
		want  metrics.Pause
	}{{true, far}, {false, ""}} {
		if r.claim.paused = r.claim.whyPause(step.ahead, false); r.claim.paused != step.want {
			t.Errorf("ahead %v: paused for %q, want %q", step.ahead, r.claim.paused, step.want)
		}
	}
}

func TestPausesAndTheirReasonsAreMeasured(t *testing.T) {
	r := newStoppedRig(t, minute, windowOf(1))
	registry := prometheus.NewRegistry()
	r.consumer.metrics = metrics.New(registry, "test").Relay("orders", 3).Tier("1")
	r.claim.take(message(0, time.Now()), time.Now())
	r.claim.setUsed = .5
	r.claim.throttle(time.Now())
	r.session.noteWindow()
	tier := map[string]string{"relay": "orders", "tier": "1"}
	if used := sample(t, registry, "retryd_completed_set_ratio", tier).GetGauge().GetValue(); used != .5 {
		t.Errorf("completed set %v, want 0.5", used)
	}
	tier["reason"] = "records"
	if n := sample(t, registry, "retryd_paused_partitions", tier).GetGauge().GetValue(); n != 1 {
		t.Errorf("%v partitions are paused, want 1", n)
	}
	r.session.forget()
	if n := sample(t, registry, "retryd_paused_partitions", tier).GetGauge().GetValue(); n != 0 {
		t.Errorf("%v partitions are paused after the session", n)
	}
}

func TestPauseOfAnEarlierSessionIsLifted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newStoppedRig(t, source{topic: rigTopic, label: "1", step: 1}, window.Config{Records: 10})
		r.group.set(true)
		r.start()
		defer r.stop()
		synctest.Wait()
		if r.group.isPaused() {
			t.Error("the partition came back and is still paused")
		}
	})
}

func TestReadingStopsAtTheHorizon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := source{topic: rigTopic, label: "1", step: 1, least: 20 * time.Second, delay: 20 * time.Second}
		r := newRig(t, src, window.Config{Records: 100, Horizon: 5 * time.Second})
		defer r.stop()
		r.read(time.Now().Add(20 * time.Second))
		if !r.group.isPaused() {
			t.Fatal("reading goes on although nothing behind is due within the horizon")
		}
		time.Sleep(15*time.Second - time.Millisecond)
		synctest.Wait()
		if !r.group.isPaused() {
			t.Fatal("reading went on too early")
		}
		time.Sleep(tickInterval + time.Millisecond)
		synctest.Wait()
		if r.group.isPaused() {
			t.Error("reading does not go on although the next record may be due within the horizon")
		}
	})
}

func TestTimestampOfAnotherClockDoesNotStopReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := source{topic: rigTopic, label: "1", step: 1, least: time.Second, delay: time.Second}
		r := newRig(t, src, window.Config{Records: 100, Horizon: 5 * time.Second})
		defer r.stop()
		m := message(0, time.Now().Add(time.Second))
		m.Timestamp = time.Now().Add(24 * time.Hour)
		r.messages <- m
		synctest.Wait()
		if r.group.isPaused() {
			t.Error("a timestamp in the future stopped the reading")
		}
	})
}
