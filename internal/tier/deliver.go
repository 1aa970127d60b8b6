package tier

import (
	"context"
	"time"

	"github.com/retryd/retryd/internal/forward"
	"github.com/retryd/retryd/internal/metrics"
	"github.com/retryd/retryd/internal/policy"
	"github.com/retryd/retryd/internal/record"
)

// work attempts records until the turns are over. busy tells how long it has been with
// one record.
func (r *Relay) work(ctx context.Context, busy *pulse) {
	var room record.Room // for what an attempt is about, so that it pins no fetch response
	for {
		j, pass, ok := r.turns.next()
		if !ok {
			return
		}
		busy.beat(r.age())
		switch {
		case pass.Health:
			r.gate.LeaveHealth(pass, r.client.Healthy(ctx))
		default:
			if j.lent {
				j.lent = room.Take(&j.record)
			}
			r.handle(ctx, j, pass)
		}
		busy.rest()
	}
}

// handle attempts a record that left its window, if it still may be. Every way out
// completes it, gives it back, or hands it to a producer that will do one of these.
// A record whose claim was revoked meanwhile is attempted all the same, while the
// lease lasts: records that left after it are, and dropping it alone would hold the
// watermark below them and repeat them.
func (r *Relay) handle(ctx context.Context, j *job, pass forward.Pass) {
	now := time.Now()
	switch {
	case r.gate.Stale(pass) || j.due > now.UnixMilli() || !j.claim.session.leased(now):
		r.gate.Cancel(pass)
		j.claim.giveBack(j, time.UnixMilli(min(j.due, now.UnixMilli()))) // it keeps its place
	case !pass.Probe && policy.Expired(r.schedule, j.state.Origin.Timestamp, now):
		r.gate.Cancel(pass)
		r.expire(j, now)
	default:
		r.attempt(ctx, j, pass, now)
	}
}

// attempted is an attempt that is over, and what it may be taken for.
type attempted struct {
	outcome policy.Outcome
	ruling  forward.Ruling
	late    time.Duration // how long after its due time it started
	again   time.Duration // for how long the record waits at least, if it is held
	outages uint64        // that there were when it started
	at      time.Time     // when it was over
}

// attempt posts the record once and acts on the decision.
func (r *Relay) attempt(ctx context.Context, j *job, pass forward.Pass, start time.Time) {
	a := attempted{late: lateness(j, start), outages: pass.Outages}
	if !j.state.NotBefore.IsZero() {
		j.claim.consumer.metrics.Late(a.late)
	}
	r.metrics.InFlight(1)
	a.outcome = r.client.Attempt(ctx, forward.Request{Record: &j.record, State: &j.state})
	a.at = time.Now()
	r.metrics.InFlight(-1)
	delivered := a.outcome.Delivered()
	if ctx.Err() != nil && !delivered { // cut off by retryd itself: nothing to judge
		r.gate.Cancel(pass)
		j.claim.giveBack(j, start)
		return
	}
	if !delivered {
		r.noteStop(a.outcome)
	}
	a.ruling, a.again = r.gate.Leave(pass, forward.Call{
		Record: j.state.EventID, First: j.state.Attempt == 0, Refusals: &j.refusals,
	}, &a.outcome, a.at)
	if !delivered || r.reach.unanswered.Load() > 0 {
		r.noteAnswer(a.outcome)
	}
	r.act(j, &a)
}

// act does what follows from an attempt.
func (r *Relay) act(j *job, a *attempted) {
	if a.outcome.Delivered() {
		j.claim.consumer.account(j, a, &policy.Decision{})
		j.claim.complete(j)
		return
	}
	state, d := r.decide(j, a)
	j.claim.consumer.account(j, a, &d)
	switch d.Action {
	case policy.ActionHold: // behind what is due already, so that probes rotate
		r.hold(j, state, a, d)
	default:
		to := r.routes.Load().target(d)
		r.conclude(j, &move{
			decision: d, to: to, at: a.at, outages: a.outages,
			response: a.outcome.Response, appVersion: a.outcome.AppVersion, took: a.outcome.Duration,
			state: policy.Advance(state, a.outcome, d, to.topic, a.at),
		})
	}
}

// decide judges an attempt as far as the gate allows, and returns the state that it was
// judged by. An outcome that the record is to blame for is changed into one that says so.
func (r *Relay) decide(j *job, a *attempted) (record.State, policy.Decision) {
	state := j.state
	switch a.ruling {
	case forward.Hold:
		return r.unjudged(state, a)
	case forward.Blame:
		state, a.outcome = policy.Blame(r.schedule, state, a.outcome)
		state.Late += a.late
		return state, policy.Decide(r.schedule, state, a.outcome, a.at, r.uniform())
	}
	state.Late += a.late
	return state, r.judge(j, state, a.outcome, a.at)
}

// account counts an attempt and logs it.
func (c *consumer) account(j *job, a *attempted, d *policy.Decision) {
	held := !d.Spends()
	c.metrics.Attempt(&a.outcome, held)
	c.relay.metrics.Answer(&a.outcome, held)
	c.relay.metrics.Attempt(j.state.Attempt+1, metrics.ResultOf(&a.outcome, held))
	c.logAttempt(j, &a.outcome, d, a.late)
	if a.outcome.Delivered() {
		c.relay.metrics.EndToEnd(a.at.Round(0).Sub(j.origin()))
		return
	}
	failed := j.failed(a.outcome.Error, a.at)
	c.lastError.event.Store(failed)
	c.relay.lastError.event.Store(failed)
}

// failed is the event of a failed attempt. It does not keep the record.
func (j *job) failed(said string, now time.Time) *event {
	return &event{
		at: now, text: j.claim.consumer.relay.hide.Text(record.HeaderError, said),
		topic: j.record.Topic, partition: j.record.Partition, offset: j.record.Offset, attempt: j.state.Attempt + 1,
	}
}

// expire dead-letters a record that may no longer be delivered.
func (r *Relay) expire(j *job, now time.Time) {
	dlt := r.routes.Load().dlt
	j.claim.judged(j, &move{
		decision: policy.Decision{Action: policy.ActionDeadLetter, Reason: policy.ReasonExpired, NotBefore: now},
		to:       dlt, at: now,
		state: policy.Expire(j.state, dlt.topic, now),
	})
	r.send(j)
}

// lateness is how long after its due time a record's attempt starts. A main record
// is due when it was written, which says nothing about the relay: it is not late.
func lateness(j *job, start time.Time) time.Duration {
	if j.state.NotBefore.IsZero() {
		return 0
	}
	return max(0, start.Round(0).Sub(j.state.NotBefore))
}
