package tier

import (
	"maps"
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
		r.claim.take(message(offset, time.Now()))
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
	whole := r.position(position{}, window.MaxMetadata)
	if used := r.claim.setUsed; used <= 0 || used > .01 {
		t.Errorf("one record takes %v of the room", used)
	}
	acked := whole
	acked.Metadata = "as it was acknowledged"
	if again := r.position(acked, window.MaxMetadata); again != acked {
		t.Error("the position is encoded again although nothing is completed")
	}
	r.finish(10, 20, 30)
	cut := r.position(whole, 40)
	if whole.untold != 0 || cut.untold != 2 {
		t.Errorf("%d and %d offsets are not told, want 0 and 2", whole.untold, cut.untold)
	}
	meta, err := window.ParseMetadata(cut.Metadata, cut.Offset)
	if used := r.claim.setUsed; err != nil || used < 1 || !slices.Equal(meta.Completed, []window.Run{{From: 10, To: 11}, {From: 20, To: 21}}) {
		t.Errorf("%v, used %v, completed %v; want the lowest, and more than 1", err, used, meta.Completed)
	}
}

// A session's partitions share the room of a commit, also with one that was added.
func TestPositionIsEncodedAnewForAnotherLimit(t *testing.T) {
	r := newStoppedRig(t, minute, windowOf(1000))
	r.takeUpTo(100)
	r.finish(10, 20, 30)
	whole := r.position(position{}, window.MaxMetadata)
	cut := r.position(whole, 40)
	if len(cut.Metadata) > 40 || cut.untold == 0 {
		t.Errorf("%d characters where 40 are allowed, %d offsets untold", len(cut.Metadata), cut.untold)
	}
	if again := r.position(cut, window.MaxMetadata); again != whole {
		t.Errorf("%+v with more room again, want %+v", again, whole)
	}
}

// Kafka refuses a commit of more than a MiB.
func TestCommitOfManyPartitionsIsBounded(t *testing.T) {
	for claims, want := range map[int]int{1: 4096, 100: 4096, 1000: 786} {
		s := &session{claims: map[int32]*claim{}}
		for p := range int32(claims) {
			s.claims[p] = nil
		}
		if got := s.metadataLimit(); got != want {
			t.Errorf("%d partitions: %d characters each, want %d", claims, got, want)
		}
	}
}
