package tier

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retryd/retryd/internal/kafka"
	"github.com/retryd/retryd/internal/policy"
	"github.com/retryd/retryd/internal/redact"
	"github.com/retryd/retryd/internal/status"
)

func maintenance() status.Halt {
	return status.Halt{State: status.Paused, Reason: "maintenance", By: "alice", Since: time.Date(2026, 1, 31, 8, 0, 0, 0, time.UTC)}
}

// delivers reports whether an attempt may be made now.
func (r *rig) delivers(t *testing.T) bool {
	t.Helper()
	pass, _, ok := r.relay.gate.TryEnter(time.Now(), [2]bool{true, true})
	if ok {
		r.relay.gate.Cancel(pass)
	}
	return ok
}

func TestHaltIsShownAndEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, logs := observed(t)
		r.relay.config.Name = "orders"
		r.relay.Halt(maintenance())
		r.relay.Halt(maintenance()) // nothing new
		s := r.relay.Status()
		text := "paused by alice since 2026-01-31 08:00:00 UTC: maintenance; its records wait and no attempt is spent, until: retryd resume orders"
		want := []status.Problem{{Text: text, Since: maintenance().Since}}
		if diff := cmp.Diff(want, s.Problems); diff != "" || !s.Ready || s.Halt == nil || *s.Halt != maintenance() {
			t.Errorf("ready %v, halt %+v, problems (-want +got):\n%s", s.Ready, s.Halt, diff)
		}
		if r.delivers(t) {
			t.Error("a halted relay makes attempts")
		}
		r.relay.Resume()
		r.relay.Resume()
		if s := r.relay.Status(); s.Halt != nil || len(s.Problems) > 0 || !r.delivers(t) {
			t.Errorf("after the resume: %+v", s)
		}
		requireMessages(t, logs, "warn relay is halted: its records wait, and no attempt is spent", "info relay is resumed")
	})
}

func TestRelayWaitsForTheControlTopic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := observed(t)
		r.relay.config.Name = "orders"
		r.relay.AwaitControl("retryd.control")
		unready := func(why string) {
			t.Helper()
			s := r.relay.Status()
			want := "delivers nothing before topic retryd.control was read, which says what is paused: " + why
			if len(s.Problems) != 1 || s.Problems[0].Text != want || s.Ready || r.delivers(t) {
				t.Errorf("ready %v, problems %+v, want %q", s.Ready, s.Problems, want)
			}
		}
		unready("it is not read yet")
		r.relay.ControlUnread("retryd.control", &kafka.PlanError{Problems: []string{"topic retryd.control does not exist: create it"}})
		unready("topic retryd.control does not exist: create it")
		if !r.relay.Status().Fault {
			t.Error("a control topic that is missing is no fault")
		}
		r.relay.Halt(maintenance())
		r.relay.ControlRead("retryd.control")
		if s := r.relay.Status(); !s.Ready || s.Halt == nil || r.delivers(t) {
			t.Errorf("a relay that the topic pauses: %+v", s)
		}
		r.relay.Resume()
		if !r.delivers(t) {
			t.Error("it makes no attempt")
		}
	})
}

func TestControlTopicThatIsLostLaterBlocksNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, logs := observed(t)
		r.relay.config.Name = "orders"
		r.relay.AwaitControl("retryd.control")
		r.relay.ControlRead("retryd.control")
		r.relay.ControlUnread("retryd.control", errors.New("refused"))
		s := r.relay.Status()
		want := "does not notice a pause or a resume elsewhere, which topic retryd.control would tell: refused"
		if len(s.Problems) != 1 || s.Problems[0].Text != want || !s.Ready || !r.delivers(t) {
			t.Errorf("ready %v, problems %+v", s.Ready, s.Problems)
		}
		r.relay.ControlRead("retryd.control")
		if s := r.relay.Status(); len(s.Problems) > 0 {
			t.Errorf("problems %+v", s.Problems)
		}
		requireMessages(t, logs, "info relay is ready", "warn control topic cannot be read: a pause or a resume elsewhere is not noticed", "info control topic is read again")
	})
}

// It is read: neither orders nor delivery are affected.
func TestProblemOfAControlTopicThatIsReadIsToldAsSuch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, logs := observed(t)
		r.relay.config.Name = "orders"
		r.relay.AwaitControl("retryd.control")
		r.relay.ControlRead("retryd.control")
		denied := &kafka.PlanError{Problems: []string{"topic retryd.control may not be looked at (not authorized): grant DescribeConfigs on it"}}
		r.relay.ControlLooked("retryd.control", denied)
		want := "control topic is not in order: topic retryd.control may not be looked at (not authorized): grant DescribeConfigs on it"
		if s := r.relay.Status(); len(s.Problems) != 1 || s.Problems[0].Text != want || !s.Ready || !r.delivers(t) {
			t.Errorf("ready %v, problems %+v", s.Ready, s.Problems)
		}
		r.relay.ControlLooked("retryd.control", nil)
		r.relay.ControlLooked("retryd.control", denied)
		r.relay.ControlUnread("retryd.control", denied)
		if s := r.relay.Status(); len(s.Problems) != 1 || s.Problems[0].Text == want {
			t.Errorf("once it cannot be read: problems %+v", s.Problems)
		}
		r.relay.ControlRead("retryd.control")
		if s := r.relay.Status(); len(s.Problems) > 0 {
			t.Errorf("problems %+v", s.Problems)
		}
		requireMessages(t, logs, "info relay is ready",
			"warn control topic is not in order: what it says is read all the same", "info control topic is in order again",
			"warn control topic cannot be read: a pause or a resume elsewhere is not noticed", "info control topic is read again")
	})
}

func TestHaltedRelayStartsNoAttemptAndGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := tierRig(t)
		defer r.stop()
		r.relay.Halt(maintenance())
		r.read(time.Now())
		taken := make(chan *job, 1)
		go func() { taken <- r.worker() }()
		time.Sleep(rigSession / 4) // while the lease lasts
		synctest.Wait()
		if len(taken) > 0 {
			t.Fatal("a halted relay lets a record out")
		}
		r.relay.Resume()
		j := <-taken
		if j.state.Late != 0 || j.move != nil {
			t.Errorf("late %s, decided %v; want that nothing is charged", j.state.Late, j.move)
		}
		r.complete(j)
	})
}

func TestAnswerThatStopsIsKeptAndSpendsNoAttempt(t *testing.T) {
	r := tierRig(t)
	defer r.stop()
	var group string
	var halt status.Halt
	r.relay.deps.Stop = func(g string, h status.Halt) {
		group, halt = g, h
		r.relay.Halt(h)
	}
	r.relay.noteStop(policy.Outcome{Verdict: policy.Verdict{Treatment: policy.TreatHold}})
	if group != "" {
		t.Error("an answer that only holds stops the relay")
	}
	r.relay.noteStop(policy.Outcome{Verdict: policy.Verdict{Treatment: policy.TreatStop}, Error: "status 410 Gone"})
	if group != "g" || halt.State != status.Stopped || halt.Reason != "status 410 Gone" || halt.By != "rule" || halt.Since.IsZero() {
		t.Errorf("group %s, %+v", group, halt)
	}
	if r.relay.Status().Halt == nil {
		t.Error("the relay is not halted at once")
	}
}

// The reason of a stop is the answer's error, which a dead letter carries as x-error.
func TestReasonOfAStopIsHiddenAsTheErrorThatItIs(t *testing.T) {
	r := tierRig(t)
	defer r.stop()
	r.relay.hide = redact.Config{Headers: []string{"x-error"}}.Rules(nil)
	r.relay.deps.Stop = func(_ string, h status.Halt) { r.relay.Halt(h) }
	r.relay.noteStop(policy.Outcome{Verdict: policy.Verdict{Treatment: policy.TreatStop}, Error: "status 410 Gone"})
	if h := r.relay.Status().Halt; h == nil || h.Reason != redact.Mask {
		t.Errorf("halt %+v, want the reason %s", h, redact.Mask)
	}
}
