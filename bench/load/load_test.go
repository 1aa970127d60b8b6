package load

import "testing"

func TestValueBeginsWithItsNumber(t *testing.T) {
	for _, n := range []int64{0, 7, 1_764_573_000_123_456_789} {
		value := Value(n, 256)
		if len(value) != 256 || Number(value) != n {
			t.Errorf("a value of %d bytes begins with %d, want 256 and %d", len(value), Number(value), n)
		}
	}
}

func TestNumberOfWhatHasNone(t *testing.T) {
	for _, value := range []string{"", "0123456789", "000000000000000001x9 and more"} {
		if got := Number([]byte(value)); got != -1 {
			t.Errorf("%q begins with %d, want -1", value, got)
		}
	}
}
