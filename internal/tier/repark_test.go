package tier

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/IBM/sarama"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/retryd/retryd/internal/kafka"
	"github.com/retryd/retryd/internal/metrics"
	"github.com/retryd/retryd/internal/policy"
)

// parking is a claim of tier 1 of a relay with tiers of 5 s, 30 s and 5 min and a park
// topic of a day, which does not run: the test is in its place. Writes to the park topic
// get the errors.
func parking(t *testing.T, errs ...error) (r *rig, park *fakeWriter) {
	t.Helper()
	r = newStoppedRig(t, source{topic: rigTopic, label: "1", place: 1, step: 1, delay: 5 * time.Second}, windowOf(100))
	r.relay.schedule.Steps = []policy.Step{{Delay: 5 * time.Second}, {Delay: 30 * time.Second}, {Delay: 5 * time.Minute}}
	r.relay.schedule.Park = []time.Duration{24 * time.Hour}
	r.relay.rests = r.relay.schedule.Rests()
	routed(r, nil, nil)
	park = &fakeWriter{errs: errs}
	rt := *r.relay.routes.Load()
	rt.tiers = append(rt.tiers, &target{writer: park, topic: "orders.park.24h", label: "park-24h", partitions: 1})
	r.relay.routes.Store(&rt)
	return r, park
}

// holds reads one record that is due after a wait, and is in place of run then.
func (r *rig) holds(wait time.Duration, headers ...sarama.RecordHeader) *job {
	r.claim.take(message(r.next, time.Now().Add(wait), headers...), time.Now())
	r.next++
	_, j, _ := r.window.Top()
	return j
}

// reparked moves a record as run does, if it is to be moved.
func (r *rig) reparked(j *job, pressing policy.Cause) bool {
	m := r.relay.repark(j, time.Now(), pressing)
	if m == nil {
		return false
	}
	r.window.Pop()
	r.note(j)
	r.judged(j, m)
	r.relay.send(j)
	return true
}

const month = 30 * 24 * time.Hour

func TestRecordThatWaitsForTooLongIsMovedToTheTailOfAnotherTopic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, park := parking(t)
		registry := prometheus.NewRegistry()
		r.consumer.metrics = metrics.New(registry, "test").Relay("orders", 3).Tier("1")
		trace := sarama.RecordHeader{Key: []byte("x-trace"), Value: []byte("main@2026-01-02T13:37:04.356Z>orders.retry.1@2026-01-02T13:37:04.361Z")}
		j := r.holds(month, trace)
		due := j.state.NotBefore
		time.Sleep(time.Minute - time.Millisecond)
		if r.reparked(j, policy.CauseNone) {
			t.Fatal("was moved before its time")
		}
		time.Sleep(time.Millisecond)
		if !r.reparked(j, policy.CauseNone) {
			t.Fatal("was not moved")
		}
		written := park.written()[0]
		want := map[string]string{
			"x-attempt": "1", "x-not-before": millis(due), "x-late-ms": "0", "x-limited": "", "x-class": "",
			"x-trace": string(trace.Value) + "~orders.park.24h@" + time.Now().UTC().Format("2006-01-02T15:04:05.000Z"),
		}
		got := map[string]string{}
		for name := range want {
			got[name] = header(written, name)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("headers (-want +got):\n%s", diff)
		}
		if !written.Timestamp.Equal(time.Now()) {
			t.Errorf("timestamp %v, want the move's", written.Timestamp)
		}
		if low := r.low(); low != 1 || r.moving != 0 {
			t.Errorf("watermark %d with %d moving, want 1 and 0", low, r.moving)
		}
		labels := map[string]string{"relay": "orders", "tier": "1"}
		if n := sample(t, registry, "retryd_reparks_total", labels).GetCounter().GetValue(); n != 1 {
			t.Errorf("%v re-parks are counted, want 1", n)
		}
		if n := sample(t, registry, "retryd_escalations_total", labels).GetCounter().GetValue(); n != 0 {
			t.Errorf("%v escalations are counted, want none", n)
		}
	})
}

func TestReparkIsOneLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		observed, logs := observed(t)
		r, _ := parking(t)
		r.relay.log = observed.relay.log
		if !r.reparked(r.holds(month), policy.CauseOffsets) {
			t.Fatal("was not moved")
		}
		requireMessages(t, logs, "info re-park")
		fields := logs.All()[0].ContextMap()
		want := map[string]any{"tier": "1", "topic": rigTopic, "attempt": int64(2), "next": "orders.park.24h", "reason": "offsets", "wait": month}
		for name, value := range want {
			if fields[name] != value {
				t.Errorf("%s is %v, want %v", name, fields[name], value)
			}
		}
	})
}

func TestRecordThatDoesNotFitStaysWhereItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, park := parking(t, kafka.ErrTooLarge)
		registry := prometheus.NewRegistry()
		r.relay.metrics = metrics.New(registry, "test").Relay("orders", 3)
		j := r.holds(month)
		due := j.due
		r.reparked(j, policy.CauseOffsets)
		_, held, _ := r.window.Top()
		if held != j || j.due != due || j.move != nil || r.moving != 0 {
			t.Fatalf("held %v, due %d, move %v, %d moving; want it held as before", held == j, j.due, j.move, r.moving)
		}
		time.Sleep(time.Hour)
		if r.reparked(j, policy.CauseOffsets) {
			t.Error("is tried again, although it will never fit")
		}
		if low := r.low(); low != 0 || len(park.written()) != 1 {
			t.Errorf("watermark %d after %d writes, want 0 after one", low, len(park.written()))
		}
		if n := sample(t, registry, "retryd_produce_errors_total", map[string]string{"target": "park-24h"}).GetCounter().GetValue(); n != 1 {
			t.Errorf("%v errors are counted, want 1", n)
		}
	})
}

func TestReparkThatIsNotAcknowledgedIsTriedAgainLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, park := parking(t, errors.New("broker is gone"))
		j := r.holds(month)
		r.reparked(j, policy.CauseOffsets)
		time.Sleep(reparkPause - time.Millisecond)
		if r.reparked(j, policy.CauseOffsets) {
			t.Fatal("is written again at once")
		}
		time.Sleep(time.Millisecond)
		if !r.reparked(j, policy.CauseNone) || len(park.written()) != 2 || r.low() != 1 {
			t.Errorf("watermark %d after %d writes, want 1 after 2", r.low(), len(park.written()))
		}
	})
}

func TestMainRecordIsNeverMoved(t *testing.T) {
	r, park := parking(t)
	j := r.holds(month)
	r.consumer.source = source{topic: "orders", label: metrics.TierMain}
	if r.reparked(j, policy.CauseOffsets) || len(park.written()) > 0 {
		t.Error("is moved")
	}
}

func TestRecordWithAMoveIsNotMovedBesides(t *testing.T) {
	r, _ := parking(t)
	j := r.holds(month)
	j.move = &move{}
	if r.relay.repark(j, time.Now(), policy.CauseOffsets) != nil {
		t.Error("is moved")
	}
}

func TestRecordOfARetiredTierIsSavedFromItsRetention(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := parking(t)
		r.consumer.source = source{topic: "orders.retry.9", label: "9", step: 9, retired: true}
		j := r.holds(0)
		time.Sleep(leastTierRetention/2 - time.Millisecond)
		if r.relay.repark(j, time.Now(), policy.CauseNone) != nil {
			t.Fatal("is moved before half of the time is over for which tiers keep it")
		}
		time.Sleep(time.Millisecond)
		m := r.relay.repark(j, time.Now(), policy.CauseNone)
		if m == nil || m.to.topic != "orders.retry.1" || m.decision.Cause != policy.CauseRetention {
			t.Errorf("move %+v, want one to the shortest delay", m)
		}
	})
}
