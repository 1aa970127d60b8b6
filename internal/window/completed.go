package window

import "slices"

// Run is a run of offsets from From to before To. A completed set is a list of runs,
// ascending, none of them empty, with a gap between each two.
type Run struct{ From, To int64 }

// MaxRuns bounds the completed set that is written, and read. So many fit beside a commit
// only if they are very regular.
const MaxRuns = 1 << 14

// Mark tells one state of a partition's offsets from another: as long as it stays, so
// do Low and Completed.
type Mark struct {
	Low      int64
	finished uint64
}

// Mark returns the present mark.
func (o *Offsets) Mark() Mark { return Mark{o.Low(), o.finished} }

// Restore notes what an earlier owner had completed, and what therefore need not be
// done again. It is called once, before anything is fetched; what lies below the
// start does not count.
func (o *Offsets) Restore(completed []Run) {
	i := 0
	for i < len(completed) && completed[i].To <= o.next {
		i++
	}
	o.restored = slices.Clone(completed[i:])
}

// Span returns over how many offsets the set of those that were completed may reach:
// from Low to the last that was fetched.
func (o *Offsets) Span() int64 { return o.next - o.Low() }

// Restoring reports whether something that an earlier owner had completed is not read
// again yet.
func (o *Offsets) Restoring() bool { return len(o.restored) > 0 }

// Completed returns what is completed from Low on, with what was restored and is not
// read again yet. Offsets that never come may be among it. It costs time for what is
// pending, not for what is completed.
func (o *Offsets) Completed() []Run {
	var runs []Run
	from := o.Low()
	for pending, after := range o.pendingRuns {
		runs = add(runs, from, min(pending, o.top))
		if from = after; from >= o.top {
			break
		}
	}
	runs = add(runs, from, o.top)
	for _, r := range o.restored {
		runs = add(runs, max(r.From, o.next), r.To)
	}
	return runs
}

// pendingRuns yields where pending offsets begin and where they end, page by page.
func (o *Offsets) pendingRuns(yield func(from, to int64) bool) {
	for _, p := range o.pages {
		end := p.base + pageSize
		for from := p.nextPending(p.base); from < end; {
			to := p.nextOther(from)
			if !yield(from, to) {
				return
			}
			if from = end; to < end {
				from = p.nextPending(to)
			}
		}
	}
}

// Count returns how many offsets are in runs.
func Count(runs []Run) (n int64) {
	for _, r := range runs {
		n += r.To - r.From
	}
	return n
}

// Clip returns what of runs lies from one offset to before another.
func Clip(runs []Run, from, to int64) (within []Run) {
	for _, r := range runs {
		within = add(within, max(r.From, from), min(r.To, to))
	}
	return within
}

// add appends the run from one offset to before another, unless it is empty.
func add(runs []Run, from, to int64) []Run {
	switch last := len(runs) - 1; {
	case from >= to:
		return runs
	case last >= 0 && runs[last].To == from:
		runs[last].To = to
		return runs
	default:
		return append(runs, Run{from, to})
	}
}

// wasCompleted reports whether an earlier owner had completed an offset that is read
// now, and forgets what lies below it.
func (o *Offsets) wasCompleted(offset int64) bool {
	i := 0
	for i < len(o.restored) && o.restored[i].To <= offset {
		i++
	}
	if o.restored = o.restored[i:]; len(o.restored) == 0 {
		o.restored = nil
	}
	return len(o.restored) > 0 && o.restored[0].From <= offset
}
