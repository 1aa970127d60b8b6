package window

import (
	"cmp"
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
		if used, room := heap.Len(), cap(heap.items)+cap(heap.run.items); room > 2*minHeapCap && used < room/8 {
			t.Fatalf("%d wait in room for %d", used, room)
		}
	}
}

// What comes in order is never sifted, however much of it waits, and takes room for as much
// as has waited at a time.
func TestHeapServesWhatComesInOrderAsAQueue(t *testing.T) {
	var heap Heap[int64]
	next, want := int64(0), int64(0)
	for range 1000 {
		for range 5 {
			heap.Push(next/3, next, next)
			next++
		}
		for range 4 {
			if got, ok := heap.Pop(); !ok || got != want {
				t.Fatalf("popped %d, want %d", got, want)
			}
			want++
		}
	}
	if room := cap(heap.run.items); len(heap.items) > 0 || room > 4*heap.Len() {
		t.Errorf("%d were sifted, %d wait in room for %d", len(heap.items), heap.Len(), room)
	}
	for heap.Len() > 0 {
		heap.Pop()
		if used, room := heap.Len(), cap(heap.run.items); room > minHeapCap && used < room/8 {
			t.Fatalf("%d wait in room for %d", used, room)
		}
	}
}

func TestHeapKeepsNothingThatIsGone(t *testing.T) {
	for name, due := range map[string]func(int64) int64{
		"in order":            func(i int64) int64 { return i },
		"the other way round": func(i int64) int64 { return -i },
	} {
		var heap Heap[*int64]
		check := func(after string) {
			kept := 0
			for _, items := range [][]item[*int64]{heap.run.items[:cap(heap.run.items)], heap.items[:cap(heap.items)]} {
				for _, i := range items {
					if i.value != nil {
						kept++
					}
				}
			}
			if kept != heap.Len() {
				t.Errorf("%s, %s: %d values are kept, %d wait", name, after, kept, heap.Len())
			}
		}
		for i := range int64(1000) {
			heap.Push(due(i), i, &i)
			if i%3 > 0 {
				heap.Pop()
			}
			check("push and pop")
		}
		heap.Take(func(i *int64) bool { return *i%2 == 0 })
		check("take")
	}
}

func TestHeapAllocatesNothingWhenItsSizeIsSteady(t *testing.T) {
	var heap Heap[*int]
	value, i := new(int), int64(0)
	push := func() { heap.Push(i, i, value); i++ }
	for peak := range 1000 {
		for heap.Len() < peak {
			push()
		}
		for heap.Len() > peak*(peak%7)/7 {
			heap.Pop()
		}
		steady := func() {
			for range 5000 {
				push()
				heap.Pop()
			}
		}
		steady() // whatever room it needs for that
		if n := testing.AllocsPerRun(1, steady); n > 0 {
			t.Fatalf("%d wait after %d: %v allocations", heap.Len(), peak, n)
		}
	}
}

func TestHeapFreesWhatTakeMakesRoomFor(t *testing.T) {
	var heap Heap[int64]
	for i := range int64(50_000) {
		heap.Push(i, i, i)
	}
	for heap.Len() > 20 {
		heap.Pop()
		first, _, _ := heap.Top()
		heap.Take(func(i int64) bool { return i < first+100 })
	}
	if room := cap(heap.run.items); room > 8*minHeapCap {
		t.Errorf("%d wait in room for %d", heap.Len(), room)
	}
}

func BenchmarkHeap(b *testing.B) {
	for name, due := range map[string]func(int64) int64{
		"in order": func(i int64) int64 { return i },
		"jittered": func(i int64) int64 { return i + i*7919%5000 },
	} {
		b.Run(name, func(b *testing.B) {
			var heap Heap[*int]
			value := new(int)
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
		})
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
