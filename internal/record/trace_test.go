package record

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func TestTraceTellsTheWay(t *testing.T) {
	fourth := noon.Add(4 * time.Second)
	tests := []struct {
		name     string
		trace    Trace
		want     string
		failures int
	}{
		{"absent", Trace{}, "", 0},
		{"on main", Begin("main", noon), "main@2026-01-02T12:00:00.000Z", 0},
		{
			"always three digits, in UTC", Begin("main", noon.Add(20*time.Millisecond).In(time.FixedZone("", 3600))),
			"main@2026-01-02T12:00:00.020Z", 0,
		},
		{
			"failed", Begin("main", noon).Fail("t.retry.1", fourth),
			"main@2026-01-02T12:00:00.000Z>t.retry.1@2026-01-02T12:00:04.000Z", 1,
		},
		{
			"moved", Begin("main", noon).Move("t.retry.1", fourth),
			"main@2026-01-02T12:00:00.000Z~t.retry.1@2026-01-02T12:00:04.000Z", 0,
		},
		{
			"moves in a row collapse into the newest", Begin("t.retry.1", noon).
				Move("a", noon).Move("b", noon).Move("c", fourth).Fail("d", fourth).Move("e", fourth),
			"t.retry.1@2026-01-02T12:00:00.000Z~c@2026-01-02T12:00:04.000Z*3" +
				">d@2026-01-02T12:00:04.000Z~e@2026-01-02T12:00:04.000Z", 1,
		},
		{
			"nobody began it", Trace{}.Fail("t.retry.1", fourth),
			"unknown@2026-01-02T12:00:04.000Z>t.retry.1@2026-01-02T12:00:04.000Z", 1,
		},
		{
			"a timestamp past the year 9999", Begin("main", time.UnixMilli(1<<62)),
			"main@9999-12-31T23:59:59.999Z", 0,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := test.trace.String(); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
			if got := test.trace.Failures(); got != test.failures {
				t.Errorf("%d failures, want %d", got, test.failures)
			}
		})
	}
}

func TestTraceHops(t *testing.T) {
	later := noon.Add(time.Minute)
	got := Begin("main", noon).Fail("a", noon).Move("b", noon).Move("c", later).Hops()
	want := []Hop{
		{Topic: "main", At: noon},
		{Topic: "a", At: noon, Failed: true},
		{Topic: "c", At: later, Moves: 2},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if hops := (Trace{}).Hops(); hops != nil {
		t.Errorf("the zero trace has hops: %v", hops)
	}
}

func TestTraceEndsKeepsFirstAndLast(t *testing.T) {
	trace := Begin("main", noon).Fail("a", noon).Fail("b", noon).Move("c", noon)
	if want := Begin("main", noon).Move("c", noon); !trace.Ends().Equal(want) {
		t.Errorf("got %s", trace.Ends())
	}
	if alone := Begin("main", noon); !alone.Ends().Equal(alone) {
		t.Errorf("got %s", alone.Ends())
	}
}

func TestTraceIsAValue(t *testing.T) {
	base := Begin("main", noon).Fail("a", noon).Move("b", noon)
	before := base.String()
	x, y := base.Fail("x", noon), base.Move("y", noon)
	if base.String() != before || !strings.HasSuffix(x.String(), ">x@2026-01-02T12:00:00.000Z") ||
		!strings.HasSuffix(y.String(), "~y@2026-01-02T12:00:00.000Z*2") {
		t.Errorf("appending changed another trace: %s, %s, %s", base, x, y)
	}
}

func TestTraceDropsMovesBeforeFailures(t *testing.T) {
	trace := Begin("main", noon)
	for range 7 {
		trace = trace.Fail("f", noon).Move("m", noon)
	}
	trace = trace.Fail("last", noon)
	if n := len(trace.Hops()); n != MaxHops {
		t.Fatalf("%d hops, want %d", n, MaxHops)
	}
	trace = trace.Fail("f", noon)
	hops := trace.Hops()
	if len(hops) != MaxHops || trace.Failures() != 9 {
		t.Fatalf("%d hops, %d failures in %s", len(hops), trace.Failures(), trace)
	}
	if hops[0].Topic != "main" || hops[1].Topic != "f" || hops[2].Topic != "f" || hops[3].Topic != "m" {
		t.Errorf("the oldest move should have gone: %s", trace)
	}
	for range 30 {
		trace = trace.Fail("g", noon)
	}
	if hops := trace.Hops(); hops[0].Topic != "main" || len(hops) != MaxHops || trace.Failures() != MaxHops-1 {
		t.Errorf("the first hop and the newest failures should be left: %s", trace)
	}
	trace = trace.Move("newest", noon)
	if hops := trace.Hops(); len(hops) != MaxHops || hops[MaxHops-1].Topic != "newest" {
		t.Errorf("the newest hop should stay: %s", trace)
	}
}

// naiveTrace follows the rules with a slice of hops.
type naiveTrace []Hop

func (n naiveTrace) add(h Hop) naiveTrace {
	if last := n[len(n)-1]; h.Moves > 0 && last.Moves > 0 {
		h.Moves += last.Moves
		n = n[:len(n)-1]
	}
	n = append(n, h)
	if len(n) <= MaxHops {
		return n
	}
	drop := 1
	for i, old := range n[:len(n)-1] {
		if old.Moves > 0 {
			drop = i
			break
		}
	}
	return append(n[:drop:drop], n[drop+1:]...)
}

func TestTraceFollowsTheNaiveModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		trace, model := Begin("main", noon), naiveTrace{{Topic: "main", At: noon}}
		for range rapid.IntRange(0, 40).Draw(t, "hops") {
			topic, at := drawTopic(t), drawTime(t, "at")
			if rapid.Bool().Draw(t, "failed") {
				trace, model = trace.Fail(topic, at), model.add(Hop{Topic: topic, At: at, Failed: true})
			} else {
				trace, model = trace.Move(topic, at), model.add(Hop{Topic: topic, At: at, Moves: 1})
			}
		}
		if diff := cmp.Diff([]Hop(model), trace.Hops()); diff != "" {
			t.Fatal(diff)
		}
		parsed, err := ParseTrace(trace.String())
		if err != nil || !parsed.Equal(trace) {
			t.Fatalf("parsed %s, %v, want %s", parsed, err, trace)
		}
	})
}

func TestParseTraceRefuses(t *testing.T) {
	const good = "main@2026-01-02T12:00:00.000Z"
	tests := []struct{ name, text, want string }{
		{"nothing", "", `has a hop that names no topic: ""`},
		{"no first hop", ">a@2026-01-02T12:00:00.000Z", `has a hop that names no topic: ""`},
		{"no topic", good + ">@2026-01-02T12:00:00.000Z", `has a hop that names no topic`},
		{"a bad topic", good + ">a b@2026-01-02T12:00:00.000Z", `has a hop that names no topic`},
		{"no time", good + ">a", `has a hop without a time`},
		{"seconds only", "main@2026-01-02T12:00:00Z", `has a hop without a time`},
		{"a comma in the time", "main@2026-01-02T12:00:00,000Z", `has a hop without a time`},
		{"another zone", "main@2026-01-02T12:00:00.000+01:00", `has a hop without a time`},
		{"no such day", "main@2026-02-30T12:00:00.000Z", `has a hop without a time`},
		{"an empty hop", good + ">>", `has a hop that names no topic`},
		{"a count on a failure", good + ">a@2026-01-02T12:00:00.000Z*2", `has a hop without a time`},
		{"a count of one", good + "~a@2026-01-02T12:00:00.000Z*1", `has a count of moves that is not 2 or more`},
		{"a padded count", good + "~a@2026-01-02T12:00:00.000Z*02", `has a count of moves that is not 2 or more`},
		{"no count", good + "~a@2026-01-02T12:00:00.000Z*", `has a count of moves that is not 2 or more`},
		{"a huge count", good + "~a@2026-01-02T12:00:00.000Z*99999999999", `has a count of moves that is not 2 or more`},
		{"a blank behind", good + " ", `has a hop without a time`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := ParseTrace(test.text)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func TestParseTraceTrimsALongOne(t *testing.T) {
	hop := "~m@2026-01-02T12:00:00.000Z>f@2026-01-02T12:00:00.000Z"
	trace, err := ParseTrace("main@2026-01-02T12:00:00.000Z" + strings.Repeat(hop, 10_000))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(trace.Hops()); n != MaxHops || trace.Failures() != MaxHops-1 {
		t.Errorf("%d hops, %d failures", n, trace.Failures())
	}
}

func TestTraceCountsMovesToABound(t *testing.T) {
	trace, err := ParseTrace("main@2026-01-02T12:00:00.000Z~a@2026-01-02T12:00:00.000Z*2147483647")
	if err != nil {
		t.Fatal(err)
	}
	if trace.Move("a", noon).String() != trace.String() {
		t.Errorf("the count ran over: %s", trace.Move("a", noon))
	}
}

func FuzzParseTrace(f *testing.F) {
	f.Add("")
	f.Add("main@2026-01-02T12:00:00.000Z")
	f.Add("main@2026-01-02T12:00:00.000Z>a@2026-01-02T12:00:00.000Z~b@2026-01-02T12:00:00.000Z*2")
	f.Add("main@0000-01-01T00:00:00.000Z" + strings.Repeat(">a@9999-12-31T23:59:59.999Z", 20))
	f.Add("a@2026-01-02T12:00:00,000Z~~>>@@**")
	f.Fuzz(func(t *testing.T, text string) {
		trace, err := ParseTrace(text)
		if err != nil {
			if trace != (Trace{}) {
				t.Fatalf("an error and %v", trace)
			}
			return
		}
		hops := trace.Hops()
		if len(hops) == 0 || len(hops) > MaxHops || trace.Failures() >= MaxHops {
			t.Fatalf("%d hops, %d failures", len(hops), trace.Failures())
		}
		again, err := ParseTrace(trace.String())
		if err != nil || again != trace {
			t.Fatalf("%s parsed again is %s, %v", trace, again, err)
		}
		if next := trace.Fail("t", noon).Move("t", noon); len(next.Hops()) > MaxHops {
			t.Fatalf("%d hops after another", len(next.Hops()))
		}
	})
}

func drawTopic(t *rapid.T) string {
	return rapid.StringMatching(`[a-zA-Z0-9._-]{1,20}`).Draw(t, "topic")
}

// drawTime draws a time in whole milliseconds from 1970 to a year ahead of noon.
func drawTime(t *rapid.T, label string) time.Time {
	return time.UnixMilli(rapid.Int64Range(0, noon.Add(maxAhead).UnixMilli()).Draw(t, label)).UTC()
}

// Hops returns the trace's hops, oldest first.
func (t Trace) Hops() []Hop {
	if t.start == "" {
		return nil
	}
	hops := []Hop{{Topic: t.start, At: time.UnixMilli(t.at).UTC()}}
	for text := range splitHops(t.rest) {
		if hop, err := parseHop(text); err == nil {
			hops = append(hops, hop)
		}
	}
	return hops
}

func TestTraceMovedTellsTheLastHop(t *testing.T) {
	at := time.UnixMilli(1767323045123)
	began := Begin("main", at)
	for want, traces := range map[bool][]Trace{
		false: {{}, began, began.Fail("a", at), began.Move("a", at).Fail("b", at)},
		true:  {began.Move("a", at), began.Fail("a", at).Move("b", at), began.Move("a", at).Move("b", at)},
	} {
		for _, trace := range traces {
			if got := trace.Moved(); got != want {
				t.Errorf("%v: %v, want %v", trace, got, want)
			}
		}
	}
}
