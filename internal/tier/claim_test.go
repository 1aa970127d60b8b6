package tier

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/IBM/sarama"

	"github.com/retryd/retryd/internal/kafka"
	"github.com/retryd/retryd/internal/window"
)

func TestHoldNeverDeliversEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := tierRig(t)
		defer r.stop()
		for _, wait := range []time.Duration{0, time.Millisecond, 999 * time.Millisecond, 3 * time.Second, 90 * time.Second} {
			due := time.Now().Add(wait)
			r.read(due)
			if wait > 0 && r.offered() != nil {
				t.Fatalf("a record was offered %v before it was due", wait)
			}
			r.session.sent.Store(new(due)) // somebody renews it; see TestLeaseIsRenewedBeforeARecordIsDue
			j := r.worker()
			if at := time.Now(); at.UnixMilli() != due.UnixMilli() {
				t.Errorf("a record due at %v was offered at %v", due, at)
			}
			r.complete(j)
		}
	})
}

func TestEachRecordLeavesWhenItIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := tierRig(t)
		defer r.stop()
		begin := time.Now()
		for i := range 50 { // mixed, and some at the same time
			r.read(begin.Add(time.Second + time.Duration(i*37%25)*7*time.Millisecond))
		}
		for range 50 {
			j := r.worker()
			if late := time.Since(time.UnixMilli(j.due)); late != 0 {
				t.Errorf("offset %d left %v after it was due", j.record.Offset, late)
			}
			r.complete(j)
		}
	})
}

func TestWaitingRecordDoesNotBlockADueOneBehindIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := tierRig(t)
		defer r.stop()
		r.read(time.Now().Add(time.Hour))
		r.read(time.Now().Add(30 * time.Second))
		due := r.read(time.Now())
		if j := r.offered(); j == nil || j.record.Offset != due {
			t.Fatalf("offered %v, want offset %d", j, due)
		} else {
			r.complete(j)
		}
	})
}

func TestDueRecordsLeaveInDueOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := tierRig(t)
		defer r.stop()
		now := time.Now()
		for _, wait := range []int{3, 1, 2, 1} {
			r.read(now.Add(time.Duration(wait) * time.Second))
		}
		time.Sleep(5 * time.Second)
		var got []int64
		for range 4 {
			j := r.worker()
			got = append(got, j.record.Offset)
			r.complete(j)
		}
		if fmt.Sprint(got) != "[1 3 2 0]" {
			t.Errorf("offsets left in the order %v, want [1 3 2 0]", got)
		}
	})
}

func TestWatermarkStaysBelowWhatIsNotComplete(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := tierRig(t)
		defer r.stop()
		r.next = 10 // offsets 0 to 9 never come: they count as complete
		for range 3 {
			r.read(time.Now())
		}
		first, second, third := r.worker(), r.worker(), r.worker()
		for i, step := range []struct {
			done *job
			low  int64
		}{{third, 10}, {first, 11}, {second, 13}} {
			r.complete(step.done)
			if low := r.low(); low != step.low {
				t.Errorf("step %d: watermark %d, want %d", i, low, step.low)
			}
		}
	})
}

func TestRevokeDropsWhatIsHeldAndWaitsForWhatIsInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := tierRig(t)
		r.read(time.Now())
		r.read(time.Now().Add(time.Minute))
		inFlight := r.worker()
		r.revoke()
		synctest.Wait()
		select {
		case <-r.ended:
			t.Fatal("the claim let go while a record was in flight")
		default:
		}
		if !r.session.leased(time.Now()) {
			t.Error("what left the window before the revoke may not be attempted: what left after it would be repeated")
		}
		r.complete(inFlight)
		<-r.ended
		if low := r.low(); low != 1 {
			t.Errorf("watermark %d, want 1: the record in flight is complete, the held one is not", low)
		}
		if total := r.relay.deps.Budget.Total(); total != 0 || r.window.Len() != 0 {
			t.Errorf("%d bytes are still charged and %d records held after the claim let go", total, r.window.Len())
		}
	})
}

func TestRevokeGivesUpOnWhatNeverComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := tierRig(t)
		r.read(time.Now())
		stuck := r.worker()
		start := time.Now()
		r.stop()
		if waited := time.Since(start); waited != rigTimeout+kafka.ForwardTimeout {
			t.Errorf("let go after %v, want %v", waited, rigTimeout+kafka.ForwardTimeout)
		}
		r.giveBack(stuck, time.Now()) // late: it is dropped
		if low := r.low(); low != 0 || r.window.Len() > 0 {
			t.Errorf("watermark %d and %d records held, want 0 and none: the record is not complete, and not ours", low, r.window.Len())
		}
	})
}

func TestGivenBackRecordGoesBehindWhatIsDueAlready(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := tierRig(t)
		defer r.stop()
		r.read(time.Now())
		r.read(time.Now().Add(time.Millisecond))
		time.Sleep(time.Second)
		first := r.worker()
		r.giveBack(first, time.Now())
		synctest.Wait()
		second, again := r.worker(), r.worker()
		if second.record.Offset != 1 || again != first {
			t.Errorf("offsets %d and %d, want 1 and then 0 again", second.record.Offset, again.record.Offset)
		}
		r.complete(second)
		r.complete(again)
	})
}

func TestHandOverThatFailsKeepsTheRecordsPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := tierRig(t)
		defer r.stop()
		for range 3 {
			r.read(time.Now())
			time.Sleep(time.Millisecond)
		}
		first := r.worker()
		due := first.due
		r.giveBack(first, time.UnixMilli(min(first.due, time.Now().UnixMilli())))
		synctest.Wait()
		if again := r.worker(); again != first || again.due != due {
			t.Errorf("offset %d due at %d came next, want 0 at %d: the watermark stands there", again.record.Offset, again.due, due)
		} else {
			r.complete(again)
		}
	})
}

func TestRecordOfAnotherGroupIsSkipped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := tierRig(t)
		defer r.stop()
		r.read(time.Now(), sarama.RecordHeader{Key: []byte("x-consumer"), Value: []byte("orders/other")})
		if r.offered() != nil {
			t.Error("a record of another group was offered")
		}
		if low := r.low(); low != 1 {
			t.Errorf("watermark %d, want 1", low)
		}
		r.read(time.Now(), sarama.RecordHeader{Key: []byte("x-consumer"), Value: []byte("orders/g")})
		if j := r.offered(); j == nil {
			t.Error("a record of the own group was not offered")
		} else {
			r.complete(j)
		}
	})
}

func TestLogThatEndsBelowTheCommitIsReadFromItsFirstRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := tierRig(t)
		defer r.stop()
		r.claim.mu.Lock()
		r.offsets = window.NewOffsets(500)
		r.claim.mu.Unlock()
		r.next = 3
		r.read(time.Now())
		if low := r.low(); low != 3 {
			t.Fatalf("watermark %d, want 3", low)
		}
		r.complete(r.worker())
		if low := r.low(); low != 4 {
			t.Errorf("watermark %d, want 4", low)
		}
	})
}

func TestRecordWithoutATimestampThatIsReadTwiceIsHeldOnce(t *testing.T) {
	r := newStoppedRig(t, minute, windowOf(10))
	m := message(3, time.Now())
	m.Timestamp = time.Time{}
	for range 2 {
		r.claim.take(m, time.Now())
	}
	if n := r.window.Len(); n != 1 {
		t.Errorf("%d are held, want 1", n)
	}
}
