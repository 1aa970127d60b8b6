package record

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

func full() State {
	return State{
		Attempt: 1, Limited: 2, FirstFailure: noon, NotBefore: noon.Add(time.Second),
		Late: 1500 * time.Millisecond, Trace: Begin("main", noon).Fail("t.retry.1", noon),
		EventID: "loan-0", Origin: Position{Topic: "t", Partition: 3, Offset: 42, Timestamp: noon},
		Consumer: FormatConsumer("t", "libraryd"),
		Last:     Failure{Class: "transient", Status: 503, Kind: "status", Error: "503 Service Unavailable", At: noon},
	}
}

func TestAppendHeadersWritesTheState(t *testing.T) {
	minimal := bare()
	minimal.NotBefore = time.Time{}
	tests := []struct {
		name  string
		state State
		want  []string
	}{
		{"all of it", full(), []string{
			"x-attempt", "1", "x-limited", "2", "x-first-failure-at", "1767355200000", "x-not-before", "1767355201000",
			"x-trace", "main@2026-01-02T12:00:00.000Z>t.retry.1@2026-01-02T12:00:00.000Z", "x-late-ms", "1500",
			"x-event-id", "loan-0", "x-origin-topic", "t", "x-origin-partition", "3", "x-origin-offset", "42",
			"x-origin-timestamp", "1767355200000", "x-consumer", "t/libraryd", "x-class", "transient", "x-status", "503",
			"x-error-kind", "status", "x-error", "503 Service Unavailable", "x-last-failure-at", "1767355200000",
		}},
		{"what is absent is left out", minimal, []string{
			"x-attempt", "2", "x-trace", "t.retry.2@2026-01-02T12:00:00.000Z", "x-late-ms", "0",
			"x-event-id", "t.retry.2/3/42@1767355200000", "x-origin-topic", "t.retry.2", "x-origin-partition", "3",
			"x-origin-offset", "42", "x-origin-timestamp", "1767355200000",
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := AppendHeaders(nil, recordOf(), &test.state, false)
			if diff := cmp.Diff(headersOf(test.want...), got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAppendHeadersRoundsNotBeforeUp(t *testing.T) {
	s := full()
	s.NotBefore = noon.Add(time.Nanosecond)
	s.FirstFailure = noon.Add(999_999 * time.Nanosecond)
	s.Origin.Timestamp = time.Time{}
	headers := AppendHeaders(nil, recordOf(), &s, false)
	for name, want := range map[string]string{
		HeaderNotBefore: "1767355200001", HeaderFirstFailureAt: "1767355200000", HeaderOriginTimestamp: "-1",
	} {
		if got, _ := Find(headers, name); string(got) != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

func TestAppendHeadersKeepsForeignHeaders(t *testing.T) {
	r := recordOf()
	r.Headers = []Header{
		{Key: []byte("a"), Value: []byte("1")},
		{Key: []byte("x-attempt"), Value: []byte("9")},
		{Key: []byte("a")},
		{Key: []byte("x-event-id"), Value: []byte("loan-0")},
		{Key: []byte("x-event-id"), Value: []byte("another")},
		{Key: []byte("\xff"), Value: []byte{0xfe}},
		{Key: []byte("x-response")},
		{Key: []byte("x-replay-count"), Value: []byte("1")},
	}
	tests := []struct {
		name     string
		fromMain bool
		want     []Header
	}{
		{"from main, retryd's names belong to the application", true, []Header{
			{Key: []byte("a"), Value: []byte("1")},
			{Key: []byte("x-foreign-x-attempt"), Value: []byte("9")},
			{Key: []byte("a")},
			{Key: []byte("x-foreign-x-event-id"), Value: []byte("another")},
			{Key: []byte("\xff"), Value: []byte{0xfe}},
			{Key: []byte("x-foreign-x-response")},
			{Key: []byte("x-replay-count"), Value: []byte("1")},
		}},
		{"elsewhere they are replaced", false, []Header{
			{Key: []byte("a"), Value: []byte("1")},
			{Key: []byte("a")},
			{Key: []byte("\xff"), Value: []byte{0xfe}},
			{Key: []byte("x-replay-count"), Value: []byte("1")},
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := full()
			got := foreignOf(AppendHeaders(nil, r, &s, test.fromMain))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAppendHeadersAppends(t *testing.T) {
	s := full()
	before := headersOf("before", "1")
	got := AppendHeaders(before, recordOf("a", "b"), &s, false)
	if diff := cmp.Diff(headersOf("before", "1", "a", "b"), got[:2]); diff != "" {
		t.Error(diff)
	}
}

func TestAppendDeadLetter(t *testing.T) {
	s := full()
	d := DeadLetter{Reason: "exhausted", Response: append([]byte("no:\r\n\t\xff\x1b"), bytes.Repeat([]byte{'x'}, 2000)...), Version: "1.2.3", AppVersion: "v7\r\nx: ü" + strings.Repeat("a", 300)}
	got := AppendDeadLetter(nil, recordOf(), &s, d, false)
	want := append(AppendHeaders(nil, recordOf(), &s, false), headersOf(
		"x-reason", "exhausted", "x-response", "no:\r\n\t??"+strings.Repeat("x", 1024-8), "x-retryd-version", "1.2.3",
		"x-app-version", "v7??x: ??"+strings.Repeat("a", 256-9))...)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, h := range got {
		if !Own(h.Key) {
			t.Errorf("%s is not among retryd's own names", h.Key)
		}
	}
}

func TestTrimDiagnosticsKeepsWhatDecidesTheRecord(t *testing.T) {
	s := full()
	s.Trace = s.Trace.Fail("t.retry.2", noon).Fail("t.DLT", noon)
	d := DeadLetter{Reason: "oversize", Response: []byte("no"), Version: "1", AppVersion: "2"}
	gotState, gotLetter := TrimDiagnostics(s, d)

	wantState := s
	wantState.Trace = Begin("main", noon).Fail("t.DLT", noon)
	wantState.Last.Error = ""
	if diff := cmp.Diff(wantState, gotState); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(DeadLetter{Reason: "oversize", Version: "1", AppVersion: "2"}, gotLetter); diff != "" {
		t.Error(diff)
	}
}

func TestConsumerGroup(t *testing.T) {
	for consumer, want := range map[string]string{"relay/group": "group", "relay/a/b": "a/b", "relay": "", "": ""} {
		if got := ConsumerGroup(consumer); got != want {
			t.Errorf("%q: got %q, want %q", consumer, got, want)
		}
	}
}

func TestStateSurvivesARoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, foreign := drawState(t), drawForeign(t)
		s.Replays = replays(foreign)
		fromMain := rapid.Bool().Draw(t, "from main")
		from := &Record{Headers: foreign}
		if !fromMain {
			from.Headers = append(headersOf("x-attempt", "1", "x-response", "old"), foreign...)
		}
		headers := AppendHeaders(nil, from, &s, fromMain)
		next := &Record{Topic: "t.retry.1", Timestamp: noon, Headers: headers}
		got, problems := Decode(next, Source{Step: 1, MaxAttempt: 14, Now: noon})
		if len(problems) > 0 {
			t.Fatalf("problems: %+v", problems)
		}
		if diff := cmp.Diff(s, got); diff != "" {
			t.Fatal(diff)
		}
		if diff := cmp.Diff(foreign, foreignOf(headers), cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestAppendHeadersAllocatesOnceIntoEnoughRoom(t *testing.T) {
	s, r := full(), recordOf("traceparent", "00", "content-type", "application/json")
	room := make([]Header, 0, 32)
	if n := testing.AllocsPerRun(100, func() { AppendHeaders(room, r, &s, true) }); n > 1 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkAppendHeaders(b *testing.B) {
	s, r := full(), recordOf("traceparent", "00", "content-type", "application/json")
	b.ReportAllocs()
	for b.Loop() {
		AppendHeaders(nil, r, &s, true)
	}
}

// FuzzDecode feeds one header of every name of retryd's, cut from input at NUL.
func FuzzDecode(f *testing.F) {
	s := full()
	var seed []byte
	for _, h := range AppendDeadLetter(nil, recordOf(), &s, DeadLetter{Reason: "rejected"}, false) {
		seed = append(append(append(append(seed, h.Key...), 0), h.Value...), 0)
	}
	f.Add(seed, int64(1767355200000), false)
	f.Add([]byte("x-attempt\x00-1\x00x-attempt\x0099999999999999999999\x00x-event-id\x00\x00ce_id\x001\x00ce_source\x002"), int64(-1), true)
	f.Add([]byte("x-origin-topic\x00t\x00x-origin-timestamp\x00-1\x00x-not-before\x009223372036854775807"), int64(1)<<62, false)
	f.Fuzz(func(t *testing.T, input []byte, timestamp int64, main bool) {
		r := &Record{Topic: "t", Partition: 1, Offset: 2, Timestamp: time.UnixMilli(timestamp)}
		fields := bytes.Split(input, []byte{0})
		for i := 0; i+1 < len(fields); i += 2 {
			r.Headers = append(r.Headers, Header{Key: fields[i], Value: fields[i+1]})
		}
		source := Source{Main: main, MaxAttempt: 3, Delay: time.Minute, IDSources: defaultSources, Now: noon}
		first, _ := Decode(r, source)
		checkBounds(t, first, source)

		r.Headers = AppendHeaders(nil, r, &first, main)
		source.Main = false
		second, problems := Decode(r, source)
		if main {
			first.NotBefore = second.NotBefore // a tier has a delay, main has none
		}
		if diff := cmp.Diff(first, second); diff != "" {
			t.Fatalf("decoded again: %s", diff)
		}
		for _, p := range problems {
			if p.Header != "timestamp" {
				t.Fatalf("retryd wrote a malformed header: %+v", p)
			}
		}
		r.Headers = AppendHeaders(nil, r, &second, false)
		if third, _ := Decode(r, source); !cmp.Equal(second, third) {
			t.Fatalf("encoding is not stable: %s", cmp.Diff(second, third))
		}
	})
}

func checkBounds(t *testing.T, s State, source Source) {
	t.Helper()
	if s.Attempt < 0 || s.Attempt > source.MaxAttempt || s.Limited < 0 || s.Late < 0 {
		t.Fatalf("out of bounds: %+v", s)
	}
	for _, at := range []time.Time{s.FirstFailure, s.NotBefore, s.Last.At, s.Origin.Timestamp} {
		if at.After(source.Now.Add(maxAhead)) || !at.IsZero() && at.UnixMilli() < 0 {
			t.Fatalf("a time out of bounds: %+v", s)
		}
	}
	if s.EventID == "" || len(s.EventID) > 256 || !all([]byte(s.EventID), visible) {
		t.Fatalf("event id %q", s.EventID)
	}
	if n := len(s.Trace.Hops()); n < 1 || n > MaxHops {
		t.Fatalf("%d hops", n)
	}
}

func drawState(t *rapid.T) State {
	optional := func(label string) time.Time {
		if rapid.Bool().Draw(t, label+" is absent") {
			return time.Time{}
		}
		return drawTime(t, label)
	}
	s := State{
		Attempt:      rapid.IntRange(0, 14).Draw(t, "attempt"),
		Limited:      rapid.IntRange(0, 1<<31-1).Draw(t, "limited"),
		FirstFailure: optional("first failure"),
		NotBefore:    drawTime(t, "not before"), // absent, it comes from the tier
		Late:         time.Duration(rapid.Int64Range(0, maxLate).Draw(t, "late")) * time.Millisecond,
		Trace:        Begin("main", drawTime(t, "start")),
		EventID:      rapid.StringMatching(`[!-~]{1,256}`).Draw(t, "event id"),
		Origin: Position{
			Topic: drawTopic(t), Partition: rapid.Int32Min(0).Draw(t, "partition"),
			Offset: rapid.Int64Min(0).Draw(t, "offset"), Timestamp: optional("origin"),
		},
		Consumer: rapid.StringMatching(`(|[!-.0-~]{1,9}/[ -~]{1,9})`).Draw(t, "consumer"),
		Last: Failure{
			Class: rapid.StringMatching(`[a-z]{0,9}`).Draw(t, "class"), Kind: rapid.StringMatching(`[a-z]{0,9}`).Draw(t, "kind"),
			Status: rapid.SampledFrom([]int{0, 100, 404, 503, 999}).Draw(t, "status"),
			Error:  rapid.StringMatching(`[ -~]{0,256}`).Draw(t, "error"), At: optional("last failure"),
		},
	}
	for range rapid.IntRange(0, 20).Draw(t, "hops") {
		if rapid.Bool().Draw(t, "failed") {
			s.Trace = s.Trace.Fail(drawTopic(t), drawTime(t, "hop"))
		} else {
			s.Trace = s.Trace.Move(drawTopic(t), drawTime(t, "hop"))
		}
	}
	return s
}

// foreignOf returns the headers that are not retryd's.
func foreignOf(headers []Header) []Header {
	var foreign []Header
	for _, h := range headers {
		if !Own(h.Key) {
			foreign = append(foreign, h)
		}
	}
	return foreign
}
