package tier

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/IBM/sarama"

	"github.com/retryd/retryd/internal/kafka"
)

// sleepyWriter takes its time before it takes a record.
type sleepyWriter struct {
	writes int
	wait   time.Duration
}

func (w *sleepyWriter) Send(_ *sarama.ProducerMessage, done kafka.Done) {
	w.writes++
	time.Sleep(w.wait)
	done(0, nil)
}

// A process that slept past its session goes on where it was; another one has the same
// records by then.
func TestNothingIsMovedWithoutALease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, park := parking(t)
		r.holds(month)
		time.Sleep(time.Minute)
		r.session.sent.Store(nil)
		r.start()
		defer r.stop()
		synctest.Wait()
		if n := len(park.written()); n != 0 || r.low() != 0 {
			t.Fatalf("%d writes, watermark %d; want none and 0", n, r.low())
		}
		r.renewLease(t)
		synctest.Wait()
		if n := len(park.written()); n != 1 || r.low() != 1 {
			t.Errorf("%d writes, watermark %d after the renewal; want 1 and 1", n, r.low())
		}
	})
}

// It may sleep in the middle of a thousand moves, too.
func TestMovesEndWithTheLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := parking(t)
		asleep := &sleepyWriter{wait: rigSession / 2}
		r.relay.routes.Load().tiers[3].writer = asleep
		for range 10 {
			r.holds(month)
		}
		time.Sleep(time.Minute)
		r.session.sent.Store(new(time.Now()))
		r.start()
		defer r.stop()
		time.Sleep(time.Minute)
		synctest.Wait()
		if asleep.writes != 1 {
			t.Errorf("%d writes, want 1: then the lease was over", asleep.writes)
		}
	})
}
