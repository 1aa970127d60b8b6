package record

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestCloneKeepsNullAndEmptyApart(t *testing.T) {
	key, value, headers := Clone(nil, []byte{}, []Header{
		{Key: []byte("null")}, {Key: []byte("empty"), Value: []byte{}}, {Key: []byte{}, Value: []byte("v")},
	})
	if key != nil || value == nil || headers[0].Value != nil || headers[1].Value == nil || headers[2].Key == nil {
		t.Errorf("got %#v, %#v, %#v", key, value, headers)
	}
	key, value, headers = Clone([]byte{}, nil, nil)
	if key == nil || value != nil || headers != nil {
		t.Errorf("got %#v, %#v, %#v", key, value, headers)
	}
}

func TestCloneSharesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key, value, headers := drawBytes(t, "key"), drawBytes(t, "value"), drawForeign(t)
		wantKey, wantValue := bytes.Clone(key), bytes.Clone(value)
		var want []Header
		for _, h := range headers {
			want = append(want, Header{Key: bytes.Clone(h.Key), Value: bytes.Clone(h.Value)})
		}

		k, v, hs := Clone(key, value, headers)
		scribble(key)
		scribble(value)
		for i := range headers {
			scribble(headers[i].Key)
			scribble(headers[i].Value)
			headers[i] = Header{}
		}
		// Nor may appending to one run into the next.
		_ = append(k, "overrun"...)
		for _, h := range hs {
			_, _ = append(h.Key, "overrun"...), append(h.Value, "overrun"...)
		}
		if diff := cmp.Diff(want, hs); diff != "" {
			t.Fatal(diff)
		}
		if diff := cmp.Diff([][]byte{wantKey, wantValue}, [][]byte{k, v}); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestCloneAllocatesOnceForBytesAndOnceForHeaders(t *testing.T) {
	key, value := []byte("key"), bytes.Repeat([]byte("v"), 256)
	headers := []Header{{Key: []byte("a"), Value: []byte("1")}, {Key: []byte("b")}}
	if n := testing.AllocsPerRun(100, func() { Clone(key, value, nil) }); n > 1 {
		t.Errorf("%v allocations without headers", n)
	}
	if n := testing.AllocsPerRun(100, func() { Clone(key, value, headers) }); n > 2 {
		t.Errorf("%v allocations with headers", n)
	}
}

func BenchmarkClone(b *testing.B) {
	key, value := []byte("loan-12345"), bytes.Repeat([]byte("v"), 256)
	headers := make([]Header, 4)
	for i := range headers {
		headers[i] = Header{Key: []byte("traceparent"), Value: []byte("00-0af7651916cd43dd8448eb211c80319c")}
	}
	b.Run("bare", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			Clone(key, value, nil)
		}
	})
	b.Run("headers=4", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			Clone(key, value, headers)
		}
	})
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
