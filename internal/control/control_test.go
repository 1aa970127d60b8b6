package control

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retryd/retryd/internal/kafka"
	"github.com/retryd/retryd/internal/status"
)

// want requires what was told since the last time, once nothing moves any more.
func (r *rig) want(t *testing.T, told ...string) {
	t.Helper()
	synctest.Wait()
	if diff := cmp.Diff(told, r.said()); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

func stopped(reason string) status.Halt {
	return status.Halt{State: status.Stopped, Reason: reason, By: "rule", Since: time.Now()}
}

func TestPauseHoldsOnAllInstancesAndOverARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		topic := newTopic()
		a, b := newRig(topic), newRig(topic)
		a.want(t, "read")
		b.want(t, "read")
		if h, err := a.Pause(t.Context(), "g1", "release", "alice"); err != nil || h.State != status.Paused {
			t.Errorf("%+v, %v", h, err)
		}
		a.want(t, "g1 paused by alice: release")
		b.want(t, "g1 paused by alice: release")
		a.stop()
		a = newRig(topic)
		a.want(t, "g1 paused by alice: release", "read")
		if err := b.Resume(t.Context(), "g1"); err != nil {
			t.Error(err)
		}
		a.want(t, "g1 delivers")
		b.want(t, "g1 delivers")
		a.stop()
		a = newRig(topic)
		a.want(t, "read")
		a.stop()
		b.stop()
	})
}

func TestHaltKeepsWhatIsSaidOfIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(newTopic())
		defer r.stop()
		r.want(t, "read")
		began := time.Now()
		first, _ := r.Pause(t.Context(), "g1", "release", "alice")
		time.Sleep(time.Hour)
		again, err := r.Pause(t.Context(), "g1", "rollback", "bob")
		if err != nil || !again.Since.Equal(first.Since) || !first.Since.Equal(began.Truncate(time.Millisecond)) || again.By != "bob" {
			t.Errorf("first %+v, then %+v, %v", first, again, err)
		}
		r.Stop("g1", stopped("410 Gone"))
		r.Stop("g1", stopped("another"))
		if h, err := r.Pause(t.Context(), "g1", "rollback", "bob"); err != nil || h.State != status.Stopped || h.Reason != "410 Gone" {
			t.Errorf("a pause of what is stopped: %+v, %v", h, err)
		}
		r.want(t, "g1 paused by alice: release", "g1 paused by bob: rollback", "g1 stopped by rule: 410 Gone")
	})
}

func TestStopIsWrittenUntilItIsAcknowledged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		topic := newTopic()
		a, b := newRig(topic), newRig(topic)
		a.want(t, "read")
		b.want(t, "read")
		topic.fail(errors.New("no broker answers"))
		a.Stop("g1", stopped("410 Gone"))
		if told := a.said(); len(told) == 0 || told[0] != "g1 stopped by rule: 410 Gone" {
			t.Errorf("told %q, want the stop at once", told)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if topic.tries < 20 || topic.tries > 40 {
			t.Errorf("%d writes in a minute, want one each 2 s", topic.tries)
		}
		if n := a.logs.FilterMessageSnippet("is not on the control topic yet").Len(); n < 1 || n > 3 {
			t.Errorf("%d lines about it in a minute", n)
		}
		if err := a.Resume(deadline(t), "g1"); err == nil || err.Error() != "topic retryd.control did not acknowledge it: no broker answers" {
			t.Errorf("a resume that cannot be written: %v", err)
		}
		a.said()
		b.said()
		topic.fail(nil)
		time.Sleep(10 * time.Second)
		a.want(t, "read")
		b.want(t, "read", "g1 stopped by rule: 410 Gone")
		if tries := topic.tries; len(topic.entries) != 1 {
			t.Errorf("%d records after %d tries, want one", len(topic.entries), tries)
		}
		if err := b.Resume(t.Context(), "g1"); err != nil {
			t.Error(err)
		}
		a.want(t, "g1 delivers")
		a.stop()
		b.stop()
	})
}

// An attempt that is under way when the process is told to end may still stop its relay.
func TestStopDuringTheDrainIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		topic := newTopic()
		a, b := newRig(topic), newRig(topic)
		defer b.stop()
		b.want(t, "read")
		a.rest()
		a.Stop("g1", stopped("410 Gone"))
		b.want(t, "g1 stopped by rule: 410 Gone")
		topic.mu.Lock()
		topic.failing = errors.New("no broker answers") // the reader of b notices nothing
		topic.mu.Unlock()
		a.Stop("g2", stopped("410 Gone"))
		synctest.Wait()
		topic.mu.Lock()
		topic.failing = nil
		topic.mu.Unlock()
		a.stop() // before the next try is due
		b.want(t, "g2 stopped by rule: 410 Gone")
		if n := a.logs.FilterMessageSnippet("as the process ends").Len(); n != 0 {
			t.Errorf("%d halts are told to be lost", n)
		}
	})
}

func TestHaltThatCannotBeWrittenAtTheEndIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(newTopic())
		r.put = func(ctx context.Context, _, _ []byte) (int64, error) {
			<-ctx.Done() // it hangs
			return 0, errors.New("no acknowledgement came in time")
		}
		synctest.Wait()
		began := time.Now()
		r.Stop("g1", stopped("410 Gone"))
		synctest.Wait()
		r.stop()
		if took := time.Since(began); took != lastBound {
			t.Errorf("the end took %s, want %s", took, lastBound)
		}
		lines := r.logs.FilterMessage("halt of a relay is not on the control topic as the process ends: other instances do not know of it, and after a restart it is forgotten").All()
		if len(lines) != 1 {
			t.Fatalf("%d lines, want one", len(lines))
		}
		want := map[string]any{
			"topic": "retryd.control", "relay": "loans", "state": "stopped", "reason": "410 Gone",
			"error": "topic retryd.control did not acknowledge it: no acknowledgement came in time",
		}
		if diff := cmp.Diff(want, lines[0].ContextMap()); diff != "" {
			t.Errorf("fields (-want +got):\n%s", diff)
		}
	})
}

// deadline is a context that ends in ten seconds.
func deadline(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func TestResumeOvertakesAStopThatIsNotWrittenYet(t *testing.T) {
	reading(t, func(t *testing.T, topic *fakeTopic, r *rig) {
		topic.fail(errors.New("no broker answers"))
		r.Stop("g1", stopped("410 Gone"))
		synctest.Wait()
		topic.mu.Lock()
		topic.failing = nil // the reader notices nothing
		topic.mu.Unlock()
		if err := r.Resume(t.Context(), "g1"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(topic.entries) != 1 || topic.entries[0].Value != nil || r.State("g1") != nil {
			t.Errorf("%d records, state %+v, want the resume alone", len(topic.entries), r.State("g1"))
		}
	})
}

// A stop that was written without an acknowledgement and read back is not written again: a
// resume that came meanwhile would be undone.
func TestResumeHoldsWhereTheStopWasNotAcknowledged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		topic := newTopic()
		a, b := newRig(topic), newRig(topic)
		defer a.stop()
		defer b.stop()
		a.want(t, "read")
		b.want(t, "read")
		a.put = func(ctx context.Context, key, value []byte) (int64, error) {
			if _, err := topic.put(ctx, key, value); err != nil {
				return 0, err
			}
			<-ctx.Done()
			return 0, errors.New("no acknowledgement came in time")
		}
		a.Stop("g1", stopped("410 Gone"))
		b.want(t, "g1 stopped by rule: 410 Gone")
		if err := b.Resume(t.Context(), "g1"); err != nil {
			t.Fatal(err)
		}
		a.want(t, "g1 stopped by rule: 410 Gone", "g1 delivers")
		time.Sleep(time.Minute)
		a.want(t)
		if len(topic.entries) != 2 {
			t.Errorf("%d records, want the stop and the resume", len(topic.entries))
		}
	})
}

func TestOrderThatIsNotBegunInTimeIsRefused(t *testing.T) {
	c := New(Deps{Topics: kafka.DefaultTopics()}) // which does not run
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := c.Pause(ctx, "g1", "", "alice")
	if err == nil || err.Error() != "topic retryd.control did not acknowledge it: no write to it was begun in time" {
		t.Error(err)
	}
}

func TestWhatCannotBeReadKeepsTheLastState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		topic := newTopic()
		missing := &kafka.PlanError{Problems: []string{"topic retryd.control does not exist"}}
		topic.failing = missing
		r := newRig(topic)
		defer r.stop()
		r.want(t, "unread: topic retryd.control does not exist")
		topic.fail(nil)
		time.Sleep(lookInterval)
		r.want(t, "read")
		r.Pause(t.Context(), "g1", "release", "alice")
		r.want(t, "g1 paused by alice: release")
		topic.fail(errors.New("the broker closed the connection"))
		time.Sleep(retryPause)
		if told := strings.Join(r.said(), "; "); !strings.Contains(told, "unread: the broker closed") || strings.Contains(told, "g1") {
			t.Errorf("told %s", told)
		}
		topic.fail(nil)
		time.Sleep(2 * retryPause)
		r.said()
		if h := r.State("g1"); h == nil || h.State != status.Paused {
			t.Errorf("state %+v", h)
		}
	})
}

// A look that takes its time, or finds something, is no matter of what is read.
func TestTopicIsReadWhileItIsLookedAt(t *testing.T) {
	reading(t, func(t *testing.T, topic *fakeTopic, r *rig) {
		looked := make(chan error)
		topic.change(func() { topic.slow = looked })
		time.Sleep(lookInterval + 3*time.Second)
		topic.write("relay/g1", []byte(`{"state":"paused","by":"bob","reason":"r","at":"2026-01-31T08:00:00Z"}`))
		r.want(t, "g1 paused by bob: r")
		looked <- errors.New("topic retryd.control may not be looked at")
		time.Sleep(3 * time.Second)
		topic.write("relay/g1", nil)
		r.want(t, "looked: topic retryd.control may not be looked at", "g1 delivers")
		time.Sleep(lookInterval - 4*time.Second)
		synctest.Wait()
		select {
		case looked <- nil:
			t.Error("it is looked at again before 30 s")
		default:
		}
		time.Sleep(10 * time.Second)
		looked <- nil
		time.Sleep(3 * time.Second)
		r.want(t, "in order")
	})
}

func TestWhatWasMissedIsFoundWhenTheTopicIsReadAgain(t *testing.T) {
	reading(t, func(t *testing.T, topic *fakeTopic, r *rig) {
		r.Pause(t.Context(), "g1", "release", "alice")
		r.want(t, "g1 paused by alice: release")
		topic.fail(errors.New("away"))
		synctest.Wait()
		r.said()
		topic.change(func() { topic.entries, topic.failing = nil, nil }) // resumed elsewhere, and compacted away
		time.Sleep(2 * retryPause)
		r.want(t, "g1 delivers", "read")
	})
}

func TestTopicThatIsMadeAnewGetsWhatIsHalted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		topic := newTopic()
		r := newRig(topic)
		r.want(t, "read")
		r.Pause(t.Context(), "g1", "release", "alice")
		r.Pause(t.Context(), "g2", "release", "alice")
		r.want(t, "g1 paused by alice: release", "g2 paused by alice: release")
		topic.anew()
		topic.write("relay/g2", nil) // resumed already
		time.Sleep(lookInterval + 3*time.Second)
		synctest.Wait()
		r.stop()
		r = newRig(topic)
		defer r.stop()
		r.want(t, "g1 paused by alice: release", "read")
	})
}

// A topic that was made anew a moment ago, which nobody has noticed yet, counts its records
// from 0 again.
func TestPauseHoldsAtOnceOnATopicMadeAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		topic := newTopic()
		for range 3 {
			topic.write("relay/g1", nil)
		}
		r := newRig(topic)
		defer r.stop()
		r.want(t, "read")
		topic.anew()
		topic.write("relay/elsewhere", nil)
		if _, err := r.Pause(t.Context(), "g1", "release", "alice"); err != nil {
			t.Fatal(err)
		}
		r.want(t, "g1 paused by alice: release")
		if err := r.Resume(t.Context(), "g1"); err != nil {
			t.Fatal(err)
		}
		r.want(t, "g1 delivers")
		if _, err := r.Pause(t.Context(), "g1", "release", "bob"); err != nil {
			t.Fatal(err)
		}
		r.want(t, "g1 paused by bob: release")
		time.Sleep(lookInterval + 3*time.Second)
		r.want(t, "read")
	})
}

func TestRecordsThatMakeNoSenseAreToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		topic := newTopic()
		topic.write("stash/x", []byte("of a later version"))
		topic.write("relay/g1", []byte("{"))
		topic.write("relay/elsewhere", []byte(`{"state":"gone"}`))
		topic.write("relay/g2", []byte(`{"state":"paused","by":"bob","reason":"r","at":"2026-01-31T08:00:00Z"}`))
		r := newRig(topic)
		r.want(t, "g2 paused by bob: r", "read")
		topic.fail(errors.New("away"))
		synctest.Wait()
		topic.fail(nil)
		time.Sleep(2 * retryPause)
		topic.write("relay/g2", []byte("[]"))
		synctest.Wait()
		r.stop()
		if r.ignored != 3 {
			t.Errorf("%d ignored, want 3", r.ignored)
		}
		var offsets []int64
		for _, e := range r.logs.FilterMessage("record of the control topic makes no sense and is ignored").All() {
			offsets = append(offsets, e.ContextMap()["offset"].(int64))
		}
		if diff := cmp.Diff([]int64{1, 2, 4}, offsets); diff != "" {
			t.Errorf("offsets (-want +got):\n%s", diff)
		}
		if h := r.State("g2"); h == nil {
			t.Error("a record that makes no sense ended a pause")
		}
	})
}

// What was acknowledged counts at once, and what is read later but was said before does
// not undo it.
func TestOlderWordThatIsReadLaterCountsNoMore(t *testing.T) {
	r := &rig{}
	r.Control = New(Deps{Relays: map[string]string{"g1": "loans"}, Changed: func(_ string, h *status.Halt) {
		r.told = append(r.told, string(stateOf(h)))
	}})
	r.put = func(context.Context, []byte, []byte) (int64, error) { return 5, nil }
	h := stopped("410 Gone")
	if err := r.writeOne(t.Context(), "g1", &h); err != nil {
		t.Fatal(err)
	}
	r.learn("g1", said{offset: 4})                        // a resume from before
	r.renew(map[string]said{"g1": {offset: 4}}, 5, false) // and a read that ended before
	r.learn("g1", said{halt: &h, offset: 5})              // itself
	r.learn("g1", said{offset: 6})                        // a resume from after
	r.renew(map[string]said{"g1": {&h, 7}}, 8, false)     // a read that found another
	r.renew(map[string]said{"g1": {offset: 0}}, 1, true)  // a topic that was made anew
	r.learn("g1", said{halt: &h, offset: 1})              // which begins at 0
	if diff := cmp.Diff([]string{"stopped", "", "stopped", "", "stopped"}, r.told); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

// A word that was read while another one was written counts if it stands behind that.
func TestAcknowledgedWordThatIsOvertakenDoesNotCount(t *testing.T) {
	r := &rig{}
	r.Control = New(Deps{Relays: map[string]string{"g1": "loans"}, Changed: func(_ string, h *status.Halt) {
		r.told = append(r.told, string(stateOf(h)))
	}})
	h := stopped("410 Gone")
	r.learn("g1", said{offset: 4})
	r.put = func(context.Context, []byte, []byte) (int64, error) {
		r.learn("g1", said{halt: &h, offset: 6})
		return 5, nil
	}
	if err := r.writeOne(t.Context(), "g1", nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"stopped"}, r.told); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

func stateOf(h *status.Halt) status.HaltState {
	if h == nil {
		return ""
	}
	return h.State
}
