package window

import (
	"cmp"
	"runtime"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

type waiting struct{ due, offset int64 }

func TestHeapPopsInOrderOfDueTimeThenOffset(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var heap Heap[waiting]
		var model []waiting
		next := int64(0)
		t.Repeat(map[string]func(*rapid.T){
			"push": func(t *rapid.T) {
				w := waiting{due: rapid.Int64Range(-3, 3).Draw(t, "due"), offset: next}
				next++
				heap.Push(w.due, w.offset, w)
				model = append(model, w)
				slices.SortFunc(model, func(a, b waiting) int {
					return cmp.Or(cmp.Compare(a.due, b.due), cmp.Compare(a.offset, b.offset))
				})
			},
			"pop": func(t *rapid.T) {
				got, ok := heap.Pop()
				if ok != (len(model) > 0) {
					t.Fatalf("popped %v with %d waiting", ok, len(model))
				}
				if ok && got != model[0] {
					t.Fatalf("popped %v, want %v", got, model[0])
				}
				if ok {
					model = model[1:]
				}
			},
			"take": func(t *rapid.T) {
				due := rapid.Int64Range(-3, 3).Draw(t, "of due")
				chosen := func(w waiting) bool { return w.due == due }
				want := slices.DeleteFunc(slices.Clone(model), func(w waiting) bool { return !chosen(w) })
				model = slices.DeleteFunc(model, chosen)
				got := heap.Take(chosen)
				slices.SortFunc(got, func(a, b waiting) int { return cmp.Compare(a.offset, b.offset) })
				if !slices.Equal(got, want) {
					t.Fatalf("took %v, want %v", got, want)
				}
			},
			"clear": func(*rapid.T) {
				heap.Clear()
				model = nil
			},
			"": func(t *rapid.T) {
				due, _, ok := heap.Top()
				if heap.Len() != len(model) || ok != (len(model) > 0) || ok && due != model[0].due {
					t.Fatalf("%d wait, the first due at %d; want %v", heap.Len(), due, model)
				}
			},
		})
	})
}

func TestHeapOrdersManyAndShrinks(t *testing.T) {
	var heap Heap[int64]
	const n = 10_000
	for i := range int64(n) {
		due := i * 7919 % n // a permutation, 7919 being prime to n
		heap.Push(due, i, due)
	}
	for want := range int64(n) {
		if got, ok := heap.Pop(); !ok || got != want {
			t.Fatalf("popped %d, want %d", got, want)
		}
		if used, room := heap.Len(), cap(heap.items); room > minHeapCap && used < room/8 {
			t.Fatalf("%d wait in room for %d", used, room)
		}
	}
}

func TestHeapKeepsNothingThatWasPopped(t *testing.T) {
	var heap Heap[*int]
	heap.Push(1, 0, new(int))
	heap.Push(2, 1, new(int))
	heap.Push(3, 2, new(int))
	heap.Pop()
	heap.Pop()
	for i, gone := range heap.items[1:3] {
		if gone.value != nil {
			t.Errorf("slot %d still keeps its value", i+1)
		}
	}
	runtime.KeepAlive(&heap)
}

func TestHeapAllocatesNothingWhenItsSizeIsSteady(t *testing.T) {
	var heap Heap[*int]
	value := new(int)
	for i := range int64(1000) {
		heap.Push(i, i, value)
	}
	i := int64(1000)
	if n := testing.AllocsPerRun(1000, func() {
		heap.Pop()
		heap.Push(i, i, value)
		i++
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkHeap(b *testing.B) {
	var heap Heap[*int]
	value := new(int)
	due := func(i int64) int64 { return i + i*7919%5000 } // jittered
	for i := range int64(50_000) {
		heap.Push(due(i), i, value)
	}
	i := int64(50_000)
	b.ReportAllocs()
	for b.Loop() {
		heap.Pop()
		heap.Push(due(i), i, value)
		i++
	}
}

func TestHeapTellsWhatWaits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var heap Heap[waiting]
		now := rapid.Int64Range(-1, 10).Draw(t, "now")
		var first waiting
		due, n := 0, rapid.IntRange(0, 40).Draw(t, "waiting")
		for offset := range int64(n) {
			w := waiting{due: rapid.Int64Range(0, 9).Draw(t, "due"), offset: offset}
			heap.Push(w.due, w.offset, w)
			if offset == 0 || w.due < first.due {
				first = w
			}
			if w.due <= now {
				due++
			}
		}
		got := 0
		for at, w := range heap.All() {
			if at != w.due {
				t.Fatalf("%v is said to be due at %d", w, at)
			}
			if at <= now {
				got++
			}
		}
		if got != due {
			t.Fatalf("%d are due, want %d", got, due)
		}
		at, top, ok := heap.Top()
		if ok != (n > 0) || at != first.due || top != first || heap.Len() != n {
			t.Fatalf("the first is %v at %d (%v), want %v", top, at, ok, first)
		}
	})
}
