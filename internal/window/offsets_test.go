package window

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// naiveOffsets follows the definition: a list of what was fetched, a set of what
// was completed, by this owner or an earlier one.
type naiveOffsets struct {
	start   int64
	fetched []int64
	done    map[int64]bool
	reach   int64          // where earlier owners had come to
	open    map[int64]bool // what they had fetched
}

// gap reports whether an offset never comes, as an earlier owner saw.
func (n *naiveOffsets) gap(offset int64) bool {
	return offset < n.reach && !n.open[offset] && !n.done[offset]
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

func (n *naiveOffsets) pending() int {
	count := 0
	for _, offset := range n.fetched {
		if !n.done[offset] {
			count++
		}
	}
	return count
}

// check compares what is told as completed: each offset that was fetched or restored,
// and nothing beyond.
func (n *naiveOffsets) check(t *rapid.T, completed []Run) {
	told := map[int64]bool{}
	last := n.low()
	for _, run := range completed {
		if run.From < last || run.From >= run.To {
			t.Fatalf("run %v after %d", run, last)
		}
		last = run.To + 1
		for offset := run.From; offset < run.To; offset++ {
			told[offset] = true
		}
	}
	for _, offset := range n.fetched {
		if offset >= n.low() && told[offset] != n.done[offset] {
			t.Fatalf("offset %d told as completed: %v, want %v", offset, told[offset], n.done[offset])
		}
	}
	for offset, done := range n.done {
		if done && offset >= n.low() && !told[offset] {
			t.Fatalf("completed offset %d is not told", offset)
		}
	}
	for offset := range told {
		if offset >= n.next() && !n.done[offset] && !n.gap(offset) {
			t.Fatalf("offset %d told as completed, and it was never fetched", offset)
		}
	}
}

func TestOffsetsFollowTheNaiveModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		start := rapid.SampledFrom([]int64{0, 5, 4000, 1 << 61}).Draw(t, "start")
		offsets, model := NewOffsets(start), &naiveOffsets{start: start, done: map[int64]bool{}, open: map[int64]bool{}}
		offsets.Restore(drawRestored(t, model))
		t.Repeat(map[string]func(*rapid.T){
			"fetch": func(t *rapid.T) {
				for range rapid.IntRange(1, 80).Draw(t, "records") {
					offset := model.next() + rapid.SampledFrom([]int64{0, 0, 0, 1, 7, 3000}).Draw(t, "gap")
					for model.gap(offset) {
						offset++
					}
					for gone := model.next(); gone < offset; gone++ {
						delete(model.done, gone)
						delete(model.open, gone)
					}
					done, err := offsets.Fetched(offset)
					if err != nil || done != model.done[offset] {
						t.Fatalf("offset %d: %v, %v, want %v", offset, done, err, model.done[offset])
					}
					model.fetched = append(model.fetched, offset)
				}
			},
			"fetch again": func(t *rapid.T) {
				back := rapid.Int64Range(1, 9).Draw(t, "back")
				if _, err := offsets.Fetched(model.next() - back); err == nil {
					t.Fatal("a step back was taken")
				}
			},
			"complete": func(t *rapid.T) {
				offset := rapid.Int64Range(start-2, model.next()+2).Draw(t, "offset")
				want := slices.Contains(model.fetched, offset) && !model.done[offset]
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
			"lose the owner": func(t *rapid.T) {
				next := NewOffsets(offsets.Low())
				next.Restore(offsets.Completed())
				for _, offset := range model.fetched {
					model.open[offset] = true
				}
				model.reach = max(model.reach, model.next())
				model.start, model.fetched = offsets.Low(), nil
				offsets = next
			},
			"": func(t *rapid.T) {
				if got, want := offsets.Low(), model.low(); got != want {
					t.Fatalf("low %d, want %d", got, want)
				}
				if got, want := offsets.Pending(), model.pending(); got != want {
					t.Fatalf("pending %d, want %d", got, want)
				}
				if got, want := offsets.Span(), model.next()-model.low(); got != want {
					t.Fatalf("span %d, want %d", got, want)
				}
				model.check(t, offsets.Completed())
			},
		})
	})
}

// drawRestored makes up what an earlier owner completed.
func drawRestored(t *rapid.T, model *naiveOffsets) []Run {
	var runs []Run
	at := model.start
	for range rapid.IntRange(0, 5).Draw(t, "runs") {
		from := at + rapid.Int64Range(1, 20).Draw(t, "skip")
		at = from + rapid.Int64Range(1, 300).Draw(t, "length")
		runs = append(runs, Run{from, at})
		for offset := from; offset < at; offset++ {
			model.done[offset] = true
		}
	}
	return runs
}

func TestOffsetsNeverPassAnIncompleteOne(t *testing.T) {
	offsets := NewOffsets(10)
	if offsets.Low() != 10 {
		t.Errorf("nothing fetched: low %d", offsets.Low())
	}
	for _, offset := range []int64{12, 13, 20} { // 10, 11 and 14 to 19 never come
		if _, err := offsets.Fetched(offset); err != nil {
			t.Fatal(err)
		}
	}
	steps := []struct {
		complete int64
		ok       bool
		low      int64
		pending  int
	}{
		{20, true, 12, 2},
		{20, false, 12, 2}, // done already
		{15, false, 12, 2}, // in a gap
		{10, false, 12, 2}, // before the first
		{21, false, 12, 2}, // not fetched
		{12, true, 13, 1},
		{12, false, 13, 1},
		{13, true, 21, 0},
	}
	for _, step := range steps {
		if ok := offsets.Complete(step.complete); ok != step.ok || offsets.Low() != step.low || offsets.Pending() != step.pending {
			t.Errorf("completing %d: %v, low %d, pending %d; want %+v", step.complete, ok, offsets.Low(), offsets.Pending(), step)
		}
	}
}

func TestOffsetsRefuseAStepBack(t *testing.T) {
	offsets := NewOffsets(5)
	if _, err := offsets.Fetched(4); err == nil || err.Error() != "fetched offset 4, expected 5 or later" {
		t.Errorf("got %v", err)
	}
	if _, err := NewOffsets(-1).Fetched(-1); err == nil {
		t.Error("a negative offset was taken")
	}
	if offsets.Pending() != 0 || offsets.Low() != 5 {
		t.Errorf("a refused offset counts: pending %d, low %d", offsets.Pending(), offsets.Low())
	}
}

func TestOffsetsCostWhatIsPending(t *testing.T) {
	const n = 1_000_000
	offsets := NewOffsets(0)
	for i := range int64(n) {
		offset := i
		if i > 0 {
			offset += 1e9 // a jump costs nothing
		}
		if _, err := offsets.Fetched(offset); err != nil {
			t.Fatal(err)
		}
	}
	for i := range int64(n - 1) {
		if !offsets.Complete(1e9 + n - 1 - i) {
			t.Fatalf("completing the one %d before the last failed", i)
		}
	}
	if offsets.Low() != 0 || offsets.Pending() != 1 || len(offsets.pages) != 1 {
		t.Fatalf("low %d, %d pending, %d pages; want 0, 1, 1", offsets.Low(), offsets.Pending(), len(offsets.pages))
	}
	if got, want := offsets.Completed(), []Run{{1, 1e9 + n}}; !slices.Equal(got, want) {
		t.Errorf("completed %v, want %v", got, want)
	}
	offsets.Complete(0)
	if offsets.Low() != 1e9+n || len(offsets.pages) != 0 {
		t.Errorf("low %d, %d pages with nothing pending", offsets.Low(), len(offsets.pages))
	}
}

func TestOffsetsAllocateNothingWhenTheirSizeIsSteady(t *testing.T) {
	offsets, next := filledOffsets(1000, 1)
	if n := testing.AllocsPerRun(5000, func() {
		_, _ = offsets.Fetched(next)
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
		_, _ = offsets.Fetched(next)
		offsets.Complete(next - held/2*every)
		offsets.Complete(next - held*every)
		next += every
	}
}

func filledOffsets(n int, every int64) (offsets *Offsets, next int64) {
	offsets = NewOffsets(0)
	for range n {
		_, _ = offsets.Fetched(next)
		next += every
	}
	return offsets, next
}

func TestUnfinishedCountsWhatIsNotKnownToBeDone(t *testing.T) {
	o := NewOffsets(10)
	o.Restore([]Run{{12, 15}, {20, 30}})
	requireUnfinished := func(what string, end, want int64) {
		t.Helper()
		if n := o.Unfinished(end); n != want {
			t.Errorf("%s: %d before %d, want %d", what, n, end, want)
		}
	}
	requireUnfinished("before anything is fetched", 10, 0)
	requireUnfinished("without those that were completed", 25, 7) // 10, 11, 15 to 19
	for _, offset := range []int64{10, 11, 12, 16} {              // 13 to 15 never come
		if _, err := o.Fetched(offset); err != nil {
			t.Fatal(err)
		}
	}
	requireUnfinished("behind a gap", 25, 6) // 10, 11, 16, 17 to 19
	requireUnfinished("an end that was measured too early", 12, 3)
	o.Complete(11)
	requireUnfinished("one is done", 25, 5)
}
