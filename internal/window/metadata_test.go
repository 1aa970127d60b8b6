package window

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestMetadataIsText(t *testing.T) {
	m := Metadata{TopicID: [16]byte{0xff, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}}
	const want = "1:3ec94fb4:_wECAwQFBgcICQoLDA0ODw:"
	if got := encoded(m, 42); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestMetadataSurvivesARoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var m Metadata
		copy(m.TopicID[:], rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "topic id"))
		offset := rapid.Int64Range(0, 1<<62).Draw(t, "offset")
		m.Completed = drawSet(t, offset)
		text, told, used := m.Encode(offset)
		got, err := ParseMetadata(text, offset)
		if diff := cmp.Diff(m, got); err != nil || diff != "" || used > 1 || told != len(m.Completed) {
			t.Fatalf("%v, %d told, used %v:\n%s", err, told, used, diff)
		}
	})
}

func TestMetadataErrorsAreForPeople(t *testing.T) {
	good := encoded(Metadata{TopicID: [16]byte{1}}, 42)
	tests := map[string]string{
		"":                                    "no metadata was committed",
		"2" + good[1:]:                        `committed metadata is of another version: "2", this retryd reads 1`,
		"consumer: a":                         "committed metadata is corrupt or belongs to another offset",
		signed("AQ:", 42):                     "committed metadata is corrupt or belongs to another offset",
		signed("AQAAAAAAAAAAAAAAAAAAA!:", 42): "committed metadata is corrupt or belongs to another offset: topic id: illegal base64 data at input byte 21",
		signed(zeroTopic+":c2V0", 42):         "committed metadata is corrupt or belongs to another offset: completed set: shape 's'",
	}
	for text, want := range tests {
		if _, err := ParseMetadata(text, 42); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

func TestParseMetadataTellsWhatIsWrong(t *testing.T) {
	good := encoded(Metadata{TopicID: [16]byte{1}}, 42)
	tests := []struct {
		name string
		text string
		want error
	}{
		{"nothing", "", ErrNoMetadata},
		{"a later version", "2" + good[1:], ErrMetadataVersion},
		{"another client's", "consumer: a", ErrMetadataCorrupt},
		{"another client's, without a colon", "consumer", ErrMetadataCorrupt},
		{"no version", ":" + good, ErrMetadataCorrupt},
		{"a version alone", "1:", ErrMetadataCorrupt},
		{"cut", good[:len(good)-1], ErrMetadataCorrupt},
		{"longer", good + "x", ErrMetadataCorrupt},
		{"a changed checksum", "1:00000000" + good[10:], ErrMetadataCorrupt},
		{"a changed topic id", strings.Replace(good, ":AQ", ":BQ", 1), ErrMetadataCorrupt},
		{"too long", signed("AQAAAAAAAAAAAAAAAAAAAA:"+strings.Repeat("x", MaxMetadata), 42), ErrMetadataCorrupt},
		{"a short topic id", signed("AQ:", 42), ErrMetadataCorrupt},
		{"a topic id that is no base64", signed("AQAAAAAAAAAAAAAAAAAAA!:", 42), ErrMetadataCorrupt},
		{"a set of no shape", signed(zeroTopic+":c2V0", 42), ErrMetadataCorrupt},
		{"no last field", signed("AQAAAAAAAAAAAAAAAAAAAA", 42), ErrMetadataCorrupt},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if m, err := ParseMetadata(test.text, 42); !errors.Is(err, test.want) || !cmp.Equal(m, Metadata{}) {
				t.Errorf("got %v, %v, want %v", m, err, test.want)
			}
		})
	}
}

func TestMetadataCountsOnlyBesideItsOffset(t *testing.T) {
	text := encoded(Metadata{TopicID: [16]byte{1}}, 42)
	for _, offset := range []int64{41, 43, -1, 42 << 8} {
		if _, err := ParseMetadata(text, offset); !errors.Is(err, ErrMetadataCorrupt) {
			t.Errorf("offset %d: %v", offset, err)
		}
	}
}

func TestParseMetadataReadsPastWhatComesLater(t *testing.T) {
	set := base64.RawURLEncoding.EncodeToString([]byte{shapeRuns, 1, 2})
	want := Metadata{Completed: []Run{{43, 45}}}
	for _, text := range []string{signed(zeroTopic+":"+set, 42), signed(zeroTopic+":"+set+":more", 42)} {
		got, err := ParseMetadata(text, 42)
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", text, err, diff)
		}
	}
}

func FuzzParseMetadata(f *testing.F) {
	f.Add("", int64(0))
	f.Add(encoded(Metadata{}, 0), int64(0))
	f.Add(encoded(Metadata{TopicID: [16]byte{1}, Completed: []Run{{43, 45}}}, 42), int64(42))
	f.Add(signed(zeroTopic+":c2V0", 7), int64(7))
	f.Add("2:", int64(0))
	f.Add("1:::::", int64(-1))
	f.Fuzz(func(t *testing.T, text string, offset int64) {
		m, err := ParseMetadata(text, offset)
		if err != nil {
			if !cmp.Equal(m, Metadata{}) {
				t.Fatalf("an error and %v", m)
			}
			return
		}
		again, err := ParseMetadata(encoded(m, offset), offset)
		if err != nil || again.TopicID != m.TopicID {
			t.Fatalf("%q was read as %v and then as %v, %v", text, m, again, err)
		}
	})
}

const zeroTopic = "AAAAAAAAAAAAAAAAAAAAAA"

func encoded(m Metadata, offset int64) string {
	text, _, _ := m.Encode(offset)
	return text
}

// signed puts version and checksum before fields, as another retryd would.
func signed(fields string, offset int64) string {
	return fmt.Sprintf("1:%08x:%s", metadataChecksum(fields, offset), fields)
}
