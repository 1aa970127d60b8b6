package tier

import (
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
		r.claim.share = window.NewBudget(2 * (jobOverhead + 10) * 8 / 7).Part().Join() // who is alone may use seven eighths
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
		r := newRig(t, source{topic: rigTopic, label: "1", step: 1}, window.Config{Records: 10, Horizon: time.Hour})
		defer r.stop()
		for _, step := range []struct {
			used   float64
			paused bool
		}{{.99, false}, {1, true}, {.75, true}, {.74, false}, {.99, false}} {
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

// A tier pauses again and again because it was read far enough ahead. Then it needs no
// more room than at other times to go on.
func TestReadingFarAheadLowersNoMark(t *testing.T) {
	r := newStoppedRig(t, minute, windowOf(10))
	for offset := range int64(9) {
		r.claim.take(message(offset, time.Now()))
	}
	r.claim.setUsed = .99
	for _, step := range []struct {
		ahead bool
		want  metrics.Pause
	}{{true, far}, {false, ""}} {
		if r.claim.paused = r.claim.whyPause(step.ahead); r.claim.paused != step.want {
			t.Errorf("ahead %v: paused for %q, want %q", step.ahead, r.claim.paused, step.want)
		}
	}
}

func TestPausesAndTheirReasonsAreMeasured(t *testing.T) {
	r := newStoppedRig(t, minute, windowOf(1))
	registry := prometheus.NewRegistry()
	r.consumer.metrics = metrics.New(registry, "test").Relay("orders", 3).Tier("1")
	r.claim.take(message(0, time.Now()))
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
