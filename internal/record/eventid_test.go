package record

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseIDSource(t *testing.T) {
	tests := []struct{ entry, first, second, err string }{
		{"event-id", "event-id", "", ""},
		{"a/b", "a/b", "", ""},
		{"<ce_source>/<ce_id>", "ce_source", "ce_id", ""},
		{"<a/b>/<c/d>", "a/b", "c/d", ""},
		{"", "", "", "event id source is empty: name a header, or two as <first>/<second>"},
		{"<a>", "", "", `event id source "<a>" is neither a header name nor two as <first>/<second>`},
		{"<a>/<>", "", "", "neither"},
		{"<>/<b>", "", "", "neither"},
		{"<a>/b", "", "", "neither"},
		{"<a>/<b>/<c>", "", "", "neither"},
		{"x<a>/<b>", "", "", "neither"},
		{"<a>-<b>", "", "", "neither"},
	}
	for _, test := range tests {
		t.Run(test.entry, func(t *testing.T) {
			got, err := ParseIDSource(test.entry)
			if got.First != test.first || got.Second != test.second {
				t.Errorf("got %q, %q", got.First, got.Second)
			}
			if err == nil && got.String() != test.entry {
				t.Errorf("it is written %q", got)
			}
			if (err != nil) != (test.err != "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Errorf("got error %v, want %q", err, test.err)
			}
		})
	}
	if got := ParseIDSources(append(DefaultIDHeaders(), "<a>")); !slices.Equal(got, defaultSources) || len(got) != len(DefaultIDHeaders()) {
		t.Errorf("of the defaults and one that is wrong, %q are valid", got)
	}
}

func TestDecodeFindsTheEventID(t *testing.T) {
	const fallback = "t.retry.2/3/42@1767355200000"
	long := strings.Repeat("i", 256)
	tests := []struct {
		name      string
		main      bool
		ids       []string // nil: the default
		headers   []string
		want      string
		malformed []string
	}{
		{"none", true, nil, nil, fallback, nil},
		{"no sources", true, []string{}, []string{"x-event-id", "a"}, fallback, nil},
		{"in the order of the sources", true, nil, []string{"event-id", "b", "x-event-id", "a"}, "a", nil},
		{"the second source", true, nil, []string{"event-id", "b"}, "b", nil},
		{"CloudEvents", true, nil, []string{"ce_id", "7", "ce_source", "/loans"}, "/loans/7", nil},
		{"half of CloudEvents", true, nil, []string{"ce_id", "7"}, fallback, nil},
		{"an empty half", true, nil, []string{"ce_id", "7", "ce_source", ""}, fallback, []string{"<ce_source>/<ce_id>"}},
		{"a blank in a half", true, nil, []string{"ce_id", "7 8", "ce_source", "s"}, fallback, []string{"<ce_source>/<ce_id>"}},
		{"two halves that are too long", true, nil, []string{"ce_id", long, "ce_source", "s"}, fallback, []string{"<ce_source>/<ce_id>"}},
		{"the last of a repeated header", true, nil, []string{"event-id", "a", "event-id", "b"}, "b", nil},
		{"256 bytes", true, nil, []string{"event-id", long}, long, nil},
		{"257 bytes", true, nil, []string{"x-event-id", long + "i", "event-id", "b"}, "b", []string{"x-event-id"}},
		{"a blank", true, nil, []string{"x-event-id", "a b"}, fallback, []string{"x-event-id"}},
		{"no ASCII", true, nil, []string{"x-event-id", "ä"}, fallback, []string{"x-event-id"}},
		{"empty", true, nil, []string{"x-event-id", ""}, fallback, []string{"x-event-id"}},
		{"retryd's own first on a tier", false, []string{"loan-id"}, []string{"loan-id", "b", "x-event-id", "a"}, "a", nil},
		{"the sources on a tier", false, nil, []string{"event-id", "b"}, "b", nil},
		{"malformed on a tier, told once", false, nil, []string{"x-event-id", "a b", "event-id", "b"}, "b", []string{"x-event-id"}},
		{
			"the origin on a tier", false, nil,
			[]string{"x-origin-topic", "t", "x-origin-partition", "1", "x-origin-offset", "2", "x-origin-timestamp", "3"},
			"t/1/2@3", nil,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			source := tierSource
			source.Main = test.main
			if test.ids != nil {
				source.IDSources = ParseIDSources(test.ids)
			}
			got, problems := Decode(recordOf(test.headers...), source)
			if got.EventID != test.want {
				t.Errorf("got %q, want %q", got.EventID, test.want)
			}
			var malformed []string
			for _, p := range problems {
				if !p.Ignored {
					malformed = append(malformed, p.Header)
				}
			}
			if !slices.Equal(malformed, test.malformed) {
				t.Errorf("problems %+v, want %v", problems, test.malformed)
			}
		})
	}
}

func TestEventIDThatIsRefusedSaysWhy(t *testing.T) {
	tests := []struct {
		source, id, want string
		value            []byte
	}{
		{"", "s", "has an empty part or is longer than 256 bytes", nil},
		{"s", strings.Repeat("i", 255), "has an empty part or is longer than 256 bytes", nil},
		{"s", "7 8", "has a byte that is not visible ASCII", []byte("s/7 8")},
	}
	for _, test := range tests {
		source := tierSource
		source.Main, source.IDSources = true, []IDSource{{"ce_source", "ce_id"}}
		_, problems := Decode(recordOf("ce_source", test.source, "ce_id", test.id), source)
		want := Problem{Header: "<ce_source>/<ce_id>", Reason: test.want, Value: test.value}
		if diff := cmp.Diff([]Problem{want}, problems); diff != "" {
			t.Errorf("problems (-want +got):\n%s", diff)
		}
	}
}

func TestOriginIDStaysLegal(t *testing.T) {
	r := recordOf()
	r.Topic = strings.Repeat("t", 248) + "z"
	r.Offset = 1<<63 - 1
	got, _ := Decode(r, tierSource)
	if len(got.EventID) != maxEventID || !strings.HasSuffix(got.EventID, "tz/3/9223372036854775807@1767355200000") {
		t.Errorf("%d bytes: %s", len(got.EventID), got.EventID)
	}
}
