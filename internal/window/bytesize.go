package window

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// ByteSize is a number of bytes; in YAML it is written with a unit: 64MiB.
type ByteSize int64

const (
	kibibyte ByteSize = 1 << 10
	mebibyte ByteSize = 1 << 20
	gibibyte ByteSize = 1 << 30
)

type byteUnit struct {
	name string
	size ByteSize
}

// byteUnits lists the units so that the first that fits a size, or a text's end,
// is the right one.
func byteUnits() [7]byteUnit {
	return [...]byteUnit{
		{"GiB", gibibyte}, {"MiB", mebibyte}, {"KiB", kibibyte},
		{"GB", 1e9}, {"MB", 1e6}, {"KB", 1e3}, {"B", 1},
	}
}

// ParseByteSize parses a whole number with a unit: B, KiB, MiB and GiB (powers of
// 1024), KB, MB and GB (powers of 1000). A bare number is an error, since nobody
// can tell which unit was meant.
func ParseByteSize(s string) (ByteSize, error) {
	for _, unit := range byteUnits() {
		digits, ok := strings.CutSuffix(s, unit.name)
		if !ok {
			continue
		}
		n, err := strconv.ParseUint(digits, 10, 63)
		if err != nil {
			return 0, fmt.Errorf("size %q does not begin with a whole number: write it like 64MiB", s)
		}
		if n > math.MaxInt64/uint64(unit.size) {
			return 0, fmt.Errorf("size %q is too large: at most %d bytes can be told", s, int64(math.MaxInt64))
		}
		return ByteSize(n) * unit.size, nil
	}
	return 0, fmt.Errorf("size %q has no unit: write it like 64MiB (B, KiB, MiB, GiB, KB, MB, GB)", s)
}

// String returns the size in the largest unit that tells it exactly; ParseByteSize
// reads it back.
func (b ByteSize) String() string {
	for _, unit := range byteUnits() {
		if b != 0 && b%unit.size == 0 {
			return strconv.FormatInt(int64(b/unit.size), 10) + unit.name
		}
	}
	return "0B"
}
