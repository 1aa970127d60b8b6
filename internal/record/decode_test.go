package record

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// headersOf makes headers of name, value pairs.
func headersOf(pairs ...string) []Header {
	var headers []Header
	for i := 0; i < len(pairs); i += 2 {
		headers = append(headers, Header{Key: []byte(pairs[i]), Value: []byte(pairs[i+1])})
	}
	return headers
}

// recordOf is a record of the second tier with the given headers.
func recordOf(pairs ...string) *Record {
	return &Record{
		Topic: "t.retry.2", Partition: 3, Offset: 42, Timestamp: noon,
		Headers: headersOf(pairs...),
	}
}

var defaultSources = ParseIDSources(DefaultIDHeaders())

var tierSource = Source{Step: 2, MaxAttempt: 3, Delay: 30 * time.Second, IDSources: defaultSources, Now: noon}

// bare is what the record of recordOf says without any header.
func bare() State {
	return State{
		Attempt:   2,
		NotBefore: noon.Add(30 * time.Second),
		Trace:     Begin("t.retry.2", noon),
		EventID:   "t.retry.2/3/42@1767355200000",
		Origin:    Position{Topic: "t.retry.2", Partition: 3, Offset: 42, Timestamp: noon},
	}
}

func with(change func(*State)) State {
	s := bare()
	change(&s)
	return s
}

func TestDecodeOnATier(t *testing.T) {
	tests := []struct {
		name     string
		headers  []string
		want     State
		problems []Problem
	}{
		{"no headers: everything is optional", nil, bare(), nil},
		{
			"all headers",
			[]string{
				"x-attempt", "1", "x-limited", "2", "x-first-failure-at", "1767355200001",
				"x-not-before", "1767355200002", "x-trace", "main@2026-01-02T12:00:00.000Z>t@2026-01-02T12:00:00.001Z",
				"x-late-ms", "1500", "x-event-id", "loan-0", "x-origin-topic", "t", "x-origin-partition", "0",
				"x-origin-offset", "7", "x-origin-timestamp", "1767355200000", "x-consumer", "relay/a/b",
				"x-class", "transient", "x-status", "503", "x-error-kind", "status", "x-error", "503 Service Unavailable",
				"x-last-failure-at", "1767355200003",
			},
			State{
				Attempt: 1, Limited: 2, FirstFailure: noon.Add(1e6), NotBefore: noon.Add(2e6),
				Late: 1500 * time.Millisecond, Trace: Begin("main", noon).Fail("t", noon.Add(1e6)),
				EventID: "loan-0", Origin: Position{Topic: "t", Offset: 7, Timestamp: noon}, Consumer: "relay/a/b",
				Last: Failure{
					Class: "transient", Status: 503, Kind: "status", Error: "503 Service Unavailable",
					At: noon.Add(3e6),
				},
			}, nil,
		},
		{
			"the last of a repeated header counts", []string{"x-attempt", "1", "x-attempt", "3", "x-late-ms", "1", "x-late-ms", "x"},
			with(func(s *State) { s.Attempt = 3 }),
			[]Problem{{Header: "x-late-ms", Reason: "must be a decimal number of at most 9223372036854", Value: []byte("x")}},
		},
		{
			"an attempt beyond the schedule is clamped", []string{"x-attempt", "4"},
			with(func(s *State) { s.Attempt = 3 }),
			[]Problem{{Header: "x-attempt", Reason: "is beyond the schedule, taken as 3", Value: []byte("4")}},
		},
		{
			"an attempt of zero is one of retryd's", []string{"x-attempt", "0"},
			with(func(s *State) { s.Attempt = 0 }), nil,
		},
		{
			"a negative number", []string{"x-attempt", "-1"}, bare(),
			[]Problem{{Header: "x-attempt", Reason: "must be a decimal number of at most 9223372036854775807", Value: []byte("-1")}},
		},
		{
			"no int64", []string{"x-not-before", "9223372036854775808"}, bare(),
			[]Problem{{Header: "x-not-before", Reason: "must be a decimal number of at most 9223372036854775807", Value: []byte("9223372036854775808")}},
		},
		{
			"an int64 that is no believable time", []string{"x-not-before", "9223372036854775807"}, bare(),
			[]Problem{{Header: "x-not-before", Reason: "is more than 366 days ahead", Value: []byte("9223372036854775807")}},
		},
		{
			"366 days ahead is believed", []string{"x-not-before", "1798977600000"},
			with(func(s *State) { s.NotBefore = noon.Add(366 * 24 * time.Hour) }), nil,
		},
		{
			"a millisecond more is not", []string{"x-not-before", "1798977600001"}, bare(),
			[]Problem{{Header: "x-not-before", Reason: "is more than 366 days ahead", Value: []byte("1798977600001")}},
		},
		{
			"a count over an int32", []string{"x-limited", "2147483648"}, bare(),
			[]Problem{{Header: "x-limited", Reason: "must be a decimal number of at most 2147483647", Value: []byte("2147483648")}},
		},
		{
			"a long value", []string{"x-late-ms", strings.Repeat("z", 200)}, bare(),
			[]Problem{{Header: "x-late-ms", Reason: "must be a decimal number of at most 9223372036854", Value: bytes.Repeat([]byte("z"), 200)}},
		},
		{
			"a status that is none", []string{"x-status", "42"}, bare(),
			[]Problem{{Header: "x-status", Reason: "is no HTTP status", Value: []byte("42")}},
		},
		{
			"a class that could be no metric label", []string{"x-class", "Tr\nansient"}, bare(),
			[]Problem{{Header: "x-class", Reason: "has a byte that it must not have", Value: []byte("Tr\nansient")}},
		},
		{
			"an error of two lines", []string{"x-error", "a\nb"}, bare(),
			[]Problem{{Header: "x-error", Reason: "has a byte that it must not have", Value: []byte("a\nb")}},
		},
		{
			"a trace that is none", []string{"x-trace", "somewhere"}, bare(),
			[]Problem{{Header: "x-trace", Reason: "has a hop without a time like 2006-01-02T15:04:05.000Z", Value: []byte("somewhere")}},
		},
		{
			"a consumer without a group", []string{"x-consumer", "relay/"}, bare(),
			[]Problem{{Header: "x-consumer", Reason: "names no group behind a slash", Value: []byte("relay/")}},
		},
		{
			"part of an origin", []string{"x-origin-topic", "t", "x-origin-partition", "0", "x-origin-offset", "1"}, bare(),
			[]Problem{{Header: "x-origin-timestamp", Reason: "is missing: the x-origin headers count only together"}},
		},
		{
			"a malformed part of an origin",
			[]string{"x-origin-topic", "t", "x-origin-partition", "0", "x-origin-offset", "x", "x-origin-timestamp", "1"}, bare(),
			[]Problem{{Header: "x-origin-offset", Reason: "must be a decimal number of at most 9223372036854775807", Value: []byte("x")}},
		},
		{
			"an origin without a timestamp",
			[]string{"x-origin-topic", "t", "x-origin-partition", "0", "x-origin-offset", "1", "x-origin-timestamp", "-1"},
			with(func(s *State) { s.Origin = Position{Topic: "t", Offset: 1}; s.EventID = "t/0/1@-1" }), nil,
		},
		{
			"foreign headers say nothing", []string{"X-Attempt", "1", "x-attempts", "1", "x-foreign-x-attempt", "1", "x-replay-count", "x"},
			bare(), nil,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, problems := Decode(recordOf(test.headers...), tierSource)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(test.problems, problems); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDecodeANullHeaderIsMalformed(t *testing.T) {
	r := recordOf()
	r.Headers = []Header{{Key: []byte(HeaderAttempt)}, {Key: []byte(HeaderEventID)}}
	got, problems := Decode(r, tierSource)
	if diff := cmp.Diff(bare(), got); diff != "" {
		t.Error(diff)
	}
	if len(problems) != 2 || problems[0].Ignored || problems[1].Ignored {
		t.Errorf("got %+v", problems)
	}
}

func TestDecodeIgnoresStateOnMain(t *testing.T) {
	r := recordOf("x-attempt", "3", "a", "b", "x-not-before", "1767355200001", "x-event-id", "loan-0", "x-reason", "rejected")
	r.Topic = "t"
	got, problems := Decode(r, Source{Main: true, MaxAttempt: 3, IDSources: defaultSources, Now: noon})
	want := State{
		Trace: Begin("main", noon), EventID: "loan-0",
		Origin: Position{Topic: "t", Partition: 3, Offset: 42, Timestamp: noon},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	wantProblems := []Problem{
		{Header: "x-attempt", Reason: "is ignored on a main record, and carried as x-foreign-x-attempt", Ignored: true},
		{Header: "x-not-before", Reason: "is ignored on a main record, and carried as x-foreign-x-not-before", Ignored: true},
		{Header: "x-reason", Reason: "is ignored on a main record, and carried as x-foreign-x-reason", Ignored: true},
	}
	if diff := cmp.Diff(wantProblems, problems); diff != "" {
		t.Error(diff)
	}
}

func TestDecodeWithoutABelievableTimestamp(t *testing.T) {
	tests := []struct {
		name     string
		at       time.Time
		id       string
		problems int
	}{
		{"none", time.Time{}, "t.retry.2/3/42@-1", 0},
		{"Kafka's -1", time.UnixMilli(-1), "t.retry.2/3/42@-1", 0},
		{"microseconds", time.UnixMilli(noon.UnixMicro()), "t.retry.2/3/42@1767355200000000", 1},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := recordOf()
			r.Timestamp = test.at
			got, problems := Decode(r, tierSource)
			if !got.NotBefore.IsZero() || !got.Origin.Timestamp.IsZero() || got.EventID != test.id || len(problems) != test.problems {
				t.Errorf("got %+v, %v", got, problems)
			}
		})
	}
}

func TestDecodeOfAStepBeyondTheSchedule(t *testing.T) {
	source := tierSource
	source.MaxAttempt = 1
	if got, _ := Decode(recordOf(), source); got.Attempt != 1 {
		t.Errorf("attempt %d, want 1", got.Attempt)
	}
}

func TestDecodeOfAMainRecordAllocatesNothingButTheID(t *testing.T) {
	source := Source{Main: true, MaxAttempt: 3, IDSources: defaultSources, Now: noon}
	for name, r := range map[string]*Record{
		"no headers":  recordOf(),
		"x-event-id":  recordOf("traceparent", "00-0af7651916cd43dd8448eb211c80319c", "x-event-id", "loan-0"),
		"CloudEvents": recordOf("ce_id", "loan-0", "ce_source", "/loans", "content-type", "application/json"),
	} {
		if n := testing.AllocsPerRun(100, func() { Decode(r, source) }); n > 1 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	main := recordOf("traceparent", "00-0af7651916cd43dd8448eb211c80319c", "ce_id", "loan-0", "ce_source", "/loans")
	mainSource := Source{Main: true, MaxAttempt: 3, IDSources: defaultSources, Now: noon}
	b.Run("main", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			Decode(main, mainSource)
		}
	})
	state, _ := Decode(main, mainSource)
	state.Trace = state.Trace.Fail("t.retry.1", noon).Fail("t.retry.2", noon)
	tier := &Record{Topic: "t.retry.2", Headers: AppendHeaders(nil, main, &state, true)}
	b.Run("tier", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			Decode(tier, tierSource)
		}
	})
}
