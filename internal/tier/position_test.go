package tier

import (
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/retryd/retryd/internal/window"
)

// located is a session that begins where the one before has committed.
func (r *rig) located(t *testing.T) *rig {
	t.Helper()
	next := newStoppedRig(t, minute, windowOf(100))
	next.relay.cluster, next.consumer.source.group = r.relay.cluster, r.consumer.source.group
	next.session.claims = nil
	if _, err := next.session.admit(); err != nil {
		t.Fatal(err)
	}
	next.claim = next.session.claims[0]
	return next
}

// takeUpTo lets the claim read the records from where it is read, to before an offset.
func (r *rig) takeUpTo(end int64) {
	for offset := r.unread; offset < end; offset++ {
		r.claim.take(message(offset, time.Now()), time.Now())
	}
}

// held returns the records that are held, by their offsets.
func (r *rig) held() map[int64]*job {
	held := map[int64]*job{}
	for _, j := range r.window.All() {
		held[j.record.Offset] = j
	}
	return held
}

// finish completes records that are held.
func (r *rig) finish(offsets ...int64) {
	held := r.held()
	for _, offset := range offsets {
		r.claim.mu.Lock()
		r.note(held[offset])
		r.claim.mu.Unlock()
		r.complete(held[offset])
	}
}

func (r *rig) commit(t *testing.T) {
	t.Helper()
	if err := r.session.commit(false); err != nil {
		t.Fatal(err)
	}
}

// requireHeld compares what is held with offsets.
func (r *rig) requireHeld(t *testing.T, want ...int64) {
	t.Helper()
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(r.held()))); diff != "" {
		t.Errorf("held (-want +got):\n%s", diff)
	}
}

func TestNextSessionSkipsWhatWasCompletedOutOfOrder(t *testing.T) {
	r, f, _ := committing(t)
	f.writeAt(t, rigTopic, slices.Repeat([]time.Time{time.Now()}, 10)...)
	first := r.located(t)
	first.takeUpTo(10)
	first.finish(1, 3, 4, 7)
	first.commit(t)
	first.finish(8) // and it is killed before it has committed that

	second := r.located(t)
	second.takeUpTo(3)
	second.requireHeld(t, 0, 2)
	second.finish(0)
	second.commit(t) // of more than it has read

	third := r.located(t)
	third.takeUpTo(10)
	third.requireHeld(t, 2, 5, 6, 8, 9)
	third.finish(2, 5, 6, 8, 9)
	third.commit(t)

	fourth := r.located(t)
	if fourth.unread != 10 || fourth.low() != 10 {
		t.Errorf("read from %d, want 10", fourth.unread)
	}
}

// The cluster has lost records: the offsets below the commit are other records' soon.
func TestNextSessionReadsAnewWhatEndsBelowItsCommit(t *testing.T) {
	r, f, _ := committing(t)
	f.writeAt(t, rigTopic, slices.Repeat([]time.Time{time.Now()}, 6)...)
	r.takeUpTo(10)
	r.finish(slices.Collect(maps.Keys(r.held()))...)
	r.commit(t)

	next := r.located(t)
	if at, told := next.session.assignment.(*membership).resets[0]; next.unread != 0 || at != 0 || !told {
		t.Errorf("read from %d, the client from %d, %v; want the earliest offset, 0", next.unread, at, told)
	}
	next.commit(t)
	committed, err := f.cluster.Committed("g", map[string][]int32{rigTopic: {0}})
	if at := committed[rigTopic][0]; err != nil || at.Offset != 0 {
		t.Errorf("%+v is committed, %v; want offset 0", at, err)
	}
}

func TestCommitIsMadeWhenWhatIsCompletedChangedAndOnlyThen(t *testing.T) {
	r, _, registry := committing(t)
	r.takeUpTo(10)
	step := func(want int, what string) {
		t.Helper()
		r.commit(t)
		if n := commits(t, registry); n != want {
			t.Errorf("%s: %d commits, want %d", what, n, want)
		}
	}
	step(1, "at first")
	step(1, "idle")
	r.takeUpTo(20)
	step(1, "read further")
	r.finish(5)
	step(2, "completed above the watermark")
	step(2, "idle again")
	r.finish(0)
	step(3, "completed at the watermark")
	if err := r.session.commit(true); err != nil {
		t.Fatal(err)
	}
	step(4, "everything is asked for")
}

// commits returns how many commits were acknowledged.
func commits(t *testing.T, registry *prometheus.Registry) int {
	t.Helper()
	labels := map[string]string{"relay": "orders", "tier": "1", "result": "ok"}
	return int(sample(t, registry, "retryd_commits_total", labels).GetCounter().GetValue())
}

func TestCommitThatFailedIsMadeAgain(t *testing.T) {
	r, f, _ := committing(t)
	r.takeUpTo(10)
	r.finish(5)
	if err := f.cluster.Close(); err != nil {
		t.Fatal(err)
	}
	if err := r.session.commit(false); err == nil || len(r.session.acked) > 0 {
		t.Errorf("error %v, %d partitions acknowledged; want an error and none", err, len(r.session.acked))
	}
}

func TestPositionTellsHowFullItIs(t *testing.T) {
	r := newStoppedRig(t, minute, windowOf(1000))
	r.takeUpTo(100)
	r.finish(50)
	whole := r.position(position{})
	if used := r.claim.setUsed; used <= 0 || used > .01 || whole.untold != 0 {
		t.Errorf("one record takes %v of the room, %d offsets are untold", used, whole.untold)
	}
	acked := whole
	acked.Metadata = "as it was acknowledged"
	if again := r.position(acked); again != acked {
		t.Error("the position is encoded again although nothing is completed")
	}
}

func TestPositionCountsWhatItDoesNotTell(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for name, completes := range map[string]func(offset int64) bool{
		"more than there is room for": func(int64) bool { return random.IntN(2) > 0 },
		"more runs than can be read":  func(offset int64) bool { return offset%2 > 0 },
	} {
		t.Run(name, func(t *testing.T) {
			r := newStoppedRig(t, minute, windowOf(1000))
			r.takeUpTo(45_000) // in a fetch that was larger than any
			var completed int64
			for offset := int64(1); offset < r.unread; offset++ {
				if completes(offset) {
					r.completeHeld(offset)
					completed++
				}
			}
			at := r.position(position{})
			meta, err := window.ParseMetadata(at.Metadata, at.Offset)
			told := window.Count(meta.Completed)
			if err != nil || r.claim.setUsed < 1 || told == completed || at.untold != completed-told {
				t.Errorf("%v, used %v; of %d offsets %d are told and %d not", err, r.claim.setUsed, completed, told, at.untold)
			}
		})
	}
}
