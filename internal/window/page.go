package window

import "math/bits"

// pageSize is how many offsets a page covers; a power of two.
const pageSize = 4096

// page is the set of pending offsets among pageSize, from base on.
type page struct {
	base    int64 // a multiple of pageSize
	pending int   // bits that are set
	bits    [pageSize / 64]uint64
}

func (p *page) has(offset int64) bool {
	i := offset - p.base
	return p.bits[i/64]&(1<<(i%64)) != 0
}

// set adds an offset that is not in the page.
func (p *page) set(offset int64) {
	i := offset - p.base
	p.bits[i/64] |= 1 << (i % 64)
	p.pending++
}

// clear removes an offset that is in the page.
func (p *page) clear(offset int64) {
	i := offset - p.base
	p.bits[i/64] &^= 1 << (i % 64)
	p.pending--
}

// nextPending returns the first pending offset at or after one, or the page's end.
func (p *page) nextPending(offset int64) int64 { return p.search(offset, 0) }

// nextOther returns the first offset at or after one that is not pending, or the
// page's end.
func (p *page) nextOther(offset int64) int64 { return p.search(offset, ^uint64(0)) }

// search finds the first bit at or after offset that is set, once flip is applied.
func (p *page) search(offset int64, flip uint64) int64 {
	i := int(offset - p.base)
	for ; i < pageSize; i = (i/64 + 1) * 64 {
		if word := (p.bits[i/64] ^ flip) >> (i % 64); word != 0 {
			return p.base + int64(i+bits.TrailingZeros64(word))
		}
	}
	return p.base + pageSize
}
