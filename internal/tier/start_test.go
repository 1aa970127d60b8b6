package tier

import (
	"errors"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/retryd/retryd/internal/kafka"
	"github.com/retryd/retryd/internal/metrics"
	"github.com/retryd/retryd/internal/window"
)

func TestStartAt(t *testing.T) {
	begins := map[int32]int64{0: 5, 1: 0}
	ends := map[int32]int64{0: 12, 1: 3}
	empty := map[int32]int64{0: 7, 1: 0}
	tests := []struct {
		name         string
		start        string
		begins, ends map[int32]int64
		want         map[int32]int64
		err          error
	}{
		{name: "earliest", start: "earliest", begins: begins, ends: ends, want: begins},
		{name: "latest", start: "latest", begins: begins, ends: ends, want: ends},
		{name: "a time", start: "2026-01-02T03:04:05Z", begins: begins, ends: ends, want: map[int32]int64{0: 9, 1: 3}},
		{name: "no word, empty topic", begins: empty, ends: empty, want: empty},
		{name: "no word, records", begins: begins, ends: ends, err: errStartNeeded},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := startAt(tt.start, tt.begins, tt.ends, func(millis int64) (map[int32]int64, error) {
				if millis != 1767323045000 {
					t.Errorf("asked for offsets at %d", millis)
				}
				return map[int32]int64{0: 9, 1: -1}, nil // nothing that young in partition 1
			})
			if !errors.Is(err, tt.err) {
				t.Fatalf("error %v, want %v", err, tt.err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("offsets (-want +got):\n%s", diff)
			}
		})
	}
}

func TestStartOfAPartition(t *testing.T) {
	ours, other := [16]byte{1}, [16]byte{2}
	above := []window.Run{{From: 9, To: 12}}
	meta := func(id [16]byte, offset int64) string { return encoded(id, offset, above...) }
	tests := []struct {
		name      string
		committed kafka.Committed
		has       bool
		begin     int64
		end       int64
		want      int64
		completed []window.Run
		ignored   string
	}{
		{name: "no commit", begin: 3, want: 3},
		{name: "commit of this topic", committed: kafka.Committed{Offset: 7, Metadata: meta(ours, 7)}, has: true, end: 12, want: 7, completed: above},
		{name: "commit of a topic that was made anew", committed: kafka.Committed{Offset: 7, Metadata: meta(other, 7)}, has: true, begin: 2, end: 12, want: 2, ignored: "other_topic"},
		{name: "commit of another tool", committed: kafka.Committed{Offset: 7}, has: true, end: 12, want: 7},
		{name: "metadata of another offset", committed: kafka.Committed{Offset: 7, Metadata: meta(ours, 6)}, has: true, end: 12, want: 7, ignored: "corrupt"},
		{name: "a set that makes no sense", committed: kafka.Committed{Offset: 7, Metadata: meta(ours, 7) + "x"}, has: true, end: 12, want: 7, ignored: "corrupt"},
		{name: "a later version", committed: kafka.Committed{Offset: 7, Metadata: "2" + meta(ours, 7)[1:]}, has: true, end: 12, want: 7, ignored: "corrupt"},
		{name: "garbage", committed: kafka.Committed{Offset: 7, Metadata: "x"}, has: true, end: 12, want: 7, ignored: "corrupt"},
		{name: "deleted by retention", committed: kafka.Committed{Offset: 7, Metadata: meta(ours, 7)}, has: true, begin: 10, end: 12, want: 10, completed: above},
		{name: "lost by a broker", committed: kafka.Committed{Offset: 7, Metadata: meta(ours, 7)}, has: true, end: 10, want: 7, completed: []window.Run{{From: 9, To: 10}}, ignored: "beyond_end"},
		{name: "the commit too", committed: kafka.Committed{Offset: 7, Metadata: meta(ours, 7)}, has: true, begin: 2, end: 5, want: 2, ignored: "beyond_end"},
		{name: "the commit too, which told of nothing complete", committed: kafka.Committed{Offset: 7, Metadata: encoded(ours, 7)}, has: true, begin: 2, end: 6, want: 2, ignored: "beyond_end"},
		{name: "the commit of another tool too", committed: kafka.Committed{Offset: 7}, has: true, end: 0, want: 0, ignored: "beyond_end"},
		{name: "all is read", committed: kafka.Committed{Offset: 7, Metadata: encoded(ours, 7)}, has: true, begin: 2, end: 7, want: 7},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			registry := prometheus.NewRegistry()
			r := &Relay{log: zap.NewNop(), metrics: metrics.New(registry, "test").Relay("orders", 0)}
			s := &session{consumer: r.newConsumer(source{topic: "orders", label: metrics.TierMain}), topicID: ours}
			got, completed := s.startOf(0, tt.committed, tt.has, extent{tt.begin, max(tt.end, tt.begin)}, &flaws{})
			if got != tt.want || !slices.Equal(completed, tt.completed) {
				t.Errorf("starts at %d with %v completed, want %d with %v", got, completed, tt.want, tt.completed)
			}
			if got := ignoredMetadata(t, registry); got != tt.ignored {
				t.Errorf("counted metadata as %q, want %q", got, tt.ignored)
			}
		})
	}
}

func TestWhatWasCompleteIsNotToldAsDeletedUnread(t *testing.T) {
	r, _ := observed(t)
	for begin, want := range map[int64]flaws{
		7:   {},
		8:   {deleted: []int32{0}, offsets: 1},
		100: {deleted: []int32{0}, offsets: 1},
		102: {deleted: []int32{0}, offsets: 3},
	} {
		var f flaws
		r.session.startOf(0, kafka.Committed{Offset: 7, Metadata: encoded([16]byte{}, 7, window.Run{From: 8, To: 100})}, true, extent{begin, 200}, &f)
		if !reflect.DeepEqual(f, want) {
			t.Errorf("deleted below %d: %+v, want %+v", begin, f, want)
		}
	}
}

func TestWhatIsWrongWithCommitsIsOneLineForATopic(t *testing.T) {
	ours, other := [16]byte{1}, [16]byte{2}
	r, logs := observed(t)
	s := r.session
	s.topicID = ours
	var flawed flaws
	for p := range int32(50) {
		id, offset := ours, int64(p)
		if p%2 == 0 {
			id, offset = other, 7
		}
		s.startOf(p, kafka.Committed{Offset: offset, Metadata: encoded(id, offset)}, true, extent{100, 200}, &flawed)
		s.startOf(p, kafka.Committed{Offset: 7, Metadata: "x"}, true, extent{0, 200}, &flawed)
		s.startOf(p, kafka.Committed{Offset: 7, Metadata: encoded(ours, 7, window.Run{From: 9, To: 12})}, true, extent{0, 10}, &flawed)
		s.startOf(p, kafka.Committed{Offset: 7, Metadata: encoded(ours, 7)}, true, extent{0, 6}, &flawed)
	}
	r.consumer.tellFlaws(flawed)
	if n := logs.Len(); n != 5 {
		t.Fatalf("%d lines, want 5: %v", n, lines(logs))
	}
	deleted := logs.All()[4].ContextMap()
	if deleted["offsets"] != int64(25*100-(1+49)*25/2) || len(deleted["partitions"].([]any)) != 25 {
		t.Errorf("%v, want 25 partitions and all their offsets", deleted)
	}
	r.consumer.tellFlaws(flaws{})
	if n := logs.Len(); n != 5 {
		t.Errorf("%d lines where nothing is wrong", n-5)
	}
}

// encoded is the metadata of a commit.
func encoded(id [16]byte, offset int64, completed ...window.Run) string {
	text, _, _ := window.Metadata{TopicID: id, Completed: completed}.Encode(offset)
	return text
}

// ignoredMetadata returns the reason for which metadata was counted as ignored.
func ignoredMetadata(t *testing.T, g prometheus.Gatherer) string {
	t.Helper()
	families, err := g.Gather()
	if err != nil {
		t.Fatal(err)
	}
	reason := ""
	for _, f := range families {
		if f.GetName() != "retryd_metadata_ignored_total" {
			continue
		}
		for _, m := range f.GetMetric() {
			if m.GetCounter().GetValue() == 0 {
				continue
			}
			for _, l := range m.GetLabel() {
				if l.GetName() == "reason" {
					reason = l.GetValue()
				}
			}
		}
	}
	return reason
}
