package tier

import (
	"runtime"
	"testing"
	"time"
)

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
	r.claim.take(message(0, time.Now()))
	<-gone
}
