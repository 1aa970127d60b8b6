package window

import (
	"slices"
	"testing"
)

// A partition written in transactions has a marker behind each.
func TestGapsAloneAreNoCompletedSet(t *testing.T) {
	offsets, _ := filledOffsets(100, 2)
	if runs := offsets.Completed(); len(runs) > 0 {
		t.Errorf("completed %v with nothing completed", runs)
	}
	offsets.Complete(4)
	if got, want := offsets.Completed(), []Run{{1, 2}, {3, 5}}; !slices.Equal(got, want) {
		t.Errorf("completed %v, want %v", got, want)
	}
}

func TestMarkStaysWhileNothingIsCompleted(t *testing.T) {
	offsets, next := filledOffsets(100, 1)
	before := offsets.Mark()
	_, _ = offsets.Fetched(next)
	offsets.Complete(next + 1) // which was not fetched
	if offsets.Mark() != before {
		t.Error("the mark changed, and nothing was completed")
	}
	offsets.Complete(50)
	if offsets.Mark() == before {
		t.Error("the mark did not change although an offset was completed")
	}
}

func TestRestoredBelowTheStartIsGone(t *testing.T) {
	offsets := NewOffsets(10)
	offsets.Restore([]Run{{2, 4}, {8, 12}, {20, 30}})
	if got, want := offsets.Completed(), []Run{{10, 12}, {20, 30}}; !slices.Equal(got, want) || offsets.Low() != 10 {
		t.Errorf("completed %v from %d, want %v from 10", got, offsets.Low(), want)
	}
}

func TestClipKeepsWhatLiesWithin(t *testing.T) {
	runs := []Run{{2, 4}, {8, 12}, {20, 30}}
	for _, tt := range []struct {
		from, to int64
		want     []Run
	}{{0, 50, runs}, {3, 9, []Run{{3, 4}, {8, 9}}}, {12, 20, nil}, {9, 5, nil}} {
		if got := Clip(runs, tt.from, tt.to); !slices.Equal(got, tt.want) {
			t.Errorf("from %d to %d: %v, want %v", tt.from, tt.to, got, tt.want)
		}
	}
}
