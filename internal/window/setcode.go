package window

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/klauspost/compress/flate"
)

// A completed set is written as base64url of a byte that says how, and of the set
// above the committed offset: as a bitmap (one bit for each offset, the lowest first) or
// as the lengths of its runs (varints: not completed, completed, and so on),
// whichever is shorter, and deflated where that helps.
const (
	shapeRuns    = 'r'
	shapeBitmap  = 'b'
	deflatedRuns = 'R'
	deflatedBits = 'B'
)

const (
	// deflateBlock is how much is deflated with codes of its own: the density of a set
	// falls over its span, and other densities need other codes.
	deflateBlock = 1 << 10
	// maxSetBytes is how long a set can be before it is deflated: two lengths of at most
	// ten bytes for each run, as a bitmap is written only if it is shorter.
	maxSetBytes = 2 * binary.MaxVarintLen64 * MaxRuns
)

// errSet says what is wrong with a set.
var errSet = errors.New("completed set")

// writeSet returns the text of the longest prefix of a set, of MaxRuns at most, that fits
// into so many characters, how many runs it has, and which part of the characters the
// whole set would take: 1 or more if it was cut.
func writeSet(runs []Run, offset int64, limit int) (text string, told int, used float64) {
	if len(runs) > MaxRuns {
		runs, used = runs[:MaxRuns], 1
	}
	for told = len(runs); told > 0; {
		text = base64.RawURLEncoding.EncodeToString(packSet(runs[:told], offset))
		share := float64(len(text)) / float64(limit)
		if used = max(used, share); share <= 1 {
			return text, told, used
		}
		told = int(float64(told) * min(1/share, 15./16))
	}
	return "", 0, used
}

// packSet returns the shortest of the shapes of a set.
func packSet(runs []Run, offset int64) []byte {
	plain, shapes := setLengths(runs, offset), [2]byte{shapeRuns, deflatedRuns}
	if bitmapSize(runs, offset) < int64(len(plain)) {
		plain, shapes = setBitmap(runs, offset), [2]byte{shapeBitmap, deflatedBits}
	}
	plain[0] = shapes[0]
	if short := deflate(shapes[1], plain[1:]); len(short) < len(plain) {
		return short
	}
	return plain
}

// setLengths returns the lengths of the runs, behind a byte for the shape.
func setLengths(runs []Run, offset int64) []byte {
	packed := make([]byte, 1, 1+4*len(runs))
	for _, r := range runs {
		packed = binary.AppendUvarint(packed, uint64(r.From-offset))
		packed = binary.AppendUvarint(packed, uint64(r.To-r.From))
		offset = r.To
	}
	return packed
}

// bitmapSize returns the size of the bitmap with the byte for the shape.
func bitmapSize(runs []Run, offset int64) int64 { return 2 + (runs[len(runs)-1].To-1-offset)/8 }

// setBitmap returns the bitmap, behind a byte for the shape.
func setBitmap(runs []Run, offset int64) []byte {
	packed := make([]byte, bitmapSize(runs, offset))
	for _, r := range runs {
		for i := r.From - offset; i < r.To-offset; i++ {
			packed[1+i/8] |= 1 << (i % 8)
		}
	}
	return packed
}

// deflate keeps no state between its calls: a process may have hundreds of groups.
func deflate(shape byte, plain []byte) []byte {
	out := bytes.NewBuffer(append(make([]byte, 0, len(plain)), shape))
	for len(plain) > 0 {
		n := min(len(plain), deflateBlock)
		_ = flate.StatelessDeflate(out, plain[:n], n == len(plain), nil) // a buffer takes all
		plain = plain[n:]
	}
	return out.Bytes()
}

// readSet reads what writeSet wrote above the same offset. Whatever the text, it takes
// about maxSetBytes (320 KiB) and a list of MaxRuns runs (256 KiB) at most.
func readSet(text string, offset int64) ([]Run, error) {
	if text == "" {
		return nil, nil
	}
	packed, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errSet, err)
	}
	if len(packed) == 0 {
		return nil, errSet
	}
	runs, err := unpackSet(packed[0], packed[1:], offset)
	if err == nil && len(runs) == 0 {
		err = errSet
	}
	return runs, err
}

func unpackSet(shape byte, set []byte, offset int64) ([]Run, error) {
	switch shape {
	case shapeRuns:
		return readLengths(set, offset)
	case shapeBitmap:
		return readBitmap(set, offset)
	case deflatedRuns:
		return inflated(set, offset, readLengths)
	case deflatedBits:
		return inflated(set, offset, readBitmap)
	default:
		return nil, fmt.Errorf("%w: shape %q", errSet, shape)
	}
}

func inflated(packed []byte, offset int64, read func([]byte, int64) ([]Run, error)) ([]Run, error) {
	plain, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(packed)), maxSetBytes+1))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errSet, err)
	}
	return read(plain, offset)
}

func readLengths(plain []byte, offset int64) ([]Run, error) {
	var runs []Run
	for len(plain) > 0 && len(runs) < MaxRuns {
		skip, n := binary.Uvarint(plain)
		length, m := binary.Uvarint(plain[max(n, 0):])
		if n <= 0 || m <= 0 || length == 0 || skip == 0 && len(runs) > 0 {
			return nil, errSet
		}
		room := uint64(math.MaxInt64 - offset)
		if skip > room || length > room-skip {
			return nil, errSet
		}
		from := offset + int64(skip)
		offset = from + int64(length)
		runs, plain = append(runs, Run{from, offset}), plain[n+m:]
	}
	if len(plain) > 0 {
		return nil, errSet
	}
	return runs, nil
}

func readBitmap(plain []byte, offset int64) ([]Run, error) {
	if len(plain) > maxSetBytes || offset > math.MaxInt64-8*maxSetBytes {
		return nil, errSet
	}
	var runs []Run
	for i := range int64(8 * len(plain)) {
		if plain[i/8]&(1<<(i%8)) == 0 {
			continue
		}
		if runs = add(runs, offset+i, offset+i+1); len(runs) > MaxRuns {
			return nil, errSet
		}
	}
	return runs, nil
}
