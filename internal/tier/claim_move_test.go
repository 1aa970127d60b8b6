package tier

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retryd/retryd/internal/policy"
	"github.com/retryd/retryd/internal/window"
)

func TestUnacknowledgedForwardsStopDelivery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := tierRig(t)
		defer r.stop()
		var written []*job
		for range maxMoving {
			r.read(time.Now())
			j := r.worker()
			r.judged(j, &move{})
			written = append(written, j)
		}
		r.read(time.Now())
		if j := r.offered(); j != nil {
			t.Fatal("a record was offered although the next topic acknowledges nothing")
		}
		r.complete(written[0])
		j := r.offered()
		if j == nil {
			t.Fatal("no record was offered after an acknowledgement")
		}
		r.complete(j)
	})
}

func TestJudgedRecordIsWrittenWhateverTheEndpointDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := tierRig(t)
		defer r.stop()
		_, dlt := routed(r, nil, nil)
		r.read(time.Now()) // is due first, and no worker takes it
		r.read(time.Now())
		waiting, j := r.worker(), r.worker()
		r.giveBack(waiting, time.Now())
		r.judged(j, &move{decision: policy.Decision{Action: policy.ActionDeadLetter}})
		r.giveBack(j, time.Now().Add(resendPause)) // its write failed
		time.Sleep(resendPause)
		synctest.Wait()
		if len(dlt.written()) != 1 {
			t.Errorf("%d writes, want 1: a record that waits for the endpoint is in front", len(dlt.written()))
		}
		r.complete(r.worker())
	})
}

func TestWritesThatFailCountAsUnacknowledged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newStoppedRig(t, source{topic: rigTopic, label: "1", step: 1}, window.Config{Records: 10 * maxMoving, Horizon: time.Hour})
		r.claim.share = window.NewBudget(1 << 30).Part().Join()
		r.start()
		defer r.stop()
		gone := errors.New("topic is gone")
		var errs []error
		for range 10 * maxMoving {
			errs = append(errs, gone)
		}
		routed(r, nil, errs)
		for range 2 * maxMoving {
			r.read(time.Now())
		}
		attempted := 0
		for range 5 { // seconds
			for j := r.offered(); j != nil; j = r.offered() {
				attempted++
				r.judged(j, &move{decision: policy.Decision{Action: policy.ActionDeadLetter}})
				r.relay.send(j)
			}
			time.Sleep(resendPause)
		}
		if attempted != maxMoving {
			t.Errorf("%d records were attempted although none can be written on, want %d", attempted, maxMoving)
		}
	})
}

func TestRevokeWritesOnceMoreWhatIsJudged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := tierRig(t)
		_, dlt := routed(r, nil, nil)
		for range 2 {
			r.read(time.Now())
			j := r.worker()
			r.judged(j, &move{decision: policy.Decision{Action: policy.ActionDeadLetter}})
			r.giveBack(j, time.Now().Add(resendPause)) // its write failed
		}
		r.stop()
		if low := r.low(); low != 2 || len(dlt.written()) != 2 {
			t.Errorf("watermark %d after %d writes, want 2 after 2: the records' attempts would be repeated", low, len(dlt.written()))
		}
	})
}

func TestWriteThatFailedIsWrittenAgainWithoutAWorker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := tierRig(t)
		defer r.stop()
		r.read(time.Now())
		j := r.worker()
		routed(r, nil, nil)
		r.judged(j, &move{to: &target{topic: "orders.DLT", dlt: true, partitions: 1}, decision: policy.Decision{Action: policy.ActionDeadLetter}})
		r.relay.sent(j, 0, errors.New("broker is gone"))
		synctest.Wait()
		if low := r.low(); low != 0 {
			t.Errorf("watermark %d, want 0: the record was not written", low)
		}
		if r.offered() != nil {
			t.Error("a record whose attempt was judged is offered to a worker")
		}
		if due := j.due; due != time.Now().Add(resendPause).UnixMilli() {
			t.Errorf("written again at %d, want after %v", due, resendPause)
		}
		r.revoke()
	})
}
