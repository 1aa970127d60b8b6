package window

import (
	"testing"

	"pgregory.net/rapid"
)

// naiveOffsets follows the definition: a list of what was fetched, a set of what
// was completed.
type naiveOffsets struct {
	start   int64
	fetched []int64
	done    map[int64]bool
}

func (n *naiveOffsets) low() int64 {
	for _, offset := range n.fetched {
		if !n.done[offset] {
			return offset
		}
	}
	return n.next()
}

func (n *naiveOffsets) next() int64 {
	if len(n.fetched) == 0 {
		return n.start
	}
	return n.fetched[len(n.fetched)-1] + 1
}

func (n *naiveOffsets) length() int {
	low, count := n.low(), 0
	for _, offset := range n.fetched {
		if offset >= low {
			count++
		}
	}
	return count
}

func TestOffsetsFollowTheNaiveModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		start := rapid.SampledFrom([]int64{0, 5, 1 << 61}).Draw(t, "start")
		offsets, model := NewOffsets(start), &naiveOffsets{start: start, done: map[int64]bool{}}
		t.Repeat(map[string]func(*rapid.T){
			"fetch": func(t *rapid.T) {
				for range rapid.IntRange(1, 80).Draw(t, "records") {
					offset := model.next() + rapid.SampledFrom([]int64{0, 0, 0, 1, 7}).Draw(t, "gap")
					if err := offsets.Fetched(offset); err != nil {
						t.Fatal(err)
					}
					model.fetched = append(model.fetched, offset)
				}
			},
			"fetch again": func(t *rapid.T) {
				back := rapid.Int64Range(1, 9).Draw(t, "back")
				if err := offsets.Fetched(model.next() - back); err == nil {
					t.Fatal("a step back was taken")
				}
			},
			"complete": func(t *rapid.T) {
				offset := rapid.Int64Range(start-2, model.next()+2).Draw(t, "offset")
				want := false
				for _, fetched := range model.fetched {
					want = want || fetched == offset && !model.done[offset]
				}
				if got := offsets.Complete(offset); got != want {
					t.Fatalf("completing %d: %v, want %v", offset, got, want)
				}
				if want {
					model.done[offset] = true
				}
			},
			"complete all but one": func(t *rapid.T) {
				left := rapid.IntRange(0, 300).Draw(t, "left")
				for i, offset := range model.fetched {
					if i != left && !model.done[offset] && !offsets.Complete(offset) {
						t.Fatalf("completing %d failed", offset)
					}
					model.done[offset] = model.done[offset] || i != left
				}
			},
			"": func(t *rapid.T) {
				if got, want := offsets.Low(), model.low(); got != want {
					t.Fatalf("low %d, want %d", got, want)
				}
				if got, want := offsets.Len(), model.length(); got != want {
					t.Fatalf("length %d, want %d", got, want)
				}
			},
		})
	})
}

func TestOffsetsNeverPassAnIncompleteOne(t *testing.T) {
	offsets := NewOffsets(10)
	if offsets.Low() != 10 {
		t.Errorf("nothing fetched: low %d", offsets.Low())
	}
	for _, offset := range []int64{12, 13, 20} { // 10, 11 and 14 to 19 never come
		if err := offsets.Fetched(offset); err != nil {
			t.Fatal(err)
		}
	}
	steps := []struct {
		complete int64
		ok       bool
		low      int64
		len      int
	}{
		{20, true, 12, 3},
		{20, false, 12, 3}, // done already
		{15, false, 12, 3}, // in a gap
		{10, false, 12, 3}, // before the first
		{21, false, 12, 3}, // not fetched
		{12, true, 13, 2},
		{12, false, 13, 2},
		{13, true, 21, 0},
	}
	for _, step := range steps {
		if ok := offsets.Complete(step.complete); ok != step.ok || offsets.Low() != step.low || offsets.Len() != step.len {
			t.Errorf("completing %d: %v, low %d, length %d; want %+v", step.complete, ok, offsets.Low(), offsets.Len(), step)
		}
	}
}

func TestOffsetsRefuseAStepBack(t *testing.T) {
	offsets := NewOffsets(5)
	if err := offsets.Fetched(4); err == nil || err.Error() != "fetched offset 4, expected 5 or later" {
		t.Errorf("got %v", err)
	}
	if err := NewOffsets(-1).Fetched(-1); err == nil {
		t.Error("a negative offset was taken")
	}
	if offsets.Len() != 0 || offsets.Low() != 5 {
		t.Errorf("a refused offset counts: length %d, low %d", offsets.Len(), offsets.Low())
	}
}

func TestOffsetsGiveMemoryBack(t *testing.T) {
	offsets := NewOffsets(0)
	for i := range int64(50_000) {
		if err := offsets.Fetched(i); err != nil {
			t.Fatal(err)
		}
	}
	for i := range int64(50_000) {
		if !offsets.Complete(49_999 - i) {
			t.Fatalf("completing %d failed", 49_999-i)
		}
	}
	if offsets.Low() != 50_000 {
		t.Fatalf("low %d", offsets.Low())
	}
	for i := range int64(10_000) {
		_ = offsets.Fetched(50_000 + i)
		offsets.Complete(50_000 + i)
	}
	if len(offsets.ring) > minRing {
		t.Errorf("room for %d with %d held", len(offsets.ring), offsets.Len())
	}
}

func TestOffsetsAllocateNothingWhenTheirSizeIsSteady(t *testing.T) {
	offsets, next := filledOffsets(1000, 1)
	if n := testing.AllocsPerRun(5000, func() {
		_ = offsets.Fetched(next)
		offsets.Complete(next - 1000)
		next++
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkOffsets(b *testing.B) {
	b.Run("dense", func(b *testing.B) { benchmarkOffsets(b, 1) })
	b.Run("every=2", func(b *testing.B) { benchmarkOffsets(b, 2) }) // as transactions leave them
}

func benchmarkOffsets(b *testing.B, every int64) {
	const held = 50_000
	offsets, next := filledOffsets(held, every)
	b.ReportAllocs()
	for b.Loop() {
		_ = offsets.Fetched(next)
		offsets.Complete(next - held/2*every)
		offsets.Complete(next - held*every)
		next += every
	}
}

func filledOffsets(n int, every int64) (offsets *Offsets, next int64) {
	offsets = NewOffsets(0)
	for range n {
		_ = offsets.Fetched(next)
		next += every
	}
	return offsets, next
}
