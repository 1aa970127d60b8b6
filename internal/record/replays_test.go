package record

import "testing"

func TestReplaysAreReadOnMainAndTiers(t *testing.T) {
	for value, want := range map[string]int{"0": 0, "3": 3, "1000": 1000, "2147483647": 2147483647, "2147483648": 0, "-1": 0, "": 0, "many": 0} {
		for _, main := range []bool{true, false} {
			r := recordOf(HeaderReplayCount, value)
			s, problems := Decode(r, Source{Main: main, Now: noon})
			if s.Replays != want || len(problems) > 0 {
				t.Errorf("main %v, %q: %d replays, problems %v; want %d and none", main, value, s.Replays, problems, want)
			}
			if got, ok := Find(AppendHeaders(nil, r, &s, main), HeaderReplayCount); !ok || string(got) != value {
				t.Errorf("main %v: %q travels on as %q", main, value, got)
			}
		}
	}
}
