package window

import (
	"fmt"
	"slices"
	"sort"
)

// Offsets finds the offset that may be committed for one partition: everything
// below it has been completed. Of what lies above it, it knows what is completed too,
// also what an earlier owner of the partition had completed.
//
// It keeps what is pending: fetched and not completed. Everything else below the
// last fetched offset counts as complete, also offsets that never come, because they
// are control records or were compacted away or aborted. So it costs about a bit for
// each pending offset where they lie together, and half a KiB where one lies alone. It
// is not safe for concurrent use.
type Offsets struct {
	pages    []*page // ascending; each has a pending offset
	spare    *page   // an empty one, for the next that is needed
	last     int     // index of the page that was found last
	next     int64   // offsets below it can no longer be fetched
	pending  int
	top      int64  // one after the highest fetched offset that is completed
	finished uint64 // how often Complete found something
	restored []Run  // completed by an earlier owner, and not all of it read again
}

// NewOffsets returns the offsets of a partition that is read from start on.
func NewOffsets(start int64) *Offsets { return &Offsets{next: start} }

// Fetched notes that the record at offset was read, and reports whether it was
// completed by an earlier owner: then it is not pending. Kafka returns a partition's
// records in ascending order, so an offset that is not above all earlier ones, or
// below the start, is an error and changes nothing.
func (o *Offsets) Fetched(offset int64) (done bool, err error) {
	if offset < 0 || offset < o.next {
		return false, fmt.Errorf("fetched offset %d, expected %d or later", offset, o.next)
	}
	o.next = offset + 1
	if o.wasCompleted(offset) {
		o.top = o.next
		return true, nil
	}
	o.lastPage(offset).set(offset)
	o.pending++
	return false, nil
}

// Complete notes that the record at offset is done with. It returns false if the
// offset was never fetched or is completed already.
func (o *Offsets) Complete(offset int64) bool {
	i, ok := o.find(offset)
	if !ok || !o.pages[i].has(offset) {
		return false
	}
	o.pages[i].clear(offset)
	o.pending--
	o.finished++
	o.top = max(o.top, offset+1)
	if o.pages[i].pending == 0 {
		o.spare = o.pages[i]
		o.pages = slices.Delete(o.pages, i, i+1)
	}
	return true
}

// Low returns the offset to commit: the lowest that is pending, else the one after the
// last fetched, or the start if nothing was fetched.
func (o *Offsets) Low() int64 {
	if len(o.pages) == 0 {
		return o.next
	}
	return o.pages[0].nextPending(o.pages[0].base)
}

// Pending returns how many offsets were fetched and are not completed.
func (o *Offsets) Pending() int { return o.pending }

// Unfinished returns how many offsets before end are not known to be completed: those
// that are pending, and those that were not fetched yet.
func (o *Offsets) Unfinished(end int64) int64 {
	unread := max(0, end-o.next)
	for _, r := range Clip(o.restored, o.next, end) {
		unread -= r.To - r.From
	}
	return int64(o.pending) + unread
}

// find returns the index of the page that covers an offset. What completes is often
// near to what completed before.
func (o *Offsets) find(offset int64) (int, bool) {
	base := offset &^ (pageSize - 1)
	if o.last < len(o.pages) && o.pages[o.last].base == base {
		return o.last, true
	}
	i := sort.Search(len(o.pages), func(i int) bool { return o.pages[i].base >= base })
	if i == len(o.pages) || o.pages[i].base != base {
		return 0, false
	}
	o.last = i
	return i, true
}

// lastPage returns the page for an offset above all that are pending.
func (o *Offsets) lastPage(offset int64) *page {
	base := offset &^ (pageSize - 1)
	if n := len(o.pages); n > 0 && o.pages[n-1].base == base {
		return o.pages[n-1]
	}
	p := o.spare
	if p == nil {
		p = new(page)
	}
	o.spare, p.base = nil, base
	o.pages = append(o.pages, p)
	return p
}
