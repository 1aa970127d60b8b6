package window

import "sync/atomic"

// Budget bounds the bytes that the whole process holds. Those who hold them join
// it, and each may hold its fair part, limit / shares, whatever the others do; it
// may use more while the others leave room. So the total stays below twice the
// limit, plus what each share adds before it looks at Full again. Shares that join
// while earlier ones hold more than their new part take theirs on top, until those
// have drained. A Budget is safe for concurrent use.
type Budget struct {
	limit  int64
	total  atomic.Int64
	shares atomic.Int64
}

// NewBudget returns a budget of limit bytes.
func NewBudget(limit int64) *Budget { return &Budget{limit: limit} }

// Total returns how many bytes are held.
func (b *Budget) Total() int64 { return b.total.Load() }

// Join returns a new share, which holds nothing. Whoever takes it must call Leave.
func (b *Budget) Join() *Share {
	b.shares.Add(1)
	return &Share{budget: b}
}

// Share is one holder's part of a Budget. It is safe for concurrent use.
type Share struct {
	budget *Budget
	held   atomic.Int64 // shareLeft after Leave
}

const shareLeft = -1

// Add counts n bytes as held. After Leave it does nothing.
func (s *Share) Add(n int64) { s.change(n) }

// Release gives n bytes back. After Leave it does nothing, since Leave gave back
// everything: a late release is no error.
func (s *Share) Release(n int64) { s.change(-n) }

// Held returns how many bytes the share holds.
func (s *Share) Held() int64 { return max(s.held.Load(), 0) }

// Full reports whether the share must not take more for now: the budget is used up
// and the share holds its fair part of it or more. A share that holds nothing is
// never full.
func (s *Share) Full() bool {
	if s.budget.total.Load() < s.budget.limit {
		return false
	}
	fair := s.budget.limit / max(s.budget.shares.Load(), 1)
	return s.Held() >= max(fair, 1)
}

// Leave gives back everything that the share holds and its claim to a fair part.
func (s *Share) Leave() {
	held := s.held.Swap(shareLeft)
	if held == shareLeft {
		return
	}
	s.budget.total.Add(-held)
	s.budget.shares.Add(-1)
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
			s.budget.total.Add(changed - held)
			return
		}
	}
}
