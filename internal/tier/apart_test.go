package tier

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/retryd/retryd/internal/kafka"
	"github.com/retryd/retryd/internal/metrics"
	"github.com/retryd/retryd/internal/policy"
	"github.com/retryd/retryd/test/harness"
)

// ends are the topics in which a rig's records end, and what was written there.
type ends struct {
	registry                *prometheus.Registry
	dlt, review, quarantine *fakeWriter
}

// keptApart gives a rig a dead-letter topic, a topic that a rule may name, and a review
// topic if there is one.
func keptApart(r *rig, review bool) ends {
	e := ends{prometheus.NewRegistry(), nil, &fakeWriter{}, &fakeWriter{}}
	_, e.dlt = routed(r, nil, nil)
	rt := r.relay.routes.Load()
	rt.dlt.label = metrics.TargetDLT
	rt.apart = map[string]*target{
		"orders.bad": {writer: e.quarantine, topic: "orders.bad", label: metrics.TargetQuarantine, partitions: 1},
	}
	if review {
		r.relay.schedule.Review = "orders.review"
		rt.apart["orders.review"] = &target{writer: e.review, topic: "orders.review", label: metrics.TargetReview, partitions: 1}
	}
	r.relay.metrics = metrics.New(e.registry, "test").Relay("orders", 3)
	return e
}

// counts are the sums of the series of dead letters, records to review, and writes that
// failed.
func (e ends) counts(t *testing.T) (dead, reviewed, failed float64) {
	t.Helper()
	families, err := e.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	sums := map[string]float64{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			sums[f.GetName()] += m.GetCounter().GetValue()
		}
	}
	return sums["retryd_dead_letters_total"], sums["retryd_review_records_total"], sums["retryd_produce_errors_total"]
}

func TestDeadLettersAreKeptApart(t *testing.T) {
	review, named := policy.VerdictOf(policy.ClassConflict), policy.Verdict{Treatment: policy.TreatDeadLetter, Class: policy.ClassInvalid, DLT: "orders.bad"}
	tests := []struct {
		name           string
		verdict        policy.Verdict
		review         bool
		topic, reason  string
		dead, reviewed float64
	}{
		{"to review", review, true, "orders.review", "conflict", 0, 1},
		{"without a review topic", review, false, "orders.DLT", "conflict", 1, 0},
		{"the topic of a rule", named, true, "orders.bad", "rejected", 1, 0},
		{"a dead letter like others", policy.VerdictOf(policy.ClassInvalid), true, "orders.DLT", "rejected", 1, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := tierRig(t)
				defer r.stop()
				e := keptApart(r, tt.review)
				r.read(time.Now())
				judgedAs(r, r.worker(), tt.verdict)
				written := map[string]int{}
				for topic, w := range map[string]*fakeWriter{"orders.DLT": e.dlt, "orders.review": e.review, "orders.bad": e.quarantine} {
					for _, m := range w.written() {
						written[topic]++
						for name, want := range map[string]string{
							"x-reason": tt.reason, "x-class": string(tt.verdict.Class), "x-attempt": "2", "x-error": "status 503",
							"x-response": "no", "x-app-version": "7", "x-retryd-version": "test",
						} {
							if got := header(m, name); got != want {
								t.Errorf("%s is %q, want %q", name, got, want)
							}
						}
						if trace := header(m, "x-trace"); !strings.Contains(trace, ">"+tt.topic+"@") {
							t.Errorf("x-trace is %q, want one that ends in %s", trace, tt.topic)
						}
					}
				}
				if diff := cmp.Diff(map[string]int{tt.topic: 1}, written); diff != "" {
					t.Errorf("written (-want +got):\n%s", diff)
				}
				if dead, reviewed, _ := e.counts(t); dead != tt.dead || reviewed != tt.reviewed {
					t.Errorf("%v dead letters and %v to review counted, want %v and %v", dead, reviewed, tt.dead, tt.reviewed)
				}
				if low := r.low(); low != 1 {
					t.Errorf("watermark %d, want 1", low)
				}
			})
		})
	}
}

func TestRecordTooLargeForTheReviewTopicIsADeadLetter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := tierRig(t)
		defer r.stop()
		e := keptApart(r, true)
		e.review.errs = []error{kafka.ErrTooLarge}
		r.read(time.Now())
		judgedAs(r, r.worker(), policy.VerdictOf(policy.ClassConflict))
		if len(e.review.written()) != 1 || len(e.dlt.written()) != 1 {
			t.Fatalf("%d writes to the review topic and %d to the dead-letter topic, want one of each", len(e.review.written()), len(e.dlt.written()))
		}
		dead := e.dlt.written()[0]
		for name, want := range map[string]string{"x-reason": "oversize", "x-class": "conflict", "x-attempt": "2", "x-response": ""} {
			if got := header(dead, name); got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
		if trace := header(dead, "x-trace"); !strings.Contains(trace, ">orders.DLT@") || strings.Contains(trace, "orders.review") {
			t.Errorf("x-trace is %q, want one that ends in the dead-letter topic alone", trace)
		}
		if dead, reviewed, failed := e.counts(t); dead != 1 || reviewed != 0 || failed != 1 {
			t.Errorf("%v dead letters, %v to review, %v failed writes counted, want 1, 0, 1", dead, reviewed, failed)
		}
	})
}

// It waits for its own topic: the dead-letter topic is not where people look for it.
func TestReviewTopicThatTakesNothingIsWrittenToAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := tierRig(t)
		defer r.stop()
		e := keptApart(r, true)
		e.review.errs = []error{errors.New("no leader")}
		r.read(time.Now())
		judgedAs(r, r.worker(), policy.VerdictOf(policy.ClassConflict))
		synctest.Wait()
		want := "cannot write to topic orders.review, its records are held: no leader"
		if p := r.relay.Status().Problems; len(p) != 1 || p[0].Text != want {
			t.Errorf("problems %v, want %q", p, want)
		}
		time.Sleep(resendPause)
		synctest.Wait()
		if low := r.low(); low != 1 || len(e.review.written()) != 2 || len(e.dlt.written()) != 0 {
			t.Errorf("watermark %d after %d writes to the review topic and %d to the dead-letter topic, want 1, 2, 0",
				low, len(e.review.written()), len(e.dlt.written()))
		}
	})
}

func TestMeasureCountsWhatIsToReview(t *testing.T) {
	f := newField(t, func(r harness.Request) harness.Answer {
		if r.EventID == "bad" {
			return harness.Answer{Status: http.StatusUnprocessableEntity}
		}
		return harness.Answer{Status: http.StatusConflict}
	})
	registry := prometheus.NewRegistry()
	f.deps.Metrics = metrics.New(registry, "test")
	harness.CreateTopic(t, f.brokers, "orders", 2, nil)
	c := f.waitingRelay("orders")
	c.Review.Enabled = true
	r, _ := f.run(t, c)
	if s := r.Status(); s.Review == nil || s.Review.Topic != "orders.review" || s.Review.Records != nil {
		t.Errorf("before a measurement: %+v, want a topic that is not counted", s.Review)
	}
	f.write(t, "a", "b", "bad")
	harness.WaitFor(t, time.Minute, "two records to review and a dead letter", func() bool {
		if err := Measure(f.cluster, []*Relay{r}, time.Now()); err != nil {
			t.Fatal(err)
		}
		s := r.Status()
		return counted(s.Review.Records) == "2" && counted(s.DLT.Records) == "1"
	})
	want := `
		# HELP retryd_dead_letter_records Records in the dead-letter topic, measured every 5 s. Every instance exports the same number: take the maximum, not the sum.
		# TYPE retryd_dead_letter_records gauge
		retryd_dead_letter_records{relay="orders"} 1
	`
	if err := testutil.GatherAndCompare(registry, strings.NewReader(want), "retryd_dead_letter_records"); err != nil {
		t.Error(err)
	}
}
