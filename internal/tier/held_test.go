package tier

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

func TestRecordIsOfferedInTimeThoughRunIsBusy(t *testing.T) {
	const busy = 20 * time.Millisecond
	for _, wait := range []time.Duration{busy / 2, busy + time.Millisecond} { // meanwhile, and soon after
		synctest.Test(t, func(t *testing.T) {
			r, _ := parking(t)
			r.relay.routes.Load().tiers[3].writer = &sleepyWriter{wait: busy}
			r.holds(month)
			time.Sleep(time.Minute) // then it is moved at once
			r.holds(wait)
			r.session.sent.Store(new(time.Now()))
			began := time.Now()
			r.start()
			defer r.stop()
			j := r.worker()
			if got, want := time.Since(began), max(wait, busy); got != want {
				t.Errorf("a record that was due after %v was offered after %v, want %v", wait, got, want)
			}
			r.complete(j)
		})
	}
}

func TestRecordThatFallsDueWhileAWorkerWaitsForTheLockIsTaken(t *testing.T) {
	r := newStoppedRig(t, minute, windowOf(10))
	due := time.Now().Add(20 * time.Millisecond)
	r.claim.take(message(0, due), time.Now())
	r.claim.mu.Lock()
	taken := make(chan *job)
	go func() {
		j, _ := r.takeDue()
		taken <- j
	}()
	time.Sleep(time.Until(due.Add(time.Millisecond)))
	r.claim.mu.Unlock()
	if j := <-taken; j == nil {
		t.Error("the record was not taken although it is due")
	}
}

func TestWhatIsChosenToBeMovedIsInItsPlaceAmongWhatIsDue(t *testing.T) {
	r, _ := parking(t)
	due := time.Now()
	for _, offset := range []int64{1, 4, 5} {
		j := r.job(message(offset, due))
		r.window.Push(due.UnixMilli(), offset, j)
	}
	for _, offset := range []int64{2, 3, 6} {
		j := r.job(message(offset, due))
		r.claim.parking.Push(due.UnixMilli(), offset, j)
	}
	for want := int64(1); want <= 6; want++ {
		if j, _ := r.takeDue(); j.record.Offset != want {
			t.Errorf("offset %d was taken, want %d: all are due at the same time", j.record.Offset, want)
		}
	}
}

// It shows under the race detector: whoever takes a record may change it.
func TestRecordIsNotLookedAtOnceItMayBeTaken(t *testing.T) {
	r := newStoppedRig(t, minute, windowOf(10))
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		j, _ := r.takeDue()
		for ; j == nil; j, _ = r.takeDue() {
			runtime.Gosched()
		}
		r.giveBack(j, time.Now())
	}()
	r.claim.take(message(0, time.Now()), time.Now())
	<-gone
}
