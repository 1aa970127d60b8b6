package redact

import (
	"encoding/json"
	"strings"
	"testing"
)

func rulesOf(paths ...string) Rules { return Config{JSONPaths: paths}.Rules(nil) }

func TestJSON(t *testing.T) {
	tests := []struct{ name, path, in, want string }{
		{"a member", "$.card.number", `{"card":{"number":"4111","type":"x"}}`, `{"card":{"number":"[redacted]","type":"x"}}`},
		{"a number", "$.pin", `{"pin": 1234 , "a":1.0e+00}`, `{"pin": "[redacted]" , "a":1.0e+00}`},
		{"null", "$.pin", `{"pin":null}`, `{"pin":"[redacted]"}`},
		{"an object", "$.card", `{"card":{"number":[1,{}]},"a":[]}`, `{"card":"[redacted]","a":[]}`},
		{"another level", "$.number", `{"card":{"number":"shown"}}`, `{"card":{"number":"shown"}}`},
		{"a name in another case", "$.pin", `{"Pin":1}`, `{"Pin":1}`},
		{"a name with escapes", "$.password", `{"p\u0061ssword":"x"}`, `{"p\u0061ssword":"[redacted]"}`},
		{"a name twice", "$.a", `{"a":1,"a":2}`, `{"a":"[redacted]","a":"[redacted]"}`},
		{"a quoted name", `$['a.b\'c']["d"]`, `{"a.b'c":{"d":1}}`, `{"a.b'c":{"d":"[redacted]"}}`},
		{"every element", "$.items[*].iban", `{"items":[{"iban":"a"},{"x":1},{"iban":"b"}]}`, `{"items":[{"iban":"[redacted]"},{"x":1},{"iban":"[redacted]"}]}`},
		{"every member", "$.by[*].pin", `{"by":{"ann":{"pin":1},"bob":{"pin":2}}}`, `{"by":{"ann":{"pin":"[redacted]"},"bob":{"pin":"[redacted]"}}}`},
		{"an element", "$[1][0]", `[[1,2],[3,4]]`, `[[1,2],["[redacted]",4]]`},
		{"an element is no member", "$.a[0]", `{"a":{"0":1}}`, `{"a":{"0":1}}`},
		{"at any depth", "$..pin", `{"pin":1,"a":[{"b":{"pin":[2]}}]}`, `{"pin":"[redacted]","a":[{"b":{"pin":"[redacted]"}}]}`},
		{"below any depth", "$..card.pin", `{"card":{"card":{"pin":1}},"pin":2}`, `{"card":{"card":{"pin":"[redacted]"}},"pin":2}`},
		{"white space", "$.a", "\r\n{\t\"a\" :\n \"x\" }\n", "\r\n{\t\"a\" :\n \"[redacted]\" }\n"},
		{"a byte order mark", "$.a", "\xef\xbb\xbf{\"a\":1}", "\xef\xbb\xbf{\"a\":\"[redacted]\"}"},
		{"lines of JSON", "$.a", "{\"a\":1}\n{\"b\":1}\n{\"a\":2}", "{\"a\":\"[redacted]\"}\n{\"b\":1}\n{\"a\":\"[redacted]\"}"},
		{"a number beyond floats", "$.a", `{"b":1e999,"a":123456789012345678901234567890}`, `{"b":1e999,"a":"[redacted]"}`},
		{"a string that quotes a record", "$.card.number", `{"error":"cannot read {\"number\": \"4111\"}","b":"number: 1"}`, `{"error":"[redacted]","b":"number: 1"}`},
		{"quotes as escapes", "$.pin", `{"error":"of {\u0022pin\u0022: 12}","b":"\u0022pin\u0022"}`, `{"error":"[redacted]","b":"\u0022pin\u0022"}`},
		{"a colon as an escape", "$.pin", `["\"pin\" \u003a 12"]`, `["[redacted]"]`},
		{"a name escaped again", "$.number", `["{\"n\\u0075mber\":12}"]`, `["[redacted]"]`},
		{"a name quoted twice", "$['a/b']", `["{\"e\":\"{\\\"a\\/b\\\":1}\"}"]`, `["[redacted]"]`},
		{"a backslash as an escape", "$.pin", `["\u005cu0022pin\u005c\u005c\u0022=1"]`, `["[redacted]"]`},
		{"a line feed before the colon", "$.pin", `["\"pin\"\n:1"]`, `["[redacted]"]`},
		{"a name with a backslash", `$['a\\b']`, `["'a\\b'=1"]`, `["[redacted]"]`},
		{"no escape", "$.pin", `["pin\\u00","\\upin","u0022pinu0022:"]`, `["pin\\u00","\\upin","u0022pinu0022:"]`},
		{"a string alone that does", "$..pin", `"{\"pin\":1}"`, `"[redacted]"`},
		{"nothing to hide", "$.a", `{"b":1}`, `{"b":1}`},
		{"no JSON", "$.a", "<p>a: 1</p>", "<p>a: 1</p>"},
		{"a line of a log", "$.a", "[ERROR] a: 1", "[ERROR] a: 1"},
		{"nothing", "$.a", "", ""},

		{"cut off in the value", "$.pin", `{"a":1,"pin":"12`, `{"a":1,"pin":"[redacted]"`},
		{"cut off in a hidden object", "$.card", `{"card":{"number":"41`, `{"card":"[redacted]"`},
		{"cut off behind", "$.pin", `{"pin":"12","b":"x`, `{"pin":"[redacted]","b":"x`},
		{"cut off in a string that quotes a record", "$.pin", `{"error":"of {\"pin\":\"12`, `{"error":"of {\[redacted: the rest is not valid JSON]`},
		{"cut off in one with escapes", "$.pin", `{"error":"of {\u0022p\u0069n\u0022\u003a\u002212`, `{"error":"of {\[redacted: the rest is not valid JSON]`},
		{"cut off where the note is as long", "$.pin", `{"error":"'pin':` + strings.Repeat("1", len(note)-6), `{"error":"[redacted: the rest is not valid JSON]`},
		{"broken", "$.pin", `{"a":1,}"pin":"12"`, `{"a":1,[redacted: the rest is not valid JSON]`},
		{"broken in the value", "$.pin", `{"pin":'12'}`, `{"pin":[redacted: the rest is not valid JSON]`},
		{"python's notation", "$.pin", `{'pin':'12'}`, `{[redacted: the rest is not valid JSON]`},
		{"something behind it", "$.pin", "{\"a\":1}\npin=12", "{\"a\":1}\n[redacted: the rest is not valid JSON]"},
		{"utf-16", "$.pin", "\xff\xfe{\x00\"\x00p\x00", "\xff\xfe{[redacted: the rest is not valid JSON]"},
		{"text that quotes a record", "$.card.number", `cannot read {"number" : "4111"}, which is what the loan of 2026-01-31 says`, `cannot read {[redacted: the rest is not valid JSON]`},
		{"text that quotes it in another notation", "$..pin", `failed: {'pin'='12'}`, `failed: {[redacted: the rest is not valid JSON]`},
		{"text that quotes it with escapes", "$.pin", `ä: {\u0022pin\u0022:12}`, `ä: {\[redacted: the rest is not valid JSON]`},
		{"text with the bare name", "$..pin", `the "pin" is wrong`, `the "pin" is wrong`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := []byte(tt.in)
			if got := rulesOf(tt.path).JSON(in); string(got) != tt.want {
				t.Errorf("%s of\n%s is\n%s, want\n%s", tt.path, tt.in, got, tt.want)
			}
			if string(in) != tt.in {
				t.Errorf("%s was changed to %s", tt.in, in)
			}
		})
	}
}

func TestSeveralPathsHideTogether(t *testing.T) {
	rules := rulesOf("$.a.b", "$..c", "$.a")
	const in, want = `{"a":{"b":1},"d":{"c":2,"e":3}}`, `{"a":"[redacted]","d":{"c":"[redacted]","e":3}}`
	if got := rules.JSON([]byte(in)); string(got) != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestCutAnywhereHidesAsMuch: wherever a text is cut off, nothing of a hidden value is
// shown, and what is shown is the beginning of what the whole would show.
func TestCutAnywhereHidesAsMuch(t *testing.T) {
	const in = `{"id":"shown","card":{"number":"SECRET","n":[1,true,null,-2.5e3]},` +
		`"log":["of {\"number\":\"SECRET\"}","x"],"items":[{"iban":"SECRET"},{"iban":{"a":"SECRET"}}],"end":{}}`
	requireNoCutShows(t, rulesOf("$.card.number", "$.items[*].iban", "$..iban"), in)
}

// TestQuotedAgainAndAgainHidesAsMuch: in each kind of escapes, at each level.
func TestQuotedAgainAndAgainHidesAsMuch(t *testing.T) {
	few := func(text string) string {
		quoted, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		return string(quoted)
	}
	levels := []string{`{"card":{"number":"SECRET"}}`}
	for range 3 {
		for _, text := range levels {
			levels = append(levels, few(text), strings.ReplaceAll(few(text), `\"`, `\u0022`))
		}
	}
	for _, text := range levels {
		requireNoCutShows(t, rulesOf("$.card.number"), text)
		requireNoCutShows(t, rulesOf("$.card.number"), `{"e":`+few(text)+`}`)
		requireNoCutShows(t, rulesOf("$.card.number"), "of "+text)
	}
}

func requireNoCutShows(t *testing.T, rules Rules, in string) {
	t.Helper()
	for cut := range len(in) + 1 {
		got := string(rules.JSON([]byte(in[:cut])))
		for n := 2; n <= len("SECRET"); n++ {
			if strings.Contains(got, "SECRET"[:n]) {
				t.Fatalf("%s cut at %d: %s", in, cut, got)
			}
		}
	}
}

func TestManyValuesAreNotDeep(t *testing.T) {
	in := "[" + strings.Repeat("[],{},", maxDepth) + "0]"
	if got := rulesOf("$..pin").JSON([]byte(in)); string(got) != in {
		t.Errorf("ends with %.60s", got[max(0, len(got)-60):])
	}
}

func TestDeepNestingIsBounded(t *testing.T) {
	rules := rulesOf("$..a..a..a..pin")
	for _, depth := range []int{maxDepth, maxDepth + 1} {
		in := strings.Repeat(`{"a":`, depth) + "1" + strings.Repeat("}", depth)
		got := string(rules.JSON([]byte(in)))
		if whole := got == in; whole != (depth == maxDepth) {
			t.Errorf("%d deep: whole %v, ends with %.60s", depth, whole, got[max(0, len(got)-60):])
		}
	}
}
