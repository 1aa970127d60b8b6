package tier

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/retryd/retryd/internal/forward"
	"github.com/retryd/retryd/internal/metrics"
	"github.com/retryd/retryd/internal/policy"
)

// failed is what a worker does with a record for which the endpoint is unavailable.
func (r *rig) failed(j *job) {
	r.relay.act(j, &attempted{outcome: policy.Outcome{Verdict: policy.VerdictOf(policy.ClassTransient)}, ruling: forward.Judge, outages: r.relay.gate.Outages(), at: time.Now()})
}

// repeating is a claim of the last of three tiers, which repeats up to so many records of
// a partition. Everything fails.
func repeating(t *testing.T, most int) (r *rig, last, dlt *fakeWriter) {
	t.Helper()
	r = newStoppedRig(t, source{topic: "orders.retry.3", label: "3", place: 3, step: 3}, windowOf(100))
	last, dlt = &fakeWriter{}, &fakeWriter{}
	rt := &routes{dlt: &target{writer: dlt, topic: "orders.DLT", partitions: 1, dlt: true}}
	for range 3 {
		rt.tiers = append(rt.tiers, &target{writer: last, topic: "orders.retry.3", partitions: 1})
	}
	r.relay.routes.Store(rt)
	r.relay.config.Endpoint.Breaker.Enabled = false // what fails for good is final at once
	r.relay.schedule.RepeatLast, r.relay.schedule.MaxUnfinished = true, most
	r.relay.rests = r.relay.schedule.Rests()
	r.start()
	return r, last, dlt
}

func TestRecordsRepeatUpToTheirBound(t *testing.T) {
	r, last, dlt := repeating(t, 2)
	defer r.stop()
	registry := prometheus.NewRegistry()
	r.relay.metrics = metrics.New(registry, "test").Relay("orders", 3)
	r.consumer.metrics = r.relay.metrics.Tier("3")
	a, b, c := r.readNow(t), r.readNow(t), r.readNow(t)
	if share := r.repeating(); share != 1.5 {
		t.Errorf("%v of the bound, want 1.5", share)
	}
	r.failed(a) // one of three
	if len(last.written()) != 0 || len(dlt.written()) != 1 || header(dlt.written()[0], "x-reason") != "exhausted" || header(dlt.written()[0], "x-attempt") != "4" {
		t.Fatalf("dead letters %v, want one with x-reason exhausted", dlt.written())
	}
	r.failed(b) // one of two
	r.failed(c) // the other, beside the one that is at the tail now
	if len(last.written()) != 2 || len(dlt.written()) != 1 {
		t.Fatalf("%d records repeat, %d are dead, want 2 and 1", len(last.written()), len(dlt.written()))
	}
	m := last.written()[1]
	if header(m, "x-attempt") != "3" || !strings.HasSuffix(strings.Split(header(m, "x-trace"), "@")[1], ">orders.retry.3") {
		t.Errorf("x-attempt %s, x-trace %s; want attempt 3 made again", header(m, "x-attempt"), header(m, "x-trace"))
	}
	if n := sample(t, registry, "retryd_repeats_total", nil).GetCounter().GetValue(); n != 2 {
		t.Errorf("%v repeats, want 2", n)
	}
	if n := sample(t, registry, "retryd_escalations_total", map[string]string{"tier": "3"}).GetCounter().GetValue(); n != 0 {
		t.Errorf("%v escalations, want none: there is no later tier", n)
	}
}

// TestUnfinishedAreCountedWithoutAsking: what is read and not complete, and what is
// behind it up to the end that was measured, or that own writes have moved.
func TestUnfinishedAreCountedWithoutAsking(t *testing.T) {
	r, _, _ := repeating(t, 100)
	defer r.stop()
	count := func(what string, want int64) {
		t.Helper()
		r.mu.Lock()
		defer r.mu.Unlock()
		if n := r.unfinished(); n != want {
			t.Errorf("%s: %d unfinished, want %d", what, n, want)
		}
	}
	count("nothing is known", 0)
	j := r.readNow(t)
	count("one that is in flight", 1)
	r.mu.Lock()
	r.measured.end = 11
	r.mu.Unlock()
	count("ten more that were measured", 11)
	elsewhere, here := &move{to: &target{topic: "orders.retry.2"}}, &move{to: &target{topic: "orders.retry.3"}}
	r.wrote(elsewhere, 99)
	count("one that was written elsewhere", 11)
	r.wrote(here, 14)
	count("one that was written to the tail, behind three of others", 15)
	r.wrote(here, 3)
	count("an acknowledgement that comes late", 15)
	r.complete(j)
	count("one that is done", 14)
}

func TestBoundCountsWhereTheLastTierIs(t *testing.T) {
	repeat := policy.Decision{Action: policy.ActionForward, Step: 3, Repeat: true}
	for place, want := range map[int]policy.Action{3: policy.ActionDeadLetter, 1: policy.ActionForward, 4: policy.ActionForward, 0: policy.ActionForward} {
		r := newStoppedRig(t, source{topic: "orders.retry.3", label: "3", place: place, step: 3}, windowOf(100))
		r.relay.schedule.RepeatLast, r.relay.schedule.MaxUnfinished = true, 1
		r.end = 2
		if share := r.repeating(); share != map[bool]float64{true: 2}[place == 3] {
			t.Errorf("place %d: %v of the bound", place, share)
		}
		if d := r.relay.bound(&job{claim: r.claim}, repeat, time.Now()); d.Action != want {
			t.Errorf("place %d: %+v, want action %d", place, d, want)
		}
	}
}

// TestNoMoreEndThanMust: of those that fail at one time, as many as are too many.
func TestNoMoreEndThanMust(t *testing.T) {
	r, last, _ := repeating(t, 2)
	defer r.stop()
	slow := &slowWriter{}
	rt := *r.relay.routes.Load()
	rt.dlt = &target{writer: slow, topic: "orders.DLT", partitions: 1, dlt: true}
	r.relay.routes.Store(&rt)
	a, b, c := r.readNow(t), r.readNow(t), r.readNow(t)
	r.failed(a) // dead, but not acknowledged
	r.failed(b)
	r.failed(c)
	if len(last.written()) != 2 || r.excess != 1 {
		t.Errorf("%d records repeat, %d end; want 2 and 1", len(last.written()), r.excess)
	}
	slow.done(0, nil)
	if r.excess != 0 {
		t.Errorf("%d records end, want none any more", r.excess)
	}
}
