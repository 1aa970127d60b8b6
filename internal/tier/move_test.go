package tier

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/IBM/sarama"
	"github.com/google/go-cmp/cmp"

	"github.com/retryd/retryd/internal/kafka"
	"github.com/retryd/retryd/internal/policy"
	"github.com/retryd/retryd/internal/record"
)

// moving returns a job whose record goes to a target.
func moving(c *claim, r record.Record, m *move) *job {
	state, _ := record.Decode(&r, record.Source{Main: true, MaxAttempt: 3, Now: time.Now()})
	m.state = state
	return &job{claim: c, record: r, state: state, move: m}
}

func TestMessageKeepsTheRecord(t *testing.T) {
	at := time.UnixMilli(1767323045123)
	c := &claim{consumer: &consumer{source: source{topic: "orders"}}}
	foreign := []record.Header{{Key: []byte("a"), Value: []byte{0xff}}, {Key: []byte("a")}, {Key: []byte{}, Value: []byte{}}}
	tests := []struct {
		name       string
		key, value []byte
		wantKey    sarama.Encoder
		wantValue  sarama.Encoder
	}{
		{"bytes", []byte{0, 1}, []byte{2, 3}, sarama.ByteEncoder{0, 1}, sarama.ByteEncoder{2, 3}},
		{"null", nil, nil, nil, nil},
		{"empty", []byte{}, []byte{}, sarama.ByteEncoder{}, sarama.ByteEncoder{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := record.Record{Topic: "orders", Partition: 7, Offset: 9, Timestamp: at, Key: tt.key, Value: tt.value, Headers: foreign}
			j := moving(c, r, &move{to: &target{partitions: 6}, at: at})
			got := newCodec(Config{Name: "orders", Group: "g"}, "1").message(j)
			if got.Partition != 1 {
				t.Errorf("partition %d, want 7 modulo 6", got.Partition)
			}
			if !got.Timestamp.Equal(at) {
				t.Errorf("timestamp %v, want the decision's", got.Timestamp)
			}
			if diff := cmp.Diff([]sarama.Encoder{tt.wantKey, tt.wantValue}, []sarama.Encoder{got.Key, got.Value}); diff != "" {
				t.Errorf("key and value (-want +got):\n%s", diff)
			}
			for i, h := range foreign {
				if diff := cmp.Diff(sarama.RecordHeader{Key: h.Key, Value: h.Value}, got.Headers[i]); diff != "" {
					t.Errorf("foreign header %d (-want +got):\n%s", i, diff)
				}
			}
			if consumer := header(got, "x-consumer"); consumer != "orders/g" {
				t.Errorf("x-consumer %q, want orders/g", consumer)
			}
			if reason := header(got, "x-reason"); reason != "" {
				t.Errorf("x-reason %q outside the dead-letter topic", reason)
			}
		})
	}
}

func TestTrimmedDeadLetterSaysWhyButNotHow(t *testing.T) {
	c := &claim{consumer: &consumer{source: source{topic: "orders"}}}
	m := &move{
		to: &target{partitions: 1, dlt: true}, response: []byte(strings.Repeat("x", 500)), trimmed: true,
		decision: policy.Decision{Action: policy.ActionDeadLetter, Reason: policy.ReasonOversize},
	}
	j := moving(c, record.Record{Topic: "orders", Timestamp: time.UnixMilli(1)}, m)
	m.state.Last.Error = "status 503"
	got := newCodec(Config{Name: "orders", Group: "g"}, "1").message(j)
	for name, want := range map[string]string{"x-reason": "oversize", "x-response": "", "x-error": "", "x-retryd-version": "1"} {
		if value := header(got, name); value != want {
			t.Errorf("%s is %q, want %q", name, value, want)
		}
	}
}

func header(m *sarama.ProducerMessage, name string) string {
	for _, h := range m.Headers {
		if string(h.Key) == name {
			return string(h.Value)
		}
	}
	return ""
}

// fakeWriter answers each write with the next error, and keeps what was written.
type fakeWriter struct {
	mu   sync.Mutex
	errs []error
	all  []*sarama.ProducerMessage
}

func (w *fakeWriter) Send(m *sarama.ProducerMessage, done kafka.Done) {
	w.mu.Lock()
	w.all = append(w.all, m)
	var err error
	if len(w.errs) > 0 {
		err, w.errs = w.errs[0], w.errs[1:]
	}
	w.mu.Unlock()
	done(0, err)
}

func (w *fakeWriter) written() []*sarama.ProducerMessage {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.all)
}

// routed gives a rig one tier and a dead-letter topic to write to.
func routed(r *rig, tierErrs, dltErrs []error) (tier1, dlt *fakeWriter) {
	tier1, dlt = &fakeWriter{errs: tierErrs}, &fakeWriter{errs: dltErrs}
	to := &target{writer: tier1, topic: "orders.retry.1", partitions: 1}
	r.relay.routes.Store(&routes{
		tiers: []*target{to, to, to},
		dlt:   &target{writer: dlt, topic: "orders.DLT", partitions: 1, dlt: true},
	})
	return tier1, dlt
}

func TestRecordTooLargeForItsTierIsDeadLettered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := tierRig(t)
		defer r.stop()
		tier1, dlt := routed(r, []error{kafka.ErrTooLarge}, nil)
		r.read(time.Now())
		j := r.worker()
		forwarded(r, j)
		if len(tier1.written()) != 1 || len(dlt.written()) != 1 {
			t.Fatalf("%d writes to the tier and %d to the dead-letter topic, want one of each", len(tier1.written()), len(dlt.written()))
		}
		dead := dlt.written()[0]
		for name, want := range map[string]string{"x-reason": "oversize", "x-attempt": "2", "x-error": ""} {
			if got := header(dead, name); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
		if trace := header(dead, "x-trace"); !strings.Contains(trace, ">orders.DLT@") || strings.Contains(trace, ">orders.retry.1@") {
			t.Errorf("x-trace is %q, want one that ends in the dead-letter topic and not in the tier", trace)
		}
		if low := r.low(); low != 1 {
			t.Errorf("watermark %d, want 1: the dead letter is acknowledged", low)
		}
	})
}

func TestDeadLetterTooLargeEvenTrimmedIsHeldAndWrittenAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := tierRig(t)
		defer r.stop()
		tooLarge := kafka.ErrTooLarge
		_, dlt := routed(r, []error{tooLarge}, []error{tooLarge, tooLarge})
		r.read(time.Now())
		forwarded(r, r.worker())
		synctest.Wait()
		if low := r.low(); low != 0 || len(dlt.written()) != 1 {
			t.Fatalf("watermark %d after %d writes, want 0 after one: the dead letter was refused", low, len(dlt.written()))
		}
		time.Sleep(resendPause)
		synctest.Wait()
		if low := r.low(); low != 0 || len(dlt.written()) != 2 {
			t.Fatalf("watermark %d after %d writes, want 0 after two", low, len(dlt.written()))
		}
		r.session.sent.Store(new(time.Now()))
		time.Sleep(resendPause)
		synctest.Wait()
		if low := r.low(); low != 1 || len(dlt.written()) != 3 {
			t.Errorf("watermark %d after %d writes, want 1 after three: the last one was acknowledged", low, len(dlt.written()))
		}
	})
}

// forwarded does what a worker does after an attempt that failed.
func forwarded(r *rig, j *job) { judgedAs(r, j, policy.VerdictOf(policy.ClassTransient)) }

// judgedAs does what a worker does after an attempt of which that is said.
func judgedAs(r *rig, j *job, v policy.Verdict) {
	now := time.Now()
	o := policy.Outcome{Verdict: v, Kind: policy.KindStatus, Status: 503, Error: "status 503", Response: []byte("no"), AppVersion: "7"}
	d := policy.Decide(r.relay.schedule, j.state, o, now, 0)
	to := r.relay.routes.Load().target(d)
	r.judged(j, &move{decision: d, to: to, at: now, response: o.Response, appVersion: o.AppVersion, state: policy.Advance(j.state, o, d, to.topic, now)})
	r.relay.send(j)
}
