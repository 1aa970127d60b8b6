package window

// run is what waits and came in order: it leaves in the same one. The zero run is empty.
type run[T any] struct {
	items []item[T]
	gone  int // how many of the items, from the front, have left
}

// waiting returns what waits, in order.
func (r *run[T]) waiting() []item[T] { return r.items[r.gone:] }

// push adds an item, unless it comes before one that waits.
func (r *run[T]) push(i item[T]) bool {
	last := len(r.items) - 1
	if last >= r.gone && i.before(&r.items[last]) {
		return false
	}
	if len(r.items) == cap(r.items) && r.gone > len(r.items)/4 { // well below what pop shrinks at, or they would take turns
		r.moveTo(r.items)
	}
	r.items = append(r.items, i)
	return true
}

// pop removes the first item. There must be one.
func (r *run[T]) pop() {
	r.items[r.gone] = item[T]{} // or it would keep the value from the collector
	r.gone++
	if room := cap(r.items); room > minHeapCap && len(r.waiting()) <= room/4 { // a burst does not keep its memory for good
		r.moveTo(make([]item[T], room/2))
	}
}

// moveTo moves what waits to the front of a slice that is long enough, its own or another.
func (r *run[T]) moveTo(items []item[T]) {
	n := copy(items, r.waiting())
	clear(items[n:])
	r.items, r.gone = items[:n], 0
}
