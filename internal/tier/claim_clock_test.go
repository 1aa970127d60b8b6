package tier

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/retryd/retryd/internal/kafka"
)

func TestClockThatWasSetBackStallsNothing(t *testing.T) {
	now := time.Now()
	c := &claim{clock: now.UnixMilli()}
	arrival, waiting := &job{due: now.UnixMilli()}, &job{due: now.UnixMilli() + 5000}
	waiting.state.NotBefore = now.Add(5 * time.Second).Truncate(time.Millisecond)
	judged := &job{due: now.UnixMilli() + 1000, move: &move{}, state: waiting.state}
	for _, j := range []*job{arrival, waiting, judged} {
		c.hold(j)
	}
	back := now.Add(-time.Hour)
	c.noticeClockStep(back)
	if arrival.due != back.UnixMilli() || judged.due != back.UnixMilli() {
		t.Errorf("due at %d and %d, want %d: both wait for nothing but their turn", arrival.due, judged.due, back.UnixMilli())
	}
	if waiting.due != waiting.state.NotBefore.UnixMilli() {
		t.Errorf("due at %d, want %d: x-not-before holds by this clock too", waiting.due, waiting.state.NotBefore.UnixMilli())
	}
	if c.window.Len() != 2 || c.unwritten.Len() != 1 {
		t.Errorf("%d and %d held, want 2 and 1", c.window.Len(), c.unwritten.Len())
	}
}

func TestClockThatWasSetBackStallsNothingThatIsOutside(t *testing.T) {
	now := time.Now()
	c := &claim{clock: now.UnixMilli(), newest: now.Round(0), wake: make(chan struct{}, 1)}
	back := now.Add(-time.Hour)
	c.noticeClockStep(back)
	if c.newest.After(back) {
		t.Error("the newest record lies an hour ahead, nothing is read until then")
	}
	outside := &job{due: now.UnixMilli()}
	c.note(outside)
	c.giveBack(outside, back)
	if outside.due != back.UnixMilli() {
		t.Errorf("due at %d, want %d: nothing but its turn is waited for", outside.due, back.UnixMilli())
	}
}

func TestNothingLeavesWithoutALease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := tierRig(t)
		defer r.stop()
		time.Sleep(rigSession / 2)
		r.read(time.Now())
		if j := r.offered(); j != nil {
			t.Fatal("a record was offered although the last commit is half a session timeout old")
		}
		r.renewLease(t)
		j := r.offered()
		if j == nil {
			t.Fatal("the record was not offered after the renewal")
		}
		r.complete(j)
	})
}

func TestLeaseIsRenewedBeforeARecordIsDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := tierRig(t)
		defer r.stop()
		due := time.Now().Add(time.Minute)
		r.read(due)
		<-r.session.renew
		if ahead := time.Until(due); ahead <= 0 || ahead > time.Second {
			t.Errorf("renewal was asked for %v ahead, want up to 1 s", ahead)
		}
	})
}

func TestLeaseEndsWithTheWallClockToo(t *testing.T) {
	s := &session{consumer: &consumer{relay: &Relay{deps: Deps{Kafka: kafka.Config{SessionTimeout: rigSession}}}}}
	if s.leased(time.Now()) {
		t.Error("leased before the first commit")
	}
	now := time.Now()
	s.sent.Store(new(now.Round(0).Add(-rigSession / 2))) // without a monotonic reading, as after a sleep of the machine
	if s.leased(now) {
		t.Error("leased although the wall clock says that the commit is too old")
	}
	s.sent.Store(new(now))
	if !s.leased(now.Add(rigSession/2 - time.Millisecond)) {
		t.Error("not leased although the commit is young enough")
	}
}
