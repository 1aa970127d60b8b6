package window

import "sync/atomic"

// Budget bounds the bytes that the whole process holds, and shares them out.
//
// A quarter is common: anybody may use it while there is room. Half is reserved in equal
// parts for the relays, whatever the others do, and a further quarter in equal shares for
// the partitions of each relay, whatever the others of it do.
// So the total stays below the limit; it may exceed it by what each share adds before it
// looks at Full again, which is what one fetch brings, and what the client has fetched
// ahead.
//
// A Budget is safe for concurrent use.
type Budget struct {
	limit  int64
	total  atomic.Int64
	common atomic.Int64 // what parts hold beyond their reserves
	parts  atomic.Int64
}

// NewBudget returns a budget of limit bytes.
func NewBudget(limit int64) *Budget { return &Budget{limit: limit} }

// Total returns how many bytes are held.
func (b *Budget) Total() int64 { return b.total.Load() }

// Part returns the part of one more relay, for good. All parts are made before anything
// is held.
func (b *Budget) Part() *Part {
	b.parts.Add(1)
	return &Part{budget: b}
}

// Part is one relay's part of a Budget. It is safe for concurrent use.
type Part struct {
	budget *Budget
	held   atomic.Int64
	shares atomic.Int64
}

// reserve returns what the part may use whatever the others do.
func (p *Part) reserve() int64 { return p.budget.limit / 2 / max(p.budget.parts.Load(), 1) }

// Each returns what each of n shares may use whatever the others do, in bytes.
func (p *Part) Each(n int64) int64 { return p.reserve() / 2 / max(n, 1) }

// add counts n bytes more, or less, as held.
func (p *Part) add(n int64) {
	reserve := p.reserve()
	held := p.held.Add(n)
	p.budget.total.Add(n)
	if beyond := max(0, held-reserve) - max(0, held-n-reserve); beyond != 0 {
		p.budget.common.Add(beyond)
	}
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
func (s *Share) Full() bool { return !s.room(1) }

// Roomy reports whether a share that was full may take more again, which it says only
// when there is some room: a quarter of what made it full.
func (s *Share) Roomy() bool { return s.room(0.75) }

// room reports whether the share may take more while only a fraction of what is to be had
// counts.
func (s *Share) room(fraction float64) bool {
	part, budget := s.part, s.part.budget
	below := func(n, bound int64) bool { return float64(n) < fraction*float64(bound) }
	held := s.Held()
	return held == 0 || below(held, part.Each(part.shares.Load())) ||
		below(part.held.Load(), part.reserve()) || below(budget.common.Load(), budget.limit/4)
}

// Leave gives back everything that the share holds and its claim to a reserve.
func (s *Share) Leave() {
	held := s.held.Swap(shareLeft)
	if held == shareLeft {
		return
	}
	s.part.add(-held)
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
			s.part.add(changed - held)
			return
		}
	}
}
