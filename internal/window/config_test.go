package window

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestConfigValidate(t *testing.T) {
	tests := []struct {
		name   string
		config Config
		want   []string
	}{
		{"the default", DefaultConfig(), nil},
		{"the smallest", Config{Records: 1, Bytes: 1}, nil},
		{"all wrong", Config{Bytes: -1024, Horizon: -time.Second}, []string{
			"records: must be at least 1, is 0",
			"bytes: must be at least 1B, is -1KiB",
			"horizon: must not be negative, is -1s",
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var got []string
			for _, err := range test.config.Validate() {
				got = append(got, err.Error())
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestParseByteSize(t *testing.T) {
	tests := []struct {
		text string
		want ByteSize
		err  string
	}{
		{"0B", 0, ""},
		{"1B", 1, ""},
		{"3KiB", 3072, ""},
		{"64MiB", 67_108_864, ""},
		{"2GiB", 2_147_483_648, ""},
		{"3KB", 3000, ""},
		{"64MB", 64_000_000, ""},
		{"2GB", 2_000_000_000, ""},
		{"9223372036854775807B", math.MaxInt64, ""},
		{"64", 0, `size "64" has no unit: write it like 64MiB (B, KiB, MiB, GiB, KB, MB, GB)`},
		{"", 0, `size "" has no unit: write it like 64MiB (B, KiB, MiB, GiB, KB, MB, GB)`},
		{"64mib", 0, `size "64mib" has no unit: write it like 64MiB (B, KiB, MiB, GiB, KB, MB, GB)`},
		{"MiB", 0, `size "MiB" does not begin with a whole number: write it like 64MiB`},
		{"-1MiB", 0, `size "-1MiB" does not begin with a whole number: write it like 64MiB`},
		{"1.5GiB", 0, `size "1.5GiB" does not begin with a whole number: write it like 64MiB`},
		{"64 MiB", 0, `size "64 MiB" does not begin with a whole number: write it like 64MiB`},
		{"8589934592GiB", 0, `size "8589934592GiB" is too large: at most 9223372036854775807 bytes can be told`},
	}
	for _, test := range tests {
		t.Run(test.text, func(t *testing.T) {
			got, err := ParseByteSize(test.text)
			if got != test.want {
				t.Errorf("got %d, want %d", got, test.want)
			}
			if message := errorText(err); message != test.err {
				t.Errorf("got error %q, want %q", message, test.err)
			}
		})
	}
}

func TestByteSizeString(t *testing.T) {
	for size, want := range map[ByteSize]string{
		0: "0B", 1: "1B", 1000: "1KB", 1024: "1KiB", 1536: "1536B", 64 << 20: "64MiB", 1e9: "1GB",
	} {
		if got := size.String(); got != want {
			t.Errorf("%d bytes: got %s, want %s", int64(size), got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		size := ByteSize(rapid.Int64Min(0).Draw(t, "size"))
		if got, err := ParseByteSize(size.String()); err != nil || got != size {
			t.Fatalf("%s is read as %d, %v", size, got, err)
		}
	})
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
