package tier

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retryd/retryd/internal/window"
)

// beside returns another claim of the rig's relay, whose partition has so many records
// that are due.
func (r *rig) beside(partition int32, records int) *claim {
	c := newClaim(r.session, partition, 0)
	for offset := range int64(records) {
		c.take(message(offset, time.Now()), time.Now())
	}
	c.offer()
	return c
}

func TestPartitionsAreServedInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newStoppedRig(t, source{topic: rigTopic, label: "1", step: 1}, window.Config{Records: 100})
		r.beside(1, 5)
		r.beside(2, 2)
		r.beside(3, 3)
		var order strings.Builder
		for range 10 {
			fmt.Fprint(&order, r.worker().claim.partition)
		}
		if want := "1231231311"; order.String() != want {
			t.Errorf("partitions were served in the order %s, want %s: none twice before each", order.String(), want)
		}
	})
}

func TestPartitionThatComesLaterIsNotServedLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newStoppedRig(t, source{topic: rigTopic, label: "1", step: 1}, window.Config{Records: 100})
		r.beside(1, 100)
		for range 10 {
			r.worker()
		}
		r.beside(2, 1)
		if first, second := r.worker().claim.partition, r.worker().claim.partition; first+second != 3 {
			t.Errorf("partitions %d and %d were served, want both: a backlog does not starve the other", first, second)
		}
	})
}

func TestEachFreeWorkerIsWoken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := tierRig(t)
		defer r.stop()
		taken := make(chan *job, 3)
		for range 3 {
			go func() {
				j, _, _ := r.relay.turns.next()
				taken <- j
			}()
		}
		synctest.Wait()
		for range 3 {
			r.read(time.Now().Add(time.Second))
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if len(taken) != 3 {
			t.Fatalf("%d of three records that fell due together were taken by three free workers", len(taken))
		}
		for range 3 {
			r.complete(<-taken)
		}
	})
}

func TestNobodyWaitsOnceTurnsAreOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := newTurns()
		ended := make(chan bool, 2)
		for range 2 {
			go func() {
				_, _, ok := turns.next()
				ended <- ok
			}()
		}
		synctest.Wait()
		turns.end()
		synctest.Wait()
		if len(ended) != 2 || <-ended || <-ended {
			t.Error("workers wait although there is nothing to wait for")
		}
	})
}

func TestRevokedPartitionHandsOutNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := tierRig(t)
		r.read(time.Now())
		r.stop()
		if j := r.offered(); j != nil {
			t.Errorf("offset %d was handed out after the claim had let go: its next owner has it", j.record.Offset)
		}
	})
}

// TestAllThatWaitsIsServedAfterAPause: each claim's signal was spent on a worker that the
// gate refused.
func TestAllThatWaitsIsServedAfterAPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newStoppedRig(t, source{topic: rigTopic, label: "1", step: 1}, window.Config{Records: 100})
		r.relay.gate.Halt()
		taken := make(chan *job, 10)
		for range 10 {
			go func() {
				j, _, _ := r.relay.turns.next()
				taken <- j
			}()
		}
		synctest.Wait()
		for p := range int32(10) {
			r.beside(p+1, 1)
			synctest.Wait()
		}
		for range 100 { // as timers do
			r.relay.turns.wake()
			synctest.Wait()
		}
		if owed := r.relay.turns.owed; owed > 10 {
			t.Errorf("%d signals are owed for 10 claims", owed)
		}
		r.relay.gate.Resume(false)
		synctest.Wait()
		if len(taken) != 10 {
			t.Errorf("%d of ten records were taken by ten free workers", len(taken))
		}
	})
}
