package harness

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/google/go-cmp/cmp"
)

// epoch is when the made-up runs begin.
var epoch = time.UnixMilli(1_700_000_000_000)

func at(ms int) time.Time { return epoch.Add(time.Duration(ms) * time.Millisecond) }

func millis(ms int) string { return strconv.FormatInt(at(ms).UnixMilli(), 10) }

// run is a made-up run of two tiers, as evidence for the judge.
type run struct {
	t *testing.T
	evidence
}

func newRun(t *testing.T) *run {
	tiers := []Tier{{Topic: "main.retry.1", Delay: time.Second}, {Topic: "main.retry.2", Delay: time.Second}}
	return &run{t: t, evidence: evidence{tiers: tiers, index: newIndex()}}
}

// wrote adds a record to the ledger, at the next offset of the topic main.
func (r *run) wrote(record Record) position { return r.wroteTo("main", record) }

func (r *run) wroteTo(topic string, record Record) position {
	p := position{topic, 0, int64(len(r.entries))}
	e := &entry{Record: record, name: record.ID, topic: topic, sequence: len(r.entries)}
	if e.name == "" {
		e.name = p.String()
	}
	if err := r.index.add(e, p); err != nil {
		r.t.Fatal(err)
	}
	r.entries = append(r.entries, e)
	return p
}

// posted adds a request for the record with the key k and the value v.
func (r *run) posted(id string, p position, attempt, arrived, answered int, status int) *Call {
	r.calls = append(r.calls, Call{
		Request: Request{
			Arrived: at(arrived), EventID: id, Attempt: attempt, Topic: p.topic, Partition: p.partition, Offset: p.offset,
			Key: []byte("k"), Body: []byte("v"), Header: http.Header{},
		},
		Answer: Answer{Status: status}, Answered: at(answered),
	})
	return &r.calls[len(r.calls)-1]
}

// record returns the record with the key k and the value v as a hop holds it.
func hopRecord(topic string, p position, headers ...string) *sarama.ConsumerMessage {
	all := []string{
		headerOriginTopic, p.topic, headerOriginPartition, strconv.Itoa(int(p.partition)),
		headerOriginOffset, strconv.FormatInt(p.offset, 10),
	}
	m := &sarama.ConsumerMessage{Topic: topic, Key: []byte("k"), Value: []byte("v"), Timestamp: epoch}
	all = append(all, headers...)
	for i := 0; i < len(all); i += 2 {
		m.Headers = append(m.Headers, &sarama.RecordHeader{Key: []byte(all[i]), Value: []byte(all[i+1])})
	}
	return m
}

func (r *run) hopped(topic string, p position, headers ...string) *sarama.ConsumerMessage {
	m := hopRecord(topic, p, headers...)
	r.hops = append(r.hops, m)
	return m
}

func (r *run) died(p position, headers ...string) *sarama.ConsumerMessage {
	m := hopRecord("main.DLT", p, headers...)
	r.dead = append(r.dead, m)
	return m
}

// kv is a record that posted and hopped describe truthfully.
func kv(id string) Record { return Record{ID: id, Key: []byte("k"), Value: []byte("v")} }

// ids of the findings of each kind, which is what the tests compare.
type found struct {
	Lost, Early, WrongBytes, Unknown, Repeated, Disordered, WrongAttempts []string
}

func findings(r Report) found {
	return found{
		ids(r.Lost), ids(r.Early), ids(r.WrongBytes), ids(r.Unknown), ids(r.Repeated), ids(r.Disordered), ids(r.WrongAttempts),
	}
}

func ids(list []Finding) []string {
	var all []string
	for _, f := range list {
		all = append(all, f.ID)
	}
	return all
}

func TestJudgeFindsNothingInACleanRun(t *testing.T) {
	r := newRun(t)
	accepted := r.wrote(kv("a"))
	retried := r.wrote(kv(""))
	exhausted := r.wrote(kv("c"))
	direct := r.wroteTo("main.retry.2", kv(""))

	r.posted("a", accepted, 1, 0, 1, 200)
	r.posted("main/0/1@0", retried, 1, 2, 3, 503)
	r.hopped("main.retry.1", retried, headerAttempt, "1", headerNotBefore, millis(1000))
	r.posted("main/0/1@0", retried, 2, 1000, 1001, 200)
	r.posted("c", exhausted, 1, 4, 5, 503)
	r.hopped("main.retry.1", exhausted, headerAttempt, "1", headerNotBefore, millis(1000), headerEventID, "c")
	r.posted("c", exhausted, 2, 1002, 1003, 429)
	r.posted("c", exhausted, 2, 1004, 1005, 503)
	r.hopped("main.retry.2", exhausted, headerAttempt, "2", headerNotBefore, millis(1500), headerEventID, "c")
	r.posted("c", exhausted, 3, 1600, 1601, 503)
	r.died(exhausted, headerAttempt, "3", headerEventID, "c", "x-reason", "exhausted")
	written := r.hopped("main.retry.2", direct)
	written.Headers, written.Offset = nil, direct.offset
	r.posted("main.retry.2/0/3@0", direct, 3, 1700, 1701, 200)

	got := judge(r.evidence)
	if diff := cmp.Diff(found{}, findings(got)); diff != "" {
		t.Errorf("findings (-want +got):\n%s%+v", diff, got)
	}
	want := "written=4 requests=8 accepted=3 dead=1 lost=0 early=0 wrong_bytes=0 unknown=0 repeated=0 disordered=0 wrong_attempts=0"
	if got.String() != want {
		t.Errorf("report\n%s, want\n%s", got, want)
	}
}

func TestJudgeCatchesEachFault(t *testing.T) {
	tests := []struct {
		name string
		run  func(r *run)
		want found
	}{
		{"lost: never requested", func(r *run) { r.wrote(kv("a")) }, found{Lost: []string{"a"}}},
		{"lost: failed and then forgotten in a tier", func(r *run) {
			p := r.wrote(kv("a"))
			r.posted("a", p, 1, 0, 1, 503)
			r.hopped("main.retry.1", p, headerAttempt, "1", headerNotBefore, millis(9))
		}, found{Lost: []string{"a"}}},
		{"lost: the only request was never answered", func(r *run) {
			r.posted("a", r.wrote(kv("a")), 1, 0, 1, 200).Answered = time.Time{}
		}, found{Lost: []string{"a"}}},
		{"repeated: accepted twice", func(r *run) {
			p := r.wrote(kv("a"))
			r.posted("a", p, 1, 0, 1, 200)
			r.posted("a", p, 2, 2, 3, 200)
		}, found{Repeated: []string{"a"}}},
		{"repeated: accepted and dead-lettered", func(r *run) {
			p := r.wrote(kv("a"))
			r.posted("a", p, 1, 0, 1, 200)
			r.died(p)
		}, found{Repeated: []string{"a"}}},
		{"repeated: dead-lettered twice", func(r *run) {
			p := r.wrote(kv("a"))
			r.died(p)
			r.died(p)
		}, found{Repeated: []string{"a"}}},
		{"early: by one millisecond", func(r *run) {
			p := r.wrote(kv("a"))
			r.posted("a", p, 1, 0, 1, 503)
			r.hopped("main.retry.1", p, headerAttempt, "1", headerNotBefore, millis(500))
			r.posted("a", p, 2, 499, 500, 200)
		}, found{Early: []string{"a"}}},
		{"early: on the last hop only", func(r *run) {
			p := r.wrote(kv(""))
			r.posted("i", p, 1, 0, 1, 503)
			r.hopped("main.retry.1", p, headerAttempt, "1", headerNotBefore, millis(10))
			r.posted("i", p, 2, 10, 11, 503)
			r.hopped("main.retry.2", p, headerAttempt, "2", headerNotBefore, millis(100))
			r.posted("i", p, 3, 12, 13, 200)
		}, found{Early: []string{"main/0/0"}}},
		{"early: a record without headers waits for its tier's delay", func(r *run) {
			p := r.wroteTo("main.retry.2", kv(""))
			r.hops = append(r.hops, &sarama.ConsumerMessage{
				Topic: p.topic, Offset: p.offset, Key: []byte("k"), Value: []byte("v"), Timestamp: epoch,
			})
			r.posted("i", p, 3, 999, 1000, 200)
		}, found{Early: []string{"main.retry.2/0/0"}}},
		{"wrong bytes: body", func(r *run) {
			r.posted("a", r.wrote(kv("a")), 1, 0, 1, 200).Body = []byte("w")
		}, found{WrongBytes: []string{"a"}}},
		{"wrong bytes: key of a request", func(r *run) {
			r.posted("a", r.wrote(kv("a")), 1, 0, 1, 200).Key = nil
		}, found{WrongBytes: []string{"a"}}},
		{"wrong bytes: a tombstone that is not marked", func(r *run) {
			r.posted("a", r.wrote(Record{ID: "a", Key: []byte("k")}), 1, 0, 1, 200).Body = nil
		}, found{WrongBytes: []string{"a"}}},
		{"wrong bytes: an empty value that is marked as a tombstone", func(r *run) {
			c := r.posted("a", r.wrote(Record{ID: "a", Key: []byte("k"), Value: []byte{}}), 1, 0, 1, 200)
			c.Body = nil
			c.Header.Set("Retryd-Tombstone", "true")
		}, found{WrongBytes: []string{"a"}}},
		{"wrong bytes: another event id", func(r *run) {
			r.posted("b", r.wrote(kv("a")), 1, 0, 1, 200)
		}, found{WrongBytes: []string{"a"}}},
		{"wrong bytes: an event id that changes", func(r *run) {
			p := r.wrote(kv(""))
			r.posted("first", p, 1, 0, 1, 503)
			r.hopped("main.retry.1", p, headerAttempt, "1", headerNotBefore, millis(9), headerEventID, "first")
			r.posted("second", p, 2, 10, 11, 200)
		}, found{WrongBytes: []string{"main/0/0"}}},
		{"wrong bytes: value of a hop", func(r *run) {
			p := r.wrote(kv("a"))
			r.hopped("main.retry.1", p).Value = []byte("w")
			r.died(p)
		}, found{WrongBytes: []string{"a"}}},
		{"wrong bytes: null became empty in a dead letter", func(r *run) {
			r.died(r.wrote(Record{ID: "a", Value: []byte("v")})).Key = []byte{}
		}, found{WrongBytes: []string{"a"}}},
		{"unknown: a request", func(r *run) {
			r.posted("aborted", position{"main", 0, 7}, 1, 0, 1, 200)
		}, found{Unknown: []string{"aborted"}}},
		{"unknown: a dead letter", func(r *run) {
			r.died(position{"main", 0, 7}, headerEventID, "aborted")
		}, found{Unknown: []string{"aborted"}}},
		{"disordered: the second was accepted first", func(r *run) {
			first, second := r.wrote(kv("a")), r.wrote(kv("b"))
			r.posted("b", second, 1, 0, 1, 200)
			r.posted("a", first, 1, 2, 3, 200)
		}, found{Disordered: []string{"b"}}},
		{"disordered: arrival does not count, acceptance does", func(r *run) {
			first, second := r.wrote(kv("a")), r.wrote(kv("b"))
			r.posted("a", first, 1, 0, 9, 200)
			r.posted("b", second, 1, 1, 8, 200)
		}, found{Disordered: []string{"b"}}},
		{"wrong attempts: the first is not 1", func(r *run) {
			r.posted("a", r.wrote(kv("a")), 2, 0, 1, 200)
		}, found{WrongAttempts: []string{"a"}}},
		{"wrong attempts: a failed attempt came again", func(r *run) {
			p := r.wrote(kv("a"))
			r.posted("a", p, 1, 0, 1, 503)
			r.posted("a", p, 1, 2, 3, 200)
		}, found{WrongAttempts: []string{"a"}}},
		{"wrong attempts: one was left out", func(r *run) {
			p := r.wrote(kv("a"))
			r.posted("a", p, 1, 0, 1, 503)
			r.posted("a", p, 3, 2, 3, 200)
		}, found{WrongAttempts: []string{"a"}}},
		{"wrong attempts: being throttled spent one", func(r *run) {
			p := r.wrote(kv("a"))
			r.posted("a", p, 1, 0, 1, 429)
			r.posted("a", p, 2, 2, 3, 200)
		}, found{WrongAttempts: []string{"a"}}},
		{"wrong attempts: a record of tier 2 begins at 3", func(r *run) {
			r.posted("i", r.wroteTo("main.retry.2", kv("")), 1, 0, 1, 200)
		}, found{WrongAttempts: []string{"main.retry.2/0/0"}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRun(t)
			tt.run(r)
			if diff := cmp.Diff(tt.want, findings(judge(r.evidence))); diff != "" {
				t.Errorf("findings (-want +got):\n%s", diff)
			}
		})
	}
}

func TestJudgeLeavesOrderToKeysAndRepeats(t *testing.T) {
	r := newRun(t)
	first := r.wrote(kv("a"))
	other := r.wrote(Record{ID: "b", Key: []byte("other"), Value: []byte("v")})
	keyless := r.wrote(Record{ID: "c", Value: []byte("v")})
	r.posted("b", other, 1, 0, 1, 200).Key = []byte("other")
	r.posted("c", keyless, 1, 2, 3, 200).Key = nil
	r.posted("a", first, 1, 4, 5, 200)
	r.posted("b", other, 1, 6, 7, 200).Key = []byte("other")
	got := findings(judge(r.evidence))
	if diff := cmp.Diff([]string(nil), got.Disordered); diff != "" {
		t.Errorf("disordered (-want +got):\n%s", diff)
	}
}

func TestJudgeTakesTheEarliestOfSeveralHops(t *testing.T) {
	r := newRun(t)
	p := r.wrote(kv("a"))
	r.hopped("main.retry.1", p, headerAttempt, "1", headerNotBefore, millis(900))
	r.hopped("main.retry.1", p, headerAttempt, "1", headerNotBefore, millis(500))
	r.posted("a", p, 2, 600, 601, 200)
	if got := findings(judge(r.evidence)).Early; got != nil {
		t.Errorf("early %v, want none: one of the hops was due", got)
	}
}

func TestJudgeComparesForeignHeaders(t *testing.T) {
	h := func(name, value string) sarama.RecordHeader {
		return sarama.RecordHeader{Key: []byte(name), Value: []byte(value)}
	}
	tests := []struct {
		name    string
		topic   string
		written []sarama.RecordHeader
		hop     []string // behind the origin headers
		wrong   bool
	}{
		{"kept in order with repeats", "main", []sarama.RecordHeader{h("b", "1"), h("a", "2"), h("b", "3")}, []string{"b", "1", "a", "2", "b", "3"}, false},
		{"mixed with retryd's own", "main", []sarama.RecordHeader{h("a", "1"), h("b", "2")}, []string{"x-attempt", "1", "a", "1", "x-trace", "...", "b", "2"}, false},
		{"one is missing", "main", []sarama.RecordHeader{h("a", "1"), h("b", "2")}, []string{"a", "1"}, true},
		{"one came twice", "main", []sarama.RecordHeader{h("a", "1")}, []string{"a", "1", "a", "1"}, true},
		{"swapped", "main", []sarama.RecordHeader{h("a", "1"), h("b", "2")}, []string{"b", "2", "a", "1"}, true},
		{"value changed", "main", []sarama.RecordHeader{h("a", "1")}, []string{"a", "2"}, true},
		{"null became empty", "main", []sarama.RecordHeader{{Key: []byte("a")}}, []string{"a", ""}, true},
		{"one was made up", "main", nil, []string{"x-made-up", "1"}, true},
		{"an own name is carried", "main", []sarama.RecordHeader{h("x-attempt", "app")}, []string{"x-attempt", "1", "x-foreign-x-attempt", "app"}, false},
		{"an own name is dropped", "main", []sarama.RecordHeader{h("x-attempt", "app")}, []string{"x-attempt", "1"}, true},
		{"an own name in a tier is state", "main.retry.1", []sarama.RecordHeader{h("x-attempt", "1"), h("a", "1")}, []string{"a", "1", "x-attempt", "2"}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := newRun(t)
			r.died(r.wroteTo(tt.topic, Record{Key: []byte("k"), Value: []byte("v"), Headers: tt.written}), tt.hop...)
			got := judge(r.evidence)
			if wrong := len(got.WrongBytes) > 0; wrong != tt.wrong {
				t.Errorf("wrong bytes %v, want %v", got.WrongBytes, tt.wrong)
			}
		})
	}
}

func TestReportCheckFailsOnBrokenPromisesAlone(t *testing.T) {
	one := []Finding{{"loan-7", "why"}}
	tests := []struct {
		name   string
		report Report
		want   string
	}{
		{"lost", Report{Lost: one}, "\nlost: loan-7: why"},
		{"early", Report{Early: one}, "\nearly: loan-7: why"},
		{"wrong bytes", Report{WrongBytes: one}, "\nwrong bytes: loan-7: why"},
		{"unknown", Report{Unknown: one}, "\nunknown: loan-7: why"},
		{"repeats, order and attempts are the test's", Report{Repeated: one, Disordered: one, WrongAttempts: one}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.report.broken(); got != tt.want {
				t.Errorf("broken %q, want %q", got, tt.want)
			}
		})
	}
}
