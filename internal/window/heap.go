package window

import "iter"

// minHeapCap is the capacity below which a heap does not shrink.
const minHeapCap = 64

// Heap orders what waits by its due time, and by offset where that is equal. The
// zero Heap is empty and ready. It is not safe for concurrent use.
//
// It sifts its own slice because container/heap boxes every value in an interface,
// which would cost an allocation per record.
type Heap[T any] struct {
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
func (h *Heap[T]) Len() int { return len(h.items) }

// Push adds v, which falls due at due in epoch milliseconds.
func (h *Heap[T]) Push(due, offset int64, v T) {
	h.items = append(h.items, item[T]{due: due, offset: offset, value: v})
	h.up(len(h.items) - 1)
}

// Top returns the value that falls due first and when; ok is false if none waits.
func (h *Heap[T]) Top() (due int64, v T, ok bool) {
	if len(h.items) == 0 {
		return 0, v, false
	}
	return h.items[0].due, h.items[0].value, true
}

// Pop removes and returns the value that falls due first; ok is false if none
// waits.
func (h *Heap[T]) Pop() (v T, ok bool) {
	last := len(h.items) - 1
	if last < 0 {
		return v, false
	}
	v = h.items[0].value
	h.items[0] = h.items[last]
	h.items[last] = item[T]{} // or it would keep the value from the collector
	h.items = h.items[:last]
	if last > 1 {
		h.down(0)
	}
	h.shrink()
	return v, true
}

// Take removes the values for which chosen says so, and returns them in no order.
func (h *Heap[T]) Take(chosen func(T) bool) (taken []T) {
	kept := h.items[:0]
	for _, i := range h.items {
		if chosen(i.value) {
			taken = append(taken, i.value)
			continue
		}
		kept = append(kept, i)
	}
	clear(h.items[len(kept):])
	h.items = kept
	for i := len(kept)/2 - 1; i >= 0; i-- {
		h.down(i)
	}
	h.shrink()
	return taken
}

// All iterates over what waits and when it falls due, in no order. The heap must not
// be changed meanwhile.
func (h *Heap[T]) All() iter.Seq2[int64, T] {
	return func(yield func(int64, T) bool) {
		for i := range h.items {
			if !yield(h.items[i].due, h.items[i].value) {
				return
			}
		}
	}
}

// Clear drops everything, the memory included.
func (h *Heap[T]) Clear() { h.items = nil }

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

// shrink halves a slice that is a quarter full, so that a burst does not keep its
// memory for good.
func (h *Heap[T]) shrink() {
	room := cap(h.items)
	for room > minHeapCap && len(h.items) <= room/4 {
		room /= 2
	}
	if room < cap(h.items) {
		h.items = append(make([]item[T], 0, room), h.items...)
	}
}
