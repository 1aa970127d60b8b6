package window

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// drawSet makes up a completed set above an offset.
func drawSet(t *rapid.T, offset int64) []Run {
	span := rapid.SampledFrom([]int64{1, 3, 1000, 1 << 40}).Draw(t, "span")
	var runs []Run
	for i := range rapid.IntRange(0, 60).Draw(t, "runs") {
		from := offset + rapid.Int64Range(int64(min(i, 1)), span).Draw(t, "skip")
		offset = from + rapid.Int64Range(1, span).Draw(t, "length")
		runs = append(runs, Run{from, offset})
	}
	return runs
}

func TestSetIsWrittenInTheShortestShape(t *testing.T) {
	every := func(n int, from, step int64) (runs []Run) {
		for i := range int64(n) {
			runs = append(runs, Run{from + i*step, from + i*step + 1})
		}
		return runs
	}
	tests := []struct {
		name   string
		runs   []Run
		shape  byte
		length int // of the text, at most
	}{
		{"a million above one", []Run{{8, 1_000_008}}, shapeRuns, 7},
		{"few, far apart", every(3, 1000, 1e12), shapeRuns, 30},
		{"close together", []Run{{8, 9}, {10, 13}, {15, 16}}, shapeBitmap, 4},
		{"regular", every(10_000, 8, 2), deflatedBits, 150},
		{"regular, far apart", every(10_000, 8, 1000), deflatedRuns, 700},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text, _, used := writeSet(tt.runs, 7, MaxMetadata)
			packed, err := base64.RawURLEncoding.DecodeString(text)
			if err != nil || packed[0] != tt.shape || len(text) > tt.length || used != float64(len(text))/MaxMetadata {
				t.Errorf("shape %q in %d characters, used %v, %v; want %q in %d", packed[0], len(text), used, err, tt.shape, tt.length)
			}
			if got, err := readSet(text, 7); err != nil || !slices.Equal(got, tt.runs) {
				t.Errorf("%d runs were read as %d, %v", len(tt.runs), len(got), err)
			}
		})
	}
}

func TestSetThatDoesNotFitIsCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		runs := drawSet(t, 7)
		limit := rapid.IntRange(1, 200).Draw(t, "limit")
		text, told, used := writeSet(runs, 7, limit)
		got, err := readSet(text, 7)
		if err != nil || len(text) > limit {
			t.Fatalf("%d characters of %d: %v", len(text), limit, err)
		}
		if len(got) != told || !slices.Equal(got, runs[:told]) {
			t.Fatalf("%v was read as %v, want its beginning", runs, got)
		}
		if cut := len(got) < len(runs); cut != (used > 1) {
			t.Fatalf("%d of %d runs were written, used %v", len(got), len(runs), used)
		}
	})
}

// What does not fit the list of runs is not written either.
func TestSetOfTooManyRunsIsCut(t *testing.T) {
	offsets := NewOffsets(0)
	for i := range int64(2*MaxRuns + 100) {
		_, _ = offsets.Fetched(i)
		if i%2 == 1 {
			offsets.Complete(i)
		}
	}
	text, told, used := writeSet(offsets.Completed(), 0, MaxMetadata)
	got, err := readSet(text, 0)
	if err != nil || told != MaxRuns || !slices.Equal(got, offsets.Completed()[:MaxRuns]) || used != 1 {
		t.Errorf("%d runs told, %d read, %v, used %v; want %d, and 1", told, len(got), err, used, MaxRuns)
	}
}

// The worst pattern that a tier makes: records were written evenly and are due after
// a delay with symmetric jitter, so that over the span of the jitter the share of those
// that are completed falls from 1 to 0.
func TestSetHoldsTheCompletedOfAJitteredTier(t *testing.T) {
	const enough = 14_000 // of a span of twice as many; about 14,400 fit
	random := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		set := jittered(2*enough, random)
		text, _, used := Metadata{Completed: set}.Encode(0)
		if used > 1 || len(text) > MaxMetadata {
			t.Errorf("%d completed records take %.3f of the room", enough, used)
		}
		if got, err := ParseMetadata(text, 0); err != nil || !slices.Equal(got.Completed, set) {
			t.Errorf("they are not read back: %v", err)
		}
	}
}

// jittered returns what is completed of a span of records, of which the first is not.
func jittered(span int64, random *rand.Rand) (runs []Run) {
	for i := int64(1); i < span; i++ {
		if random.Float64() > float64(i)/float64(span) {
			runs = add(runs, i, i+1)
		}
	}
	return runs
}

// Reading pauses by it.
func TestAnySetOverSetRoomFits(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var set []Run
	for i := range int64(SetRoom) {
		if random.IntN(2) > 0 {
			set = add(set, 7+i, 8+i)
		}
	}
	if text, _, used := (Metadata{Completed: set}).Encode(7); used > 1 || used < .98 || len(text) > MaxMetadata {
		t.Errorf("over %d offsets: %d characters, used %v; want nearly all, and no more", SetRoom, len(text), used)
	}
}

func TestSetThatMakesNoSenseIsRefused(t *testing.T) {
	varints := func(shape byte, lengths ...uint64) []byte {
		packed := []byte{shape}
		for _, n := range lengths {
			packed = binary.AppendUvarint(packed, n)
		}
		return packed
	}
	bomb := deflate(deflatedBits, append([]byte{1}, make([]byte, 2*maxSetBytes)...))
	tests := map[string][]byte{
		"another shape":         {'x', 1, 1},
		"no runs":               {shapeRuns},
		"half a run":            varints(shapeRuns, 1),
		"an empty run":          varints(shapeRuns, 1, 0),
		"runs that touch":       varints(shapeRuns, 1, 1, 0, 1),
		"half a length":         {shapeRuns, 1, 0x80},
		"a length of 70 bits":   append([]byte{shapeRuns, 1}, bytes.Repeat([]byte{0xff}, 10)...),
		"past the last offset":  varints(shapeRuns, math.MaxInt64, 1),
		"far past it":           varints(shapeRuns, 1, math.MaxUint64),
		"too many runs":         append([]byte{shapeRuns}, bytes.Repeat([]byte{1}, 2*MaxRuns+2)...),
		"an empty bitmap":       {shapeBitmap, 0, 0},
		"too many bits":         append([]byte{shapeBitmap}, bytes.Repeat([]byte{0x55}, MaxRuns)...),
		"too long a bitmap":     append([]byte{shapeBitmap, 1}, make([]byte, maxSetBytes)...),
		"no deflate":            {deflatedRuns, 0xff},
		"cut":                   bomb[:len(bomb)/2],
		"more than it may hold": bomb,
	}
	for name, packed := range tests {
		t.Run(name, func(t *testing.T) {
			if runs, err := readSet(base64.RawURLEncoding.EncodeToString(packed), 7); !errors.Is(err, errSet) || len(runs) > 0 {
				t.Errorf("%d runs, %v", len(runs), err)
			}
		})
	}
	if _, err := readSet("!", 7); !errors.Is(err, errSet) {
		t.Errorf("no base64: %v", err)
	}
}

// A text of 4,096 characters can be inflated to megabytes.
func TestSetIsReadInBoundedMemory(t *testing.T) {
	text := base64.RawURLEncoding.EncodeToString(deflate(deflatedBits, make([]byte, 64<<20)))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := readSet(text, 7)
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; !errors.Is(err, errSet) || took > uint64(len(text))+8*maxSetBytes {
		t.Errorf("%v after %d bytes for a text of %d", err, took, len(text))
	}
}

func FuzzReadSet(f *testing.F) {
	for _, set := range [][]Run{{{8, 9}}, {{8, 9}, {10, 20}}, {{1000, 1 << 40}}, jittered(5000, rand.New(rand.NewPCG(1, 2)))} {
		f.Add(packSet(set, 0), int64(0))
	}
	f.Fuzz(func(t *testing.T, packed []byte, offset int64) {
		runs, err := readSet(base64.RawURLEncoding.EncodeToString(packed), max(offset, 0))
		last := max(offset, 0)
		for _, r := range runs {
			if err != nil || r.From < last || r.To <= r.From || len(runs) > MaxRuns {
				t.Fatalf("%v, %v", runs, err)
			}
			last = r.To + 1
		}
	})
}

func BenchmarkWriteSet(b *testing.B) {
	set := jittered(28_000, rand.New(rand.NewPCG(1, 2)))
	b.ReportAllocs()
	for b.Loop() {
		_, _, _ = writeSet(set, 0, MaxMetadata)
	}
}
