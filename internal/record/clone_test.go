package record

import (
	"bytes"
	"fmt"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// copiers are the ways to have a record lie elsewhere.
func copiers() map[string]func(*Record) {
	room := new(Room)
	return map[string]func(*Record){"own": (*Record).Own, "room": func(r *Record) { room.Take(r) }}
}

func TestCopyKeepsNullAndEmptyApart(t *testing.T) {
	for name, copied := range copiers() {
		t.Run(name, func(t *testing.T) {
			r := Record{Value: []byte{}, Headers: []Header{
				{Key: []byte("null")}, {Key: []byte("empty"), Value: []byte{}}, {Key: []byte{}, Value: []byte("v")},
			}}
			copied(&r)
			if r.Key != nil || r.Value == nil || r.Headers[0].Value != nil || r.Headers[1].Value == nil || r.Headers[2].Key == nil {
				t.Errorf("got %#v", r)
			}
			r = Record{Key: []byte{}}
			copied(&r)
			if r.Key == nil || r.Value != nil || r.Headers != nil {
				t.Errorf("got %#v", r)
			}
		})
	}
}

func TestCopySharesNothing(t *testing.T) {
	for name, copied := range copiers() {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				read := drawRecord(t)
				want := deepCopy(read)
				got := read
				copied(&got)
				scribbleAll(read)
				clear(read.Headers)
				// Nor may appending to one run into the next.
				_, _ = append(got.Key, "overrun"...), append(got.Value, "overrun"...)
				for _, h := range got.Headers {
					_, _ = append(h.Key, "overrun"...), append(h.Value, "overrun"...)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatal(diff)
				}
			})
		})
	}
}

// TestWhatLeavesARoomIsItsOwn: a record that is owned while it lies in a room stays as it
// is when the room takes another one.
func TestWhatLeavesARoomIsItsOwn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var room Room
		first, second := drawRecord(t), drawRecord(t)
		want := deepCopy(first)
		room.Take(&first)
		first.Own()
		room.Take(&second)
		scribbleAll(second)
		if diff := cmp.Diff(want, first); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestOwnAllocatesOnceForBytesAndOnceForHeaders(t *testing.T) {
	bare, headed := benchRecord(0), benchRecord(2)
	if n := testing.AllocsPerRun(100, func() { r := bare; r.Own() }); n > 1 {
		t.Errorf("%v allocations without headers", n)
	}
	if n := testing.AllocsPerRun(100, func() { r := headed; r.Own() }); n > 2 {
		t.Errorf("%v allocations with headers", n)
	}
}

func TestRoomAllocatesNothingForTheNextRecord(t *testing.T) {
	var room Room
	read := benchRecord(2)
	if n := testing.AllocsPerRun(100, func() { r := read; room.Take(&r) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestLargeRecordOwnsItsBytesAndLeavesTheRoomAsItIs(t *testing.T) {
	for _, large := range []Record{
		{Value: bytes.Repeat([]byte("v"), maxRoom+1)},
		{Headers: make([]Header, maxRoom/headerSize+1)},
	} {
		var room Room
		want := deepCopy(large)
		if room.Take(&large) {
			t.Error("lies in the room")
		}
		if n := cap(room.bytes) + headerSize*cap(room.headers); n > 0 {
			t.Errorf("the room keeps %d bytes", n)
		}
		small := benchRecord(2)
		if !room.Take(&small) {
			t.Error("a small one does not lie in the room")
		}
		if diff := cmp.Diff(want, large); diff != "" {
			t.Error(diff)
		}
	}
}

func TestSizeOfAnEntryOfAListOfHeaders(t *testing.T) {
	if want := int(unsafe.Sizeof(Header{})); headerSize != want {
		t.Errorf("takes %d bytes, want %d", headerSize, want)
	}
}

func BenchmarkCopy(b *testing.B) {
	for _, headers := range []int{0, 4} {
		for name, copied := range copiers() {
			b.Run(fmt.Sprintf("%s/headers=%d", name, headers), func(b *testing.B) {
				read := benchRecord(headers)
				b.ReportAllocs()
				for b.Loop() {
					r := read
					copied(&r)
				}
			})
		}
	}
}

func benchRecord(headers int) Record {
	r := Record{Key: []byte("loan-12345"), Value: bytes.Repeat([]byte("v"), 256)}
	for range headers {
		r.Headers = append(r.Headers, Header{Key: []byte("traceparent"), Value: []byte("00-0af7651916cd43dd8448eb211c80319c")})
	}
	return r
}

func drawRecord(t *rapid.T) Record {
	return Record{Key: drawBytes(t, "key"), Value: drawBytes(t, "value"), Headers: drawForeign(t)}
}

func deepCopy(r Record) Record {
	c := Record{Key: bytes.Clone(r.Key), Value: bytes.Clone(r.Value)}
	for _, h := range r.Headers {
		c.Headers = append(c.Headers, Header{Key: bytes.Clone(h.Key), Value: bytes.Clone(h.Value)})
	}
	return c
}

func scribbleAll(r Record) {
	for _, part := range r.parts(nil) {
		scribble(part)
	}
}

func scribble(b []byte) {
	for i := range b {
		b[i] ^= 0xff
	}
}

// drawBytes draws null, empty or any bytes.
func drawBytes(t *rapid.T, label string) []byte {
	if rapid.IntRange(0, 4).Draw(t, label+" is null") == 0 {
		return nil
	}
	return append([]byte{}, rapid.SliceOfN(rapid.Byte(), 0, 12).Draw(t, label)...)
}

// drawForeign draws headers that are not retryd's: few names, so that they repeat.
func drawForeign(t *rapid.T) []Header {
	names := rapid.SampledFrom([]string{"", "a", "traceparent", "X-Attempt", "x-replay-count", "x-foreign-x-attempt", "\xff\xfe"})
	headers := make([]Header, rapid.IntRange(0, 8).Draw(t, "foreign"))
	for i := range headers {
		headers[i] = Header{Key: []byte(names.Draw(t, "name")), Value: drawBytes(t, "header")}
	}
	return headers
}
