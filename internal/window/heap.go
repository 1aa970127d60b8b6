package window

import "iter"

// minHeapCap is the capacity below which a heap does not shrink.
const minHeapCap = 64

// Heap orders what waits by its due time, and by offset where that is equal. The
// zero Heap is empty and ready. It is not safe for concurrent use.
//
// What comes in order, as what is read of main does, waits in a run of its own and costs no
// sifting. The rest is a binary heap, sifted in its own slice because container/heap
// boxes every value in an interface, which would cost an allocation per record.
type Heap[T any] struct {
	run   run[T]
	items []item[T]
}

type item[T any] struct {
	due    int64
	offset int64
	value  T
}

func (a *item[T]) before(b *item[T]) bool {
	return a.due < b.due || a.due == b.due && a.offset < b.offset
}

// Len returns how many values wait.
func (h *Heap[T]) Len() int { return len(h.run.waiting()) + len(h.items) }

// Push adds v, which falls due at due in epoch milliseconds.
func (h *Heap[T]) Push(due, offset int64, v T) {
	i := item[T]{due: due, offset: offset, value: v}
	if h.run.push(i) {
		return
	}
	h.items = append(h.items, i)
	h.up(len(h.items) - 1)
}

// Top returns the value that falls due first and when; ok is false if none waits.
func (h *Heap[T]) Top() (due int64, v T, ok bool) {
	if first := h.first(); first != nil {
		return first.due, first.value, true
	}
	return 0, v, false
}

// first returns the item that falls due first, nil if none waits.
func (h *Heap[T]) first() *item[T] {
	inOrder := h.run.waiting()
	switch {
	case len(inOrder) == 0 && len(h.items) == 0:
		return nil
	case len(inOrder) > 0 && (len(h.items) == 0 || inOrder[0].before(&h.items[0])):
		return &inOrder[0]
	}
	return &h.items[0]
}

// Pop removes and returns the value that falls due first; ok is false if none
// waits.
func (h *Heap[T]) Pop() (v T, ok bool) {
	first := h.first()
	if first == nil {
		return v, false
	}
	v = first.value
	last := len(h.items) - 1
	if last < 0 || first != &h.items[0] {
		h.run.pop()
		return v, true
	}
	h.items[0] = h.items[last]
	h.items[last] = item[T]{} // or it would keep the value from the collector
	h.items = h.items[:last]
	if last > 1 {
		h.down(0)
	}
	h.items = shrunk(h.items)
	return v, true
}

// Take removes the values for which chosen says so, and returns them in no order.
func (h *Heap[T]) Take(chosen func(T) bool) (taken []T) {
	keep := func(items []item[T]) []item[T] {
		kept := items[:0]
		for _, i := range items {
			if chosen(i.value) {
				taken = append(taken, i.value)
				continue
			}
			kept = append(kept, i)
		}
		clear(items[len(kept):])
		return shrunk(kept)
	}
	h.run.moveTo(h.run.items) // what has left would take room that is not seen
	h.run.items = keep(h.run.items)
	h.items = keep(h.items)
	for i := len(h.items)/2 - 1; i >= 0; i-- {
		h.down(i)
	}
	return taken
}

// All iterates over what waits and when it falls due, in no order. The heap must not
// be changed meanwhile.
func (h *Heap[T]) All() iter.Seq2[int64, T] {
	return func(yield func(int64, T) bool) {
		for _, items := range [...][]item[T]{h.run.waiting(), h.items} {
			for i := range items {
				if !yield(items[i].due, items[i].value) {
					return
				}
			}
		}
	}
}

// Clear drops everything, the memory included.
func (h *Heap[T]) Clear() { *h = Heap[T]{} }

// up and down carry the moving item beside the slice and write it once.
func (h *Heap[T]) up(i int) {
	moving := h.items[i]
	for i > 0 {
		parent := (i - 1) / 2
		if !moving.before(&h.items[parent]) {
			break
		}
		h.items[i] = h.items[parent]
		i = parent
	}
	h.items[i] = moving
}

func (h *Heap[T]) down(i int) {
	moving := h.items[i]
	for {
		child := 2*i + 1
		if child >= len(h.items) {
			break
		}
		if right := child + 1; right < len(h.items) && h.items[right].before(&h.items[child]) {
			child = right
		}
		if !h.items[child].before(&moving) {
			break
		}
		h.items[i] = h.items[child]
		i = child
	}
	h.items[i] = moving
}

// shrunk returns items in a slice half as long, and half again, while that is a quarter
// full, so that a burst does not keep its memory for good.
func shrunk[T any](items []item[T]) []item[T] {
	room := cap(items)
	for room > minHeapCap && len(items) <= room/4 {
		room /= 2
	}
	if room < cap(items) {
		return append(make([]item[T], 0, room), items...)
	}
	return items
}
