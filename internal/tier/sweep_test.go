package tier

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/IBM/sarama"

	"github.com/retryd/retryd/internal/kafka"
	"github.com/retryd/retryd/internal/policy"
)

func TestLongWaitIsMovedAfterAMinuteAndHoldsNothingUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, park := parking(t)
		r.startLeased()
		defer r.stop()
		written := time.Now()
		r.read(time.Now().Add(month))
		due := r.read(time.Now().Add(30 * time.Second))
		time.Sleep(30 * time.Second)
		if j := r.worker(); j.record.Offset != due {
			t.Fatalf("offset %d was offered, want %d", j.record.Offset, due)
		} else {
			r.complete(j)
		}
		time.Sleep(time.Until(written.Add(time.Minute - time.Millisecond)))
		synctest.Wait()
		if n := len(park.written()); n != 0 || r.low() != 0 {
			t.Fatalf("%d writes, watermark %d; want none and 0 before a minute is over", n, r.low())
		}
		time.Sleep(sweepInterval)
		synctest.Wait()
		if n := len(park.written()); n != 1 || r.low() != 2 {
			t.Errorf("%d writes, watermark %d; want one and 2", n, r.low())
		}
	})
}

func TestFurthestDueIsMovedWhenTheWindowIsNearlyFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, park := parking(t) // window of 100
		r.start()
		defer r.stop()
		last := time.Now().Add(month + 73*time.Hour)
		for i := range 74 {
			r.read(time.Now().Add(month + time.Duration(i)*time.Hour))
		}
		if n := len(park.written()); n != 0 {
			t.Fatalf("%d writes below three quarters of the window", n)
		}
		r.read(time.Now().Add(time.Minute))
		time.Sleep(tickInterval)
		synctest.Wait()
		if n := len(park.written()); n != 25 || r.group.isPaused() {
			t.Fatalf("%d writes, paused: %v; want a third of the 75 moved at once, and reading going on", n, r.group.isPaused())
		}
		for _, m := range park.written() {
			if header(m, "x-not-before") < millis(last.Add(-24*time.Hour)) {
				t.Fatalf("x-not-before %s was moved, want the furthest due", header(m, "x-not-before"))
			}
		}
		time.Sleep(time.Minute)
		r.session.sent.Store(new(time.Now()))
		r.complete(r.worker())
	})
}

// A fetch can bring more than the window has room for.
func TestSweepsAreFewWhereTheWindowHoversAtTheMark(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := parking(t)
		r.relay.deps.Window = windowOf(20)
		r.start()
		defer r.stop()
		for range 14 {
			r.read(time.Now().Add(4 * time.Second)) // fits nowhere
		}
		sweeps, last := 0, r.claim.swept
		for range 500 {
			r.read(time.Now()) // three quarters
			r.complete(r.offered())
			r.nudge()
			time.Sleep(time.Millisecond)
			synctest.Wait()
			if r.claim.swept != last {
				sweeps, last = sweeps+1, r.claim.swept
			}
		}
		if sweeps > 1 {
			t.Errorf("%d sweeps over all that is held within half a second", sweeps)
		}
	})
}

// readsOn checks that a claim which holds too much reads on in the end.
func readsOn(t *testing.T, r *rig, park *fakeWriter) {
	t.Helper()
	r.startLeased()
	defer r.stop()
	time.Sleep(30 * time.Second)
	synctest.Wait()
	if r.group.isPaused() {
		t.Errorf("reading is paused after %d writes: what is due behind them waits", len(park.written()))
	}
}

func TestMovingGoesOnUntilReadingDoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, park := parking(t) // window of 100: reading pauses, and goes on at half of that
		for range 160 {
			r.holds(month)
		}
		readsOn(t, r, park)
	})
}

func TestNothingIsMovedToWhereItWouldBeReadAgainAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newStoppedRig(t, source{topic: rigTopic, label: "1", place: 1, step: 1, delay: 5 * time.Second}, windowOf(20))
		r.relay.schedule.Steps = []policy.Step{{Delay: 5 * time.Second}}
		r.relay.rests = r.relay.schedule.Rests()
		tier1, _ := routed(r, nil, nil)
		r.startLeased()
		defer r.stop()
		for range 20 {
			r.read(time.Now().Add(time.Hour))
		}
		time.Sleep(time.Minute - time.Millisecond)
		synctest.Wait()
		if n := len(tier1.written()); n != 0 || !r.group.isPaused() {
			t.Fatalf("%d writes, paused: %v; want none, and reading paused: it would go round without end", n, r.group.isPaused())
		}
		time.Sleep(sweepInterval)
		synctest.Wait()
		if n := len(tier1.written()); n != 20 || r.group.isPaused() {
			t.Errorf("%d writes, paused: %v; want all moved after a minute's rest", n, r.group.isPaused())
		}
	})
}

func TestLowestOffsetsAreMovedWhenTheCompletedSetIsNearlyFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, park := parking(t)
		for range 40 {
			r.holds(month)
		}
		r.claim.setUsed = pressingShare
		r.start()
		defer r.stop()
		synctest.Wait()
		if n, low := len(park.written()), r.low(); n != 11 || low != 11 {
			t.Errorf("%d writes, watermark %d; want the lowest quarter moved at once, and the watermark behind it", n, low)
		}
		time.Sleep(tickInterval)
		synctest.Wait()
		if low := r.low(); low <= 11 {
			t.Errorf("watermark %d, want more moved while the set is as full as before", low)
		}
	})
}

// Its set takes no room yet, but might take all there is.
func TestMovingGoesOnUntilReadingDoesThatPausedForTheCompletedSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, park := parking(t)
		r.relay.deps.Window, r.claim.share = windowOf(50_000), mixing(t, minute).claim.share
		for r.claim.whyPause(false, false) == "" {
			r.holds(month)
		}
		readsOn(t, r, park)
	})
}

// retiring is parking of a tier that is no longer configured, with a writer to tier 1.
func retiring(t *testing.T, tier1 writer) *rig {
	t.Helper()
	r, _ := parking(t)
	r.consumer.source = source{topic: "orders.retry.9", label: "9", step: 9, retired: true}
	r.relay.routes.Load().tiers[0].writer = tier1
	return r
}

func TestDueRecordThatItsTopicMayLoseIsMovedAlthoughNobodyTakesIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tier1 := &fakeWriter{}
		r := retiring(t, tier1)
		r.startLeased()
		defer r.stop()
		for range 2 {
			r.read(time.Now())
		}
		time.Sleep(leastTierRetention/2 - time.Second)
		synctest.Wait()
		if n := len(tier1.written()); n != 0 {
			t.Fatalf("%d writes before half of the time is over for which tiers keep a record", n)
		}
		time.Sleep(time.Second + sweepInterval)
		synctest.Wait()
		if n, low := len(tier1.written()), r.low(); n != 2 || low != 2 {
			t.Errorf("%d writes, watermark %d; want both records at the tail of a topic that keeps them", n, low)
		}
	})
}

// slowlyWriter acknowledges after a while.
type slowlyWriter struct {
	writes int
	wait   time.Duration
}

func (w *slowlyWriter) Send(_ *sarama.ProducerMessage, done kafka.Done) {
	w.writes++
	time.AfterFunc(w.wait, func() { done(0, nil) })
}

func TestDueRecordsThatTheirTopicMayLoseAreMovedAsFastAsTheyAreAcknowledged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := &slowlyWriter{wait: 2 * time.Millisecond}
		r := retiring(t, slow)
		r.relay.deps.Window = windowOf(10_000)
		r.startLeased()
		defer r.stop()
		const records = 10 * maxParking
		for range records {
			r.read(time.Now())
		}
		time.Sleep(leastTierRetention/2 + sweepInterval + time.Second)
		synctest.Wait()
		if slow.writes != records {
			t.Errorf("%d of %d are moved within a second, each acknowledged after 2 ms", slow.writes, records)
		}
	})
}

func TestStuckDeadLettersDoNotStopReparking(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, park := parking(t)
		r.claim.moving = maxMoving // none is acknowledged
		for range 80 {
			r.holds(month)
		}
		r.start()
		defer r.stop()
		synctest.Wait()
		if len(park.written()) == 0 {
			t.Error("nothing is re-parked, although the park topic is well")
		}
	})
}

// silentWriter acknowledges nothing by itself.
type silentWriter struct{ dones []kafka.Done }

func (w *silentWriter) Send(_ *sarama.ProducerMessage, done kafka.Done) {
	w.dones = append(w.dones, done)
}

// silentParking is parking whose topics acknowledge nothing.
func silentParking(t *testing.T) (*rig, *silentWriter) {
	r, _ := parking(t)
	silent := &silentWriter{}
	for _, to := range r.relay.routes.Load().tiers {
		to.writer = silent
	}
	return r, silent
}

func TestEachAcknowledgementLetsTheNextMoveGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, silent := silentParking(t)
		r.relay.deps.Window = windowOf(400)
		r.start()
		for range 300 {
			r.read(time.Now().Add(month))
		}
		time.Sleep(tickInterval)
		synctest.Wait()
		if n := len(silent.dones); n != maxParking {
			t.Fatalf("%d writes, want %d that are not acknowledged", n, maxParking)
		}
		for _, done := range silent.dones[:10] {
			done(0, nil)
			synctest.Wait() // and no time passes
		}
		if n := len(silent.dones); n != maxParking+10 {
			t.Errorf("%d writes after 10 acknowledgements, want %d", n, maxParking+10)
		}
		r.stop()
	})
}

func TestWhatCannotBeMovedIsDeliveredInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, silent := silentParking(t)
		r.startLeased()
		const records = maxParking + 10
		for range records {
			r.read(time.Now().Add(time.Hour))
		}
		time.Sleep(time.Hour - time.Millisecond)
		synctest.Wait()
		if n := len(silent.dones); n != maxParking {
			t.Errorf("%d writes, want at most %d that are not acknowledged", n, maxParking)
		}
		r.session.sent.Store(new(time.Now()))
		if j := r.offered(); j != nil {
			t.Fatal("a record was offered before it was due")
		}
		time.Sleep(time.Millisecond)
		r.session.sent.Store(new(time.Now()))
		r.nudge()
		delivered := 0
		for j := r.offered(); j != nil; j = r.offered() {
			r.complete(j)
			delivered++
		}
		if delivered != records-maxParking {
			t.Errorf("%d were offered when they were due, want the %d whose writes are not under way", delivered, records-maxParking)
		}
		r.stop()
	})
}

func TestRevokeDropsWhatIsChosenToBeMoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, park := parking(t)
		for range 80 {
			r.holds(month)
		}
		r.claim.reparking = maxParking // no room for a move
		r.start()
		synctest.Wait()
		if n := r.claim.parking.Len(); n == 0 {
			t.Fatal("nothing was chosen")
		}
		r.stop()
		if n := r.claim.parking.Len(); n != 0 || len(park.written()) != 0 || r.low() != 0 {
			t.Errorf("%d are still held, %d writes, watermark %d; want nothing: the next owner has them", n, len(park.written()), r.low())
		}
	})
}
