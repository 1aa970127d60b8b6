package tier

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestStalledNamesWhatStandsStill(t *testing.T) {
	tests := []struct {
		name string
		busy func(*rig) *pulse
		may  time.Duration // take
		want string
	}{
		{"attempt", func(r *rig) *pulse { return &r.relay.working[0] }, rigTimeout + attemptPatience, "an attempt has not ended for 41s, endpoint.timeout is 10s"},
		{"commit", func(r *rig) *pulse { return &r.consumer.writing }, commitPatience, "a commit of group g-retry-orders.retry.1 has not ended for 5m1s"},
		{"loop of a claim", func(r *rig) *pulse { return &r.claim.turning }, loopPatience, "the loop of partition orders.retry.1/0 has not gone round for 31s"},
		{"look at the topics", func(r *rig) *pulse { return &r.relay.watching }, watchPatience, "the look at the topics has not ended for 30m1s"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := stalledRig(t)
				tt.busy(r).beat(r.relay.age())
				time.Sleep(tt.may)
				if got := r.relay.Stalled(time.Now()); got != "" {
					t.Fatalf("after %v: %s", tt.may, got)
				}
				time.Sleep(time.Second)
				if got := r.relay.Stalled(time.Now()); got != tt.want {
					t.Errorf("%q, want %q", got, tt.want)
				}
				tt.busy(r).rest()
				if got := r.relay.Stalled(time.Now()); got != "" {
					t.Errorf("after its end: %s", got)
				}
			})
		})
	}
}

// stalledRig is a rig whose relay knows of its claim.
func stalledRig(t *testing.T) *rig {
	r := newStoppedRig(t, minute, windowOf(100))
	r.consumer.source.group = "g-retry-orders.retry.1"
	r.consumer.session.Store(r.session)
	r.relay.members.expect([]*consumer{r.consumer})
	return r
}

func TestClaimWithNothingToDoDoesNotStandStill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := stalledRig(t)
		r.start()
		r.read(time.Now().Add(time.Hour)) // waits
		for range 100 {
			time.Sleep(time.Second)
			if got := r.relay.Stalled(time.Now()); got != "" {
				t.Fatal(got)
			}
		}
		r.stop()
		time.Sleep(time.Hour)
		if got := r.relay.Stalled(time.Now()); got != "" {
			t.Errorf("after it has let go: %s", got)
		}
	})
}

func TestStallIsSeenWithoutTheLockThatMayBeItsCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := stalledRig(t)
		r.claim.turning.beat(r.relay.age())
		r.claim.mu.Lock()
		defer r.claim.mu.Unlock()
		if got := r.relay.Stalled(time.Now().Add(loopPatience + time.Second)); got == "" {
			t.Error("nothing stands still although a loop does")
		}
	})
}
