package tier

import (
	"context"
	"fmt"
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

// attempt posts the record once and acts on the decision.
func (r *Relay) attempt(ctx context.Context, j *job, pass forward.Pass, start time.Time) {
	consumer := j.claim.consumer
	late := lateness(j, start)
	if !j.state.NotBefore.IsZero() {
		consumer.metrics.Late(late)
	}
	r.metrics.InFlight(1)
	outcome := r.client.Attempt(ctx, forward.Request{Record: &j.record, State: &j.state})
	r.metrics.InFlight(-1)
	if ctx.Err() != nil && !outcome.Delivered() { // cut off by retryd itself: nothing to judge
		r.gate.Cancel(pass)
		j.claim.giveBack(j, start)
		return
	}
	if !outcome.Delivered() {
		r.noteStop(outcome)
	}
	ruling, again := r.gate.Leave(pass, forward.Call{
		Record: j.state.EventID, First: j.state.Attempt == 0, Refusals: &j.refusals,
	}, &outcome)
	if !outcome.Delivered() || r.reach.unanswered.Load() > 0 {
		r.noteAnswer(outcome)
	}
	r.act(j, outcome, ruling, late, again, pass.Outages)
}

// act does what follows from an attempt. again is for how long a record that is held
// waits at least, outages those that there were when it began.
func (r *Relay) act(j *job, outcome policy.Outcome, ruling forward.Ruling, late, again time.Duration, outages uint64) {
	now := time.Now()
	if outcome.Delivered() {
		var done policy.Decision
		j.claim.consumer.attempted(j, &outcome, &done, now)
		j.claim.consumer.logAttempt(j, &outcome, &done, late)
		j.claim.complete(j)
		return
	}
	state, d := r.decide(j, &outcome, ruling, late, now)
	j.claim.consumer.attempted(j, &outcome, &d, now)
	j.claim.consumer.logAttempt(j, &outcome, &d, late)
	switch d.Action {
	case policy.ActionHold: // behind what is due already, so that probes rotate
		r.hold(j, state, outcome, d, now, again)
	default:
		to := r.routes.Load().target(d)
		r.conclude(j, &move{
			decision: d, to: to, at: now, outages: outages,
			response: outcome.Response, appVersion: outcome.AppVersion, took: outcome.Duration,
			state: policy.Advance(state, outcome, d, to.topic, now),
		})
	}
}

// decide judges an attempt as far as the gate allows, and returns the state that it was
// judged by. An outcome that the record is to blame for is changed into one that says so.
func (r *Relay) decide(j *job, o *policy.Outcome, ruling forward.Ruling, late time.Duration, now time.Time) (record.State, policy.Decision) {
	state := j.state
	switch ruling {
	case forward.Hold:
		return r.unjudged(state, *o, late, now)
	case forward.Blame:
		state, *o = policy.Blame(r.schedule, state, *o)
		state.Late += late
		return state, policy.Decide(r.schedule, state, *o, now, r.uniform())
	}
	state.Late += late
	return state, r.judge(j, state, *o, now)
}

// attempted counts an attempt.
func (c *consumer) attempted(j *job, o *policy.Outcome, d *policy.Decision, now time.Time) {
	held := !d.Spends()
	c.metrics.Attempt(*o, held)
	c.relay.metrics.Answer(*o, held)
	c.relay.metrics.Attempt(j.state.Attempt+1, metrics.ResultOf(*o, held))
	if o.Delivered() {
		c.relay.metrics.EndToEnd(now.Round(0).Sub(j.origin()))
		return
	}
	failed := j.failed(o.Error, now)
	c.lastError.event.Store(failed)
	c.relay.lastError.event.Store(failed)
}

// failed is the event of a failed attempt. It does not keep the record.
func (j *job) failed(said string, now time.Time) *event {
	topic, partition, offset, attempt := j.record.Topic, j.record.Partition, j.record.Offset, j.state.Attempt+1
	why := j.claim.consumer.relay.hide.Text(record.HeaderError, said)
	return &event{now, func() string {
		return fmt.Sprintf("%s/%d offset %d, attempt %d: %s", topic, partition, offset, attempt, why)
	}}
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
