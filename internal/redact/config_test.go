package redact

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestValidateNamesTheEntry(t *testing.T) {
	c := Config{
		Headers: []string{"authorization", "", "x-*-token", "x-*", "*"},
		JSONPaths: []string{
			"$.card.number", "card.number", "", "$", "$.", "$.a..", "$.*", "$[?(@.x)]", "$[1:2]", "$[-1]", "$['a','b']", "$['a", "$[''", "$['']", "$[*",
			"$.a b", "$x", "$.a[0]x", "$..[0]", "$..*", "$..['a']", "$.['a']", "$[2147483648]", "$[]",
		},
	}
	want := []string{
		`headers[1]: is empty; name a header`,
		`headers[2]: "x-*-token": only the last character may be *`,
		`json_paths[1]: "card.number" does not begin with $, as in $.card.number`,
		`json_paths[2]: "" does not begin with $, as in $.card.number`,
		`json_paths[3]: "$" is the whole value; name a part of it, as in $.card.number`,
		`json_paths[4]: "$." has a dot without a name behind it`,
		`json_paths[5]: "$.a.." has a dot without a name behind it`,
		`json_paths[6]: "$.*" has .*; write [*]`,
		`json_paths[7]: "$[?(@.x)]" has [?(@.x)]; in brackets may be a name in quotes, a number from 0 on, or *`,
		`json_paths[8]: "$[1:2]" has [1:2]; in brackets may be a name in quotes, a number from 0 on, or *`,
		`json_paths[9]: "$[-1]" has [-1]; in brackets may be a name in quotes, a number from 0 on, or *`,
		`json_paths[10]: "$['a','b']" has no ] behind a quoted name; two names are two entries`,
		`json_paths[11]: "$['a" has a quotation mark that is not closed`,
		`json_paths[12]: "$[''" has no ] behind a quoted name; two names are two entries`,
		`json_paths[13]: "$['']" has an empty name`,
		`json_paths[14]: "$[*" has a [ without ]`,
		`json_paths[15]: "$.a b" has the name a b; write such a name as ['...']`,
		`json_paths[16]: "$x" has "x", where a dot or a bracket must be`,
		`json_paths[17]: "$.a[0]x" has "x", where a dot or a bracket must be`,
		`json_paths[18]: "$..[0]" must have a name behind its two dots, as in $..password`,
		`json_paths[19]: "$..*" has .*; write [*]`,
		`json_paths[21]: "$.['a']" has a dot without a name behind it`,
		`json_paths[22]: "$[2147483648]" has [2147483648]; in brackets may be a name in quotes, a number from 0 on, or *`,
		`json_paths[23]: "$[]" has []; in brackets may be a name in quotes, a number from 0 on, or *`,
	}
	var got []string
	for _, err := range c.Validate() {
		got = append(got, err.Error())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestEventIDIsHiddenWithWhatItIsMadeOf(t *testing.T) {
	sources := []string{"x-event-id", "event-id", "<ce_source>/<ce_id>"}
	tests := []struct {
		headers []string
		hidden  bool
	}{
		{nil, false},
		{[]string{"authorization"}, false},
		{[]string{"Event_ID"}, true},
		{[]string{"ce-id"}, true},
		{[]string{"ce_s*"}, true},
		{[]string{"X-Event-Id"}, true},
		{[]string{"idempotency-key"}, true},
	}
	for _, tt := range tests {
		want := "loan-7"
		if tt.hidden {
			want = Mask
		}
		if got := (Config{Headers: tt.headers}).Rules(sources).EventID("loan-7"); got != want {
			t.Errorf("%v: %q, want %q", tt.headers, got, want)
		}
	}
}
