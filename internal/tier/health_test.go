package tier

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/IBM/sarama"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/retryd/retryd/internal/forward"
	"github.com/retryd/retryd/internal/kafka"
	"github.com/retryd/retryd/internal/logging"
	"github.com/retryd/retryd/internal/policy"
	"github.com/retryd/retryd/internal/status"
	"github.com/retryd/retryd/internal/window"
)

func windowOf(records int) window.Config {
	return window.Config{Records: records, Horizon: 5 * time.Second}
}

// observed is a rig whose relay's log the test reads.
func observed(t *testing.T) (*rig, *observer.ObservedLogs) {
	t.Helper()
	r := newStoppedRig(t, minute, windowOf(1000))
	core, logs := observer.New(zapcore.InfoLevel)
	r.relay.log = zap.New(core)
	r.relay.reach.endpoint, r.relay.reach.origin = "http://h/loans", "http://h"
	return r, logs
}

// lines are the log's messages, with what they are about and why.
func lines(logs *observer.ObservedLogs) (list []string) {
	for _, e := range logs.All() {
		line := e.Level.String() + " " + e.Message
		for _, f := range e.Context {
			switch f.Key {
			case "", logging.FieldSuppressed: // a field that is left out has no name
			case "after":
				line += fmt.Sprintf(" after=%s", time.Duration(f.Integer))
			default:
				line += fmt.Sprintf(" %s=%s", f.Key, f.String)
			}
		}
		list = append(list, line)
	}
	return list
}

func TestOutageIsTwoLines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, logs := observed(t)
		for try := range 100 {
			r.relay.raise(kindCommit, "g", fmt.Errorf("read tcp 127.0.0.1:%d: %w", 4000+try, sarama.ErrOutOfBrokers))
			time.Sleep(time.Second)
		}
		if s := r.relay.Status(); s.Ready || s.Fault || !s.Problems[0].Away {
			t.Errorf("ready %v, fault %v while commits fail for want of a broker, want neither", s.Ready, s.Fault)
		}
		r.relay.over(kindCommit, "g")
		r.relay.over(kindCommit, "g")
		want := []string{
			"warn cannot commit: delivery stops until it succeeds, when the last commit is half of kafka.session_timeout old group=g error=read tcp 127.0.0.1:4000: no broker answers",
			"info commits succeed again group=g after=1m40s",
			"info relay is ready",
		}
		if diff := cmp.Diff(want, lines(logs)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestFiftyRelaysAndADeadClusterAreOneLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, logs := observed(t)
		var rigs []*rig
		for range 50 {
			r, _ := observed(t)
			r.relay.log, r.relay.deps.Limiter = first.relay.log, first.relay.deps.Limiter
			rigs = append(rigs, r)
		}
		each := func(f func(*Relay, string)) {
			for i, r := range rigs {
				f(r.relay, fmt.Sprint("g", i))
			}
		}
		each(func(r *Relay, g string) { r.waits(kindMember, g, errJoining) })
		for range 100 {
			each(func(r *Relay, g string) { r.raise(kindMember, g, sarama.ErrOutOfBrokers) })
			time.Sleep(time.Second)
		}
		if n := logs.FilterMessage(kindMember.began()).Len(); n != 1 {
			t.Errorf("%d lines, want 1:\n%v", n, lines(logs))
		}
		each(func(r *Relay, g string) { r.over(kindMember, g) })
		if n := logs.FilterMessage(kindMember.ended()).Len(); n != 1 {
			t.Errorf("%d lines about the end, want 1", n)
		}
		// What each relay's own person has to mend is told of each.
		each(func(r *Relay, g string) { r.raise(kindMember, g, sarama.ErrGroupAuthorizationFailed) })
		if n := logs.FilterMessage(kindMember.began()).Len(); n != 51 {
			t.Errorf("%d lines, want 50 more than 1", n)
		}
	})
}

func TestEndpointThatGivesNoAnswer(t *testing.T) {
	refused := policy.Outcome{Verdict: policy.VerdictOf(policy.ClassTransient), Kind: policy.KindRefused, Error: "connect h:80: connection refused"}
	synctest.Test(t, func(t *testing.T) {
		r, logs := observed(t)
		r.relay.config.Endpoint.Breaker.Enabled = false // else that tells of it
		problems := func() int { return len(r.relay.Status().Problems) }
		for range manyUnanswered - 1 {
			r.relay.noteAnswer(refused)
		}
		if problems() != 0 {
			t.Fatalf("a problem after %d attempts", manyUnanswered-1)
		}
		r.relay.noteAnswer(policy.Outcome{Verdict: policy.VerdictOf(policy.ClassUnknown), Kind: policy.KindStatus, Status: 500})
		for range manyUnanswered - 1 {
			r.relay.noteAnswer(refused)
		}
		if problems() != 0 {
			t.Errorf("a problem after %d attempts, although it answered before them", manyUnanswered-1)
		}
		r.relay.noteAnswer(refused)
		s := r.relay.Status()
		want := "endpoint http://h/loans gives no answer: connect h:80: connection refused; start it, or correct endpoint.url: its records use up their attempts"
		if len(s.Problems) != 1 || s.Problems[0].Text != want || !s.Ready {
			t.Errorf("ready %v, problems %v, want it ready with %q", s.Ready, s.Problems, want)
		}
		time.Sleep(time.Minute)
		r.relay.noteAnswer(policy.Outcome{Verdict: policy.VerdictOf(policy.ClassUnknown), Kind: policy.KindStatus, Status: 500})
		if problems() != 0 {
			t.Error("it has answered, and the problem is still there")
		}
		wantLines := []string{
			"warn endpoint gives no answer: its records use up their attempts endpoint=http://h error=" + want,
			"info endpoint answers again endpoint=http://h after=1m0s",
		}
		got := lines(logs)
		if diff := cmp.Diff(wantLines, got[:min(2, len(got))]); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

func TestPauseSaysWhyAndUntilWhen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, logs := observed(t)
		open := func(fault policy.Fault, said string, pause time.Duration) {
			phase := policy.PhaseOpen
			if fault == policy.FaultThrottled { // which opens no breaker
				phase = policy.PhaseClosed
			}
			r.relay.gateChanged(forward.State{Phase: phase, Cause: fault, Until: time.Now().Add(pause), Error: said})
		}
		for pause := time.Second; pause < time.Minute; pause *= 2 {
			open(policy.FaultEndpoint, "status 401", pause)
			time.Sleep(pause)
			r.relay.gateChanged(forward.State{Phase: policy.PhaseHalfOpen, Cause: policy.FaultEndpoint, Error: "status 401"})
		}
		s := r.relay.Status()
		want := "delivery pauses until 00:01:03 UTC, no attempt is spent: status 401: the endpoint or its configuration is wrong, not the record; correct the endpoint, its credentials or endpoint.url"
		if len(s.Problems) != 1 || s.Problems[0].Text != want || !s.Ready {
			t.Errorf("ready %v, problems %v, want it ready with\n%s", s.Ready, s.Problems, want)
		}
		r.relay.gateChanged(forward.State{Phase: policy.PhaseClosed})
		if n := len(r.relay.Status().Problems); n != 0 {
			t.Errorf("%d problems after the pause", n)
		}
		if n := logs.FilterMessage(kindPause.began()).Len(); n != 1 {
			t.Errorf("%d lines about a pause that was prolonged", n)
		}
		for fault, mend := range map[policy.Fault]string{
			policy.FaultUnreachable: "the endpoint cannot be reached; start it, or correct endpoint.url",
			policy.FaultFailing:     "the endpoint fails whatever it gets; mend it",
			policy.FaultRejecting:   "the endpoint rejects nearly every record, as after a wrong deployment; correct it, or endpoint.url; what it has rejected is in the dead-letter topic",
			policy.FaultThrottled:   "the endpoint asks for fewer requests; endpoint.rate sets a limit",
		} {
			open(fault, "said", time.Second)
			if got, want := r.relay.Status().Problems[0].Text, "delivery pauses until 00:01:04 UTC, no attempt is spent: said: "+mend; got != want {
				t.Errorf("%q, want %q", got, want)
			}
		}
	})
}

func TestHaltedRelayTellsOfNoPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := observed(t)
		open := forward.State{Phase: policy.PhaseOpen, Cause: policy.FaultFailing, Until: time.Now().Add(time.Second), Error: "status 503"}
		r.relay.gateChanged(open)
		r.relay.Halt(status.Halt{State: status.Paused, By: "ann"})
		r.relay.gateChanged(open) // a probe that was under way
		if held := r.relay.EndpointHolds(); held != "" {
			t.Errorf("told of %q, which nothing ends while it is halted", held)
		}
		r.relay.Resume()
		r.relay.gateChanged(open)
		if r.relay.EndpointHolds() == "" {
			t.Error("nothing is told of the pause once it is resumed")
		}
	})
}

func TestTopicThatTakesNoRecordIsATroubleUntilTheLastIsWritten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, logs := observed(t)
		denied := error(&kafka.PlanError{Problems: []string{"topic orders.DLT may not be written (not authorized): grant Write on it"}})
		_, dlt := routed(r, nil, []error{denied, denied, nil, denied})
		r.start()
		for range 2 {
			r.read(time.Now())
			j := r.worker()
			r.judged(j, &move{decision: policy.Decision{Action: policy.ActionDeadLetter}})
			r.relay.send(j)
		}
		text := func() string {
			if p := r.relay.Status().Problems; len(p) > 0 {
				return p[0].Text
			}
			return ""
		}
		want := "cannot write to topic orders.DLT, its records are held: topic orders.DLT may not be written (not authorized): grant Write on it"
		if got := text(); got != want {
			t.Fatalf("%q, want %q", got, want)
		}
		time.Sleep(resendPause)
		synctest.Wait()
		if got := text(); len(dlt.written()) != 4 || got != want {
			t.Errorf("after %d writes: %q, want the trouble to last: one record of two was refused again", len(dlt.written()), got)
		}
		time.Sleep(resendPause)
		synctest.Wait()
		if got := text(); got != "" {
			t.Errorf("all are written, and still: %s", got)
		}
		got := lines(logs)
		if len(got) < 2 || got[0] != "warn "+kindWrite.began()+" topic=orders.DLT error=topic orders.DLT may not be written (not authorized): grant Write on it" {
			t.Errorf("log: %v", got)
		}
		r.stop()
	})
}

func TestRecordThatTheNextOwnerWritesIsNoTroubleHere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := observed(t)
		gone := errors.New("gone")
		routed(r, nil, []error{gone, gone, gone})
		r.start()
		r.read(time.Now())
		j := r.worker()
		r.judged(j, &move{decision: policy.Decision{Action: policy.ActionDeadLetter}})
		r.relay.send(j)
		r.stop()
		if p := r.relay.Status().Problems; len(p) != 0 {
			t.Errorf("problems %v after the partition was let go, want none", p)
		}
	})
}

// What the dead-letter topic takes in its place holds up nothing any more.
func TestTopicIsNoTroubleForARecordThatIsTooLargeForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := observed(t)
		routed(r, []error{sarama.ErrNotEnoughReplicas, kafka.ErrTooLarge}, nil)
		dlt := &slowWriter{}
		r.relay.routes.Load().dlt.writer = dlt
		r.start()
		defer r.stop()
		r.read(time.Now())
		forwarded(r, r.worker())
		if n := len(r.relay.Status().Problems); n != 1 {
			t.Fatalf("%d problems while the tier takes nothing, want 1", n)
		}
		time.Sleep(resendPause)
		synctest.Wait()
		if p := r.relay.Status().Problems; len(p) != 0 || dlt.done == nil {
			t.Fatalf("problems %v, sent to the dead-letter topic %v; want none, true", p, dlt.done != nil)
		}
		dlt.done(0, nil)
	})
}
