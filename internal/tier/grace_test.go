package tier

import (
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retryd/retryd/internal/forward"
	"github.com/retryd/retryd/internal/policy"
)

// failing is a last attempt that failed, of a record that a rig's claim has read.
func failing(r *rig, status int) *job {
	r.read(time.Now())
	j := r.worker()
	j.state.Attempt = 3
	outcome := policy.Outcome{Verdict: policy.VerdictOf(policy.ClassTransient), Kind: policy.KindStatus, Status: status, Error: "status"}
	if status == http.StatusUnprocessableEntity {
		outcome.Verdict = policy.VerdictOf(policy.ClassInvalid)
	}
	pass := r.passes[j]
	ruling, again := r.relay.gate.Leave(pass, forward.Call{Record: "a", Refusals: &j.refusals}, &outcome, time.Now())
	r.relay.act(j, &attempted{outcome: outcome, ruling: ruling, again: again, outages: pass.Outages, at: time.Now()})
	synctest.Wait()
	return j
}

// outage opens a gate as five first attempts do that fail.
func outage(r *rig) {
	for _, record := range []string{"b", "c", "d", "e", "f"} {
		pass, _, _ := r.relay.gate.TryEnter(time.Now(), [2]bool{true, true})
		r.relay.gate.Leave(pass, forward.Call{Record: record, First: true, Refusals: new(forward.Refusals)},
			&policy.Outcome{Verdict: policy.VerdictOf(policy.ClassUnknown), Status: 500}, time.Now())
	}
}

func TestFailureThatEndsARecordIsFinalAfterAGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := tierRig(t)
		defer r.stop()
		_, dlt := routed(r, nil, nil)
		failing(r, http.StatusServiceUnavailable)
		time.Sleep(grace - time.Millisecond)
		synctest.Wait()
		if n := len(dlt.written()); n != 0 {
			t.Fatalf("%d dead letters before the grace is over", n)
		}
		time.Sleep(time.Millisecond)
		synctest.Wait()
		if letters := dlt.written(); len(letters) != 1 || header(letters[0], "x-reason") != "exhausted" || header(letters[0], "x-attempt") != "4" {
			t.Errorf("dead letters %v, want one that is exhausted", letters)
		}
		if low := r.low(); low != 1 {
			t.Errorf("watermark %d, want 1", low)
		}
	})
}

func TestFailureIsNotFinalOnceTheBreakerOpens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := tierRig(t)
		defer r.stop()
		_, dlt := routed(r, nil, nil)
		j := failing(r, http.StatusServiceUnavailable)
		outage(r)
		time.Sleep(grace)
		again := r.worker() // the probe
		if again != j || j.move != nil || j.state.Attempt != 3 || len(dlt.written()) != 0 {
			t.Errorf("attempt %d, decided %v, %d dead letters; want the last attempt to be made again", j.state.Attempt, j.move, len(dlt.written()))
		}
		r.complete(again)
		if r.moving != 0 {
			t.Errorf("%d records count as moving", r.moving)
		}
	})
}

func TestRejectedRecordIsADeadLetterAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := tierRig(t)
		defer r.stop()
		_, dlt := routed(r, nil, nil)
		failing(r, http.StatusUnprocessableEntity)
		if n := len(dlt.written()); n != 1 {
			t.Errorf("%d dead letters at once, want 1", n)
		}
	})
}

func TestStopEndsTheGrace(t *testing.T) {
	for _, opened := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			r := tierRig(t)
			_, dlt := routed(r, nil, nil)
			failing(r, http.StatusServiceUnavailable)
			if opened {
				outage(r)
			}
			r.stop()
			if n := len(dlt.written()); opened && n != 0 || !opened && n != 1 {
				t.Errorf("breaker open %v: %d dead letters at a stop", opened, n)
			}
		})
	}
}

func TestWithoutABreakerFailuresAreFinalAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := tierRig(t)
		defer r.stop()
		r.relay.config.Endpoint.Breaker.Enabled = false
		_, dlt := routed(r, nil, nil)
		failing(r, http.StatusServiceUnavailable)
		if n := len(dlt.written()); n != 1 {
			t.Errorf("%d dead letters at once, want 1", n)
		}
	})
}

func TestRecordThatMayNotRepeatMayAgainOnceTheBreakerOpens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _, dlt := repeating(t, 0)
		defer r.stop()
		r.relay.config.Endpoint.Breaker.Enabled = true
		j := failing(r, http.StatusServiceUnavailable)
		if r.excess != 1 || !j.excess {
			t.Fatalf("%d records may not repeat, want the one that failed", r.excess)
		}
		outage(r)
		time.Sleep(grace)
		r.complete(r.worker())
		if r.excess != 0 || len(dlt.written()) != 0 {
			t.Errorf("%d records may not repeat, %d dead letters; want none", r.excess, len(dlt.written()))
		}
	})
}

// asking opens a gate as later attempts do that fail where health can be asked for.
func asking(r *rig) {
	c := r.relay.config.Endpoint
	c.Health = "http://127.0.0.1/health"
	r.relay.gate = forward.NewGate(c, r.relay.gateChanged, r.relay.turns.wake)
	r.relay.turns.gate = r.relay.gate
}

func TestLastFailureWaitsForTheEndpointsHealth(t *testing.T) {
	for _, tt := range []struct {
		name   string
		answer func(*rig, forward.Pass)
		dead   int
	}{
		{"it is well", func(r *rig, p forward.Pass) { r.relay.gate.LeaveHealth(p, nil) }, 1},
		{"it is down", func(r *rig, p forward.Pass) { r.relay.gate.LeaveHealth(p, errors.New("status 503")) }, 0},
		{"nobody says so", func(*rig, forward.Pass) { time.Sleep(mostGraces * grace) }, 0},
		{"the claim lets go meanwhile", func(r *rig, _ forward.Pass) { r.stop() }, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := tierRig(t)
				asking(r)
				_, dlt := routed(r, nil, nil)
				failing(r, http.StatusServiceUnavailable)
				outage(r)
				time.Sleep(2 * grace)
				pass, _, ok := r.relay.gate.TryEnter(time.Now(), [2]bool{true, true})
				if !ok || !pass.Health || len(dlt.written()) > 0 {
					t.Fatalf("health is asked for %v, %d dead letters; want it asked for first", pass.Health, len(dlt.written()))
				}
				tt.answer(r, pass)
				time.Sleep(2 * grace)
				synctest.Wait()
				if n := len(dlt.written()); n != tt.dead {
					t.Errorf("%d dead letters, want %d", n, tt.dead)
				}
				r.stop()
			})
		})
	}
}
