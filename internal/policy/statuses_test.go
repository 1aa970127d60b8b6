package policy

import (
	"strings"
	"testing"
)

func TestStatusesAreOneAHundredOrARange(t *testing.T) {
	tests := []struct {
		text        Statuses
		first, last int
		err         string
	}{
		{"409", 409, 409, ""},
		{"4xx", 400, 499, ""},
		{"2XX", 200, 299, ""},
		{"502-504", 502, 504, ""},
		{"200-599", 200, 599, ""},
		{"500-500", 500, 500, ""},
		{"504-502", 0, 0, `"504-502" begins with the greater status; write 502-504`},
		{"199", 0, 0, `"199" is no final HTTP status; write one of 200 to 599, 4xx, or 502-504`},
		{"600", 0, 0, `"600" is no final`},
		{"1xx", 0, 0, `"1xx" is no final`},
		{"6xx", 0, 0, `"6xx" is no final`},
		{"xx", 0, 0, `"xx" is no final`},
		{"40x", 0, 0, `"40x" is no final`},
		{"", 0, 0, `"" is no final`},
		{"-", 0, 0, `"-" is no final`},
		{"4.5", 0, 0, `"4.5" is no final`},
		{" 409", 0, 0, `" 409" is no final`},
		{"+409", 0, 0, `"+409" is no final`},
		{"0409", 0, 0, `"0409" is no final`},
		{"409-", 0, 0, `"409-" is no final`},
		{"400-410-420", 0, 0, `"400-410-420" is no final`},
		{"5xx-6xx", 0, 0, `"5xx-6xx" is no final`},
	}
	for _, tt := range tests {
		first, last, err := tt.text.Range()
		if first != tt.first || last != tt.last || (err == nil) != (tt.err == "") || err != nil && !strings.HasPrefix(err.Error(), tt.err) {
			t.Errorf("%q: %d to %d, %v; want %d to %d, %s", tt.text, first, last, err, tt.first, tt.last, tt.err)
		}
	}
}

func FuzzStatuses(f *testing.F) {
	for _, seed := range []string{"409", "4xx", "502-504", "504-502", "9999999999999999999-x", "xx", "--"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		first, last, err := Statuses(text).Range()
		if err == nil && (first < leastStatus || last > mostStatus || first > last) || err != nil && first+last != 0 {
			t.Errorf("%q: %d to %d, %v", text, first, last, err)
		}
	})
}
