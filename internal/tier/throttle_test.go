package tier

import (
	"testing"
	"testing/synctest"
	"time"

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
		r.claim.share = window.NewBudget(4 * (jobOverhead + 10)).Part().Join()
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
