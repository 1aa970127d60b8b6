package window

import (
	"fmt"
	"sort"
)

// minRing is the capacity below which the ring does not shrink; a power of two.
const minRing = 64

// Offsets finds the offset that may be committed for one partition: everything
// below it has been completed. It counts over the offsets that were fetched. Those
// that never come, because they are control records or were compacted away or
// aborted, count as complete.
//
// It costs 8 bytes for each fetched offset from the lowest incomplete one on. It
// is not safe for concurrent use.
type Offsets struct {
	// ring holds the fetched offsets from the lowest incomplete one on, ascending,
	// as offset<<1 | completed: an offset is never negative, so 63 bits hold it.
	// Its length is a power of two.
	ring []uint64
	head int // index of the lowest
	size int
	next int64 // offsets below it can no longer be fetched
}

// NewOffsets returns the offsets of a partition that is read from start on.
func NewOffsets(start int64) *Offsets { return &Offsets{next: start} }

// Fetched notes that the record at offset was read. Kafka returns a partition's
// records in ascending order, so an offset that is not above all earlier ones, or
// below the start, is an error and changes nothing.
func (o *Offsets) Fetched(offset int64) error {
	if offset < 0 || offset < o.next {
		return fmt.Errorf("fetched offset %d, expected %d or later", offset, o.next)
	}
	if o.size == len(o.ring) {
		o.resize(max(2*len(o.ring), minRing))
	}
	*o.at(o.size) = uint64(offset) << 1
	o.size++
	o.next = offset + 1
	return nil
}

// Complete notes that the record at offset is done with. It returns false if the
// offset was never fetched or is completed already.
func (o *Offsets) Complete(offset int64) bool {
	i, ok := o.find(offset)
	if !ok || *o.at(i)&1 == 1 {
		return false
	}
	*o.at(i) |= 1
	for o.size > 0 && *o.at(0)&1 == 1 {
		o.head = (o.head + 1) & (len(o.ring) - 1)
		o.size--
	}
	if len(o.ring) > minRing && o.size <= len(o.ring)/8 {
		o.resize(len(o.ring) / 2)
	}
	return true
}

// Low returns the offset to commit: the lowest that was fetched and not completed,
// else the one after the last fetched, or the start if nothing was fetched.
func (o *Offsets) Low() int64 {
	if o.size == 0 {
		return o.next
	}
	return int64(*o.at(0) >> 1)
}

// Len returns how many fetched offsets are not below Low, completed ones included.
func (o *Offsets) Len() int { return o.size }

func (o *Offsets) at(i int) *uint64 { return &o.ring[(o.head+i)&(len(o.ring)-1)] }

// find looks where a partition without gaps has the offset, and only if it has
// gaps searches below: each gap moves an offset towards the front.
func (o *Offsets) find(offset int64) (int, bool) {
	if o.size == 0 || offset < o.Low() {
		return 0, false
	}
	guess := o.size - 1
	if d := offset - o.Low(); d < int64(o.size) {
		guess = int(d)
	}
	if int64(*o.at(guess)>>1) == offset {
		return guess, true
	}
	i := sort.Search(guess, func(i int) bool { return int64(*o.at(i)>>1) >= offset })
	return i, i < guess && int64(*o.at(i)>>1) == offset
}

func (o *Offsets) resize(length int) {
	ring := make([]uint64, length)
	for i := range o.size {
		ring[i] = *o.at(i)
	}
	o.ring, o.head = ring, 0
}
