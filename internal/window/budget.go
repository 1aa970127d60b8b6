package window

import "sync/atomic"

// Budget bounds the bytes that the whole process holds, and shares them out.
//
// One half is reserved, in equal parts for the relays, and within a part in equal
// shares for those who hold: a share may always use what is reserved for it, whatever
// the others do. The other half is common: any share may use it while the total leaves
// room there. So the total stays below the limit, and whoever holds a lot, even without
// end, takes nothing from the others that is theirs. It may exceed the limit by what
// each share adds before it looks at Full again.
//
// A Budget is safe for concurrent use.
type Budget struct {
	limit int64
	total atomic.Int64
	parts atomic.Int64
}

// NewBudget returns a budget of limit bytes.
func NewBudget(limit int64) *Budget { return &Budget{limit: limit} }

// Total returns how many bytes are held.
func (b *Budget) Total() int64 { return b.total.Load() }

// Part returns the part of one more relay, for good.
func (b *Budget) Part() *Part {
	b.parts.Add(1)
	return &Part{budget: b}
}

// Part is one relay's part of a Budget. It is safe for concurrent use.
type Part struct {
	budget *Budget
	shares atomic.Int64
}

// Join returns a new share, which holds nothing. Whoever takes it must call Leave.
func (p *Part) Join() *Share {
	p.shares.Add(1)
	return &Share{part: p}
}

// Share is one holder's share of a Part. It is safe for concurrent use.
type Share struct {
	part *Part
	held atomic.Int64 // shareLeft after Leave
}

const shareLeft = -1

// Add counts n bytes as held. After Leave it does nothing.
func (s *Share) Add(n int64) { s.change(n) }

// Release gives n bytes back. After Leave it does nothing, since Leave gave back
// everything: a late release is no error.
func (s *Share) Release(n int64) { s.change(-n) }

// Held returns how many bytes the share holds.
func (s *Share) Held() int64 { return max(s.held.Load(), 0) }

// Full reports whether the share must not take more for now. One that holds nothing is
// never full, or a record larger than the limit would never be read.
func (s *Share) Full() bool {
	limit, total, held := s.part.budget.limit, s.part.budget.Total(), s.Held()
	switch {
	case held == 0 || total < limit/2:
		return false
	case total >= limit: // some took what was reserved for those who came later
		return true
	}
	return held >= s.reserved()
}

// Roomy reports whether a share that was full may take more again, which it says only
// when there is some room: a quarter of what made it full.
func (s *Share) Roomy() bool {
	limit, total, held := s.part.budget.limit, s.part.budget.Total(), s.Held()
	return held == 0 || total < limit/2-limit/8 || total < limit && held <= s.reserved()*3/4
}

// reserved returns what the share may use whatever the others do.
func (s *Share) reserved() int64 {
	return s.part.budget.limit / 2 / max(s.part.budget.parts.Load(), 1) / max(s.part.shares.Load(), 1)
}

// Leave gives back everything that the share holds and its claim to a reserve.
func (s *Share) Leave() {
	held := s.held.Swap(shareLeft)
	if held == shareLeft {
		return
	}
	s.part.budget.total.Add(-held)
	s.part.shares.Add(-1)
}

// change adds delta to what is held, but never takes back more than that: the
// total must not sink because of one holder's wrong count.
func (s *Share) change(delta int64) {
	for {
		held := s.held.Load()
		if held == shareLeft {
			return
		}
		changed := max(held+delta, 0)
		if s.held.CompareAndSwap(held, changed) {
			s.part.budget.total.Add(changed - held)
			return
		}
	}
}
