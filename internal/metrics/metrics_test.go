package metrics

import (
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/retryd/retryd/internal/policy"
	"github.com/retryd/retryd/internal/record"
	"github.com/retryd/retryd/internal/status"
)

// oneOfEach registers everything with one relay, its main topic and one tier.
func oneOfEach() (*prometheus.Registry, *Metrics, *Relay, *Tier) {
	reg := prometheus.NewPedanticRegistry()
	m := New(reg, "1.2.3")
	r := m.Relay("loans", 1)
	r.Tier(TierMain)
	return reg, m, r, r.Tier("1")
}

// snapshot maps each series that is not 0 to its value; of a histogram the count
// and the sum.
func snapshot(t *testing.T, reg prometheus.Gatherer) map[string]float64 {
	t.Helper()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := make(map[string]float64)
	put := func(name string, v float64) {
		if v != 0 {
			values[name] = v
		}
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			name := f.GetName() + "{" + strings.Join(labels, ",") + "}"
			put(name, m.GetCounter().GetValue()+m.GetGauge().GetValue())
			put(name+" count", float64(m.GetHistogram().GetSampleCount()))
			put(name+" sum", m.GetHistogram().GetSampleSum())
		}
	}
	return values
}

func TestEachMethodMovesItsSeriesAndNoOther(t *testing.T) {
	post := func(class policy.Class, kind policy.Kind) *policy.Outcome {
		return &policy.Outcome{Verdict: policy.VerdictOf(class), Kind: kind, Duration: 250 * time.Millisecond}
	}
	const attempts = "retryd_attempts_total{"
	const duration = "retryd_delivery_duration_seconds{relay=loans,tier=1} "
	const deliveries = "retryd_deliveries_total{"
	const deadLetters = "retryd_dead_letters_total{"
	tests := []struct {
		name string
		call func(*Metrics, *Relay, *Tier)
		want map[string]float64
	}{
		{"nothing", func(*Metrics, *Relay, *Tier) {}, map[string]float64{}},
		{"log line dropped", func(m *Metrics, _ *Relay, _ *Tier) { m.LogLineDropped() },
			map[string]float64{"retryd_log_lines_dropped_total{}": 1}},
		{"log write error", func(m *Metrics, _ *Relay, _ *Tier) { m.LogWriteError() },
			map[string]float64{"retryd_log_write_errors_total{}": 1}},
		{"Kafka reachable", func(m *Metrics, _ *Relay, _ *Tier) { m.KafkaReachable(true) },
			map[string]float64{"retryd_kafka_reachable{}": 1}},
		{"Kafka reachable no more", func(m *Metrics, _ *Relay, _ *Tier) { m.KafkaReachable(true); m.KafkaReachable(false) },
			map[string]float64{}},
		{"attempts", func(_ *Metrics, r *Relay, _ *Tier) { r.Attempt(1, Failed); r.Attempt(1, Held); r.Attempt(2, Delivered) },
			map[string]float64{attempts + "attempt=1,outcome=failed,relay=loans}": 1, attempts + "attempt=1,outcome=held,relay=loans}": 1,
				attempts + "attempt=2,outcome=delivered,relay=loans}": 1}},
		{"attempt beyond the schedule", func(_ *Metrics, r *Relay, _ *Tier) { r.Attempt(3, Failed); r.Attempt(900, Failed) },
			map[string]float64{attempts + "attempt=2,outcome=failed,relay=loans}": 2}},
		{"attempt before the first", func(_ *Metrics, r *Relay, _ *Tier) { r.Attempt(0, Failed); r.Attempt(-1, Failed) },
			map[string]float64{attempts + "attempt=1,outcome=failed,relay=loans}": 2}},
		{"end to end", func(_ *Metrics, r *Relay, _ *Tier) { r.EndToEnd(1500 * time.Millisecond); r.EndToEnd(-time.Hour) },
			map[string]float64{"retryd_end_to_end_seconds{relay=loans} count": 2, "retryd_end_to_end_seconds{relay=loans} sum": 1.5}},
		{"dead letter records", func(_ *Metrics, r *Relay, _ *Tier) { r.SetDeadLetterRecords(9); r.SetDeadLetterRecords(7) },
			map[string]float64{"retryd_dead_letter_records{relay=loans}": 7}},
		{"certificate", func(_ *Metrics, r *Relay, _ *Tier) { r.SetCertificateNotAfter(time.Unix(1_800_000_000, 5)) },
			map[string]float64{"retryd_endpoint_certificate_not_after_seconds{relay=loans}": 1_800_000_000}},
		{"certificate that cannot be used", func(_ *Metrics, r *Relay, _ *Tier) { r.CertificateReloadError() },
			map[string]float64{"retryd_certificate_reload_errors_total{relay=loans}": 1}},
		{"unreachable", func(_ *Metrics, r *Relay, _ *Tier) { r.EndpointUnreachable(true) },
			map[string]float64{"retryd_endpoint_unreachable{relay=loans}": 1}},
		{"reachable again", func(_ *Metrics, r *Relay, _ *Tier) { r.EndpointUnreachable(true); r.EndpointUnreachable(false) },
			map[string]float64{}},
		{"in flight", func(_ *Metrics, r *Relay, _ *Tier) { r.InFlight(1); r.InFlight(1); r.InFlight(-1) },
			map[string]float64{"retryd_attempts_in_flight{relay=loans}": 1}},
		{"throttled", func(_ *Metrics, r *Relay, _ *Tier) { r.Gate(policy.PhaseClosed, policy.FaultThrottled) },
			map[string]float64{"retryd_endpoint_paused{relay=loans}": 1}},
		{"throttled no more", func(_ *Metrics, r *Relay, _ *Tier) {
			r.Gate(policy.PhaseClosed, policy.FaultThrottled)
			r.Gate(policy.PhaseClosed, policy.FaultNone)
		}, map[string]float64{}},
		{"breaker open, and a probe that fails for another reason", func(_ *Metrics, r *Relay, _ *Tier) {
			r.Gate(policy.PhaseOpen, policy.FaultUnreachable)
			r.Gate(policy.PhaseHalfOpen, policy.FaultUnreachable)
			r.Gate(policy.PhaseOpen, policy.FaultFailing)
		}, map[string]float64{
			"retryd_endpoint_paused{relay=loans}":                                             1,
			"retryd_breaker_state{relay=loans,state=open}":                                    1,
			"retryd_breaker_transitions_total{cause=unreachable,relay=loans,state=open}":      1,
			"retryd_breaker_transitions_total{cause=unreachable,relay=loans,state=half_open}": 1,
			"retryd_breaker_transitions_total{cause=failing,relay=loans,state=open}":          1,
		}},
		{"breaker closed again", func(_ *Metrics, r *Relay, _ *Tier) {
			r.Gate(policy.PhaseOpen, policy.FaultRejecting)
			r.Gate(policy.PhaseHalfOpen, policy.FaultRejecting)
			r.Gate(policy.PhaseClosed, policy.FaultNone)
		}, map[string]float64{
			"retryd_breaker_transitions_total{cause=rejecting,relay=loans,state=open}":      1,
			"retryd_breaker_transitions_total{cause=rejecting,relay=loans,state=half_open}": 1,
			"retryd_breaker_transitions_total{cause=rejecting,relay=loans,state=closed}":    1,
		}},
		{"breaker open for a while", func(_ *Metrics, r *Relay, _ *Tier) { r.BreakerOpen(1500 * time.Millisecond) },
			map[string]float64{"retryd_breaker_open_seconds_total{relay=loans}": 1.5}},
		{"limit", func(_ *Metrics, r *Relay, _ *Tier) { r.Limit(16); r.Limit(3) },
			map[string]float64{"retryd_endpoint_limit{relay=loans}": 3}},
		{"kept back by a limit", func(_ *Metrics, r *Relay, _ *Tier) { r.Limiting(policy.LimitRate, time.Second) },
			map[string]float64{"retryd_limit_seconds_total{limit=rate,relay=loans}": 1}},
		{"halted", func(_ *Metrics, r *Relay, _ *Tier) { r.Halted(status.Stopped); r.Halted(status.Paused) },
			map[string]float64{"retryd_relay_halted{relay=loans,state=paused}": 1}},
		{"halted no more", func(_ *Metrics, r *Relay, _ *Tier) { r.Halted(status.Paused); r.Halted("") },
			map[string]float64{}},
		{"control record ignored", func(m *Metrics, _ *Relay, _ *Tier) { m.ControlRecordIgnored() },
			map[string]float64{"retryd_control_records_ignored_total{}": 1}},
		{"ready", func(_ *Metrics, r *Relay, _ *Tier) { r.Ready(true) },
			map[string]float64{"retryd_relay_ready{relay=loans}": 1}},
		{"dead letter", func(_ *Metrics, r *Relay, _ *Tier) { r.DeadLettered(policy.ReasonExhausted, policy.ClassTransient) },
			map[string]float64{deadLetters + "class=transient,reason=exhausted,relay=loans}": 1}},
		{"dead letter that never failed", func(_ *Metrics, r *Relay, _ *Tier) { r.DeadLettered(policy.ReasonExpired, policy.ClassNone) },
			map[string]float64{deadLetters + "class=none,reason=expired,relay=loans}": 1}},
		{"dead letter of a foreign class", func(_ *Metrics, r *Relay, _ *Tier) { r.DeadLettered(policy.ReasonExpired, "hostile") },
			map[string]float64{deadLetters + "class=other,reason=expired,relay=loans}": 1}},
		{"dead letter of a foreign reason", func(_ *Metrics, r *Relay, _ *Tier) { r.DeadLettered("hostile", policy.ClassInvalid) },
			map[string]float64{deadLetters + "class=invalid,reason=other,relay=loans}": 1}},
		{"to review", func(_ *Metrics, r *Relay, _ *Tier) { r.Reviewed(policy.ClassConflict); r.Reviewed("hostile") },
			map[string]float64{"retryd_review_records_total{class=conflict,relay=loans}": 1, "retryd_review_records_total{class=other,relay=loans}": 1}},
		{"malformed header", func(_ *Metrics, r *Relay, _ *Tier) { r.MalformedHeader(record.HeaderTrace) },
			map[string]float64{"retryd_malformed_headers_total{header=x-trace,relay=loans}": 1}},
		{"malformed foreign header", func(_ *Metrics, r *Relay, _ *Tier) { r.MalformedHeader("ce_id") },
			map[string]float64{"retryd_malformed_headers_total{header=other,relay=loans}": 1}},
		{"what the endpoint said in vain", func(_ *Metrics, r *Relay, _ *Tier) {
			r.Answer(&policy.Outcome{Ignored: policy.WordRetryAfter | policy.WordRetrydAction}, false)
			r.Answer(&policy.Outcome{Ignored: policy.WordRetrydAction | policy.WordRetrydDelay}, true)
		},
			map[string]float64{"retryd_ignored_answers_total{header=retry-after,relay=loans}": 1, "retryd_ignored_answers_total{header=retryd-delay,relay=loans}": 1,
				"retryd_ignored_answers_total{header=retryd-action,relay=loans}": 2}},
		{"limited failure", func(_ *Metrics, r *Relay, _ *Tier) {
			r.Answer(post(policy.ClassUnknown, policy.KindStatus), false)
			r.Answer(post(policy.ClassUnknown, policy.KindStatus), true)
			r.Answer(post(policy.ClassTransient, policy.KindStatus), false)
		},
			map[string]float64{"retryd_limited_failures_total{relay=loans}": 1}},
		{"failed as a rule says", func(m *Metrics, _ *Relay, _ *Tier) {
			rule := policy.Rule{Error: []policy.Kind{policy.KindTimeout}, Action: policy.TreatDeadLetter}
			m.Relay("loans", 1, rule).Tier("1").Attempt(&policy.Outcome{Verdict: rule.Verdict(""), Kind: policy.KindTimeout}, false)
		},
			map[string]float64{deliveries + "class=invalid,error_kind=timeout,outcome=failed,relay=loans,tier=1}": 1, "retryd_delivery_duration_seconds{relay=loans,tier=1} count": 1}},
		{"ignored header", func(_ *Metrics, r *Relay, _ *Tier) { r.IgnoredHeader(record.HeaderReason) },
			map[string]float64{"retryd_ignored_headers_total{header=x-reason,relay=loans}": 1}},
		{"produce errors", func(_ *Metrics, r *Relay, _ *Tier) { r.ProduceError("1"); r.ProduceError(TargetDLT) },
			map[string]float64{"retryd_produce_errors_total{relay=loans,target=1}": 1, "retryd_produce_errors_total{relay=loans,target=dlt}": 1}},
		{"delivered", func(_ *Metrics, _ *Relay, tier *Tier) { tier.Attempt(post("", ""), false) },
			map[string]float64{deliveries + "class=none,error_kind=none,outcome=delivered,relay=loans,tier=1}": 1, duration + "count": 1, duration + "sum": .25}},
		{"failed", func(_ *Metrics, _ *Relay, tier *Tier) {
			tier.Attempt(post(policy.ClassTransient, policy.KindTimeout), false)
		},
			map[string]float64{deliveries + "class=transient,error_kind=timeout,outcome=failed,relay=loans,tier=1}": 1, duration + "count": 1, duration + "sum": .25}},
		{"held", func(_ *Metrics, _ *Relay, tier *Tier) {
			tier.Attempt(post(policy.ClassEndpoint, policy.KindStatus), true)
		},
			map[string]float64{deliveries + "class=endpoint,error_kind=status,outcome=held,relay=loans,tier=1}": 1, duration + "count": 1, duration + "sum": .25}},
		{"failed as nothing does", func(_ *Metrics, _ *Relay, tier *Tier) { tier.Attempt(post("hostile", policy.KindStatus), false) },
			map[string]float64{deliveries + "class=other,error_kind=other,outcome=failed,relay=loans,tier=1}": 1, duration + "count": 1, duration + "sum": .25}},
		{"late", func(_ *Metrics, _ *Relay, tier *Tier) { tier.Late(1500 * time.Millisecond); tier.Late(-time.Hour) },
			map[string]float64{"retryd_lateness_seconds{relay=loans,tier=1} count": 2, "retryd_lateness_seconds{relay=loans,tier=1} sum": 1.5}},
		{"re-parked", func(_ *Metrics, _ *Relay, tier *Tier) { tier.Reparked() },
			map[string]float64{"retryd_reparks_total{relay=loans,tier=1}": 1}},
		{"throttled", func(_ *Metrics, _ *Relay, tier *Tier) { tier.Throttled() },
			map[string]float64{"retryd_throttled_records_total{relay=loans,tier=1}": 1}},
		{"in place", func(_ *Metrics, _ *Relay, tier *Tier) { tier.InPlace() },
			map[string]float64{"retryd_in_place_retries_total{relay=loans,tier=1}": 1}},
		{"repeated", func(_ *Metrics, r *Relay, _ *Tier) { r.Repeated() },
			map[string]float64{"retryd_repeats_total{relay=loans}": 1}},
		{"escalated", func(_ *Metrics, _ *Relay, tier *Tier) { tier.Escalated() },
			map[string]float64{"retryd_escalations_total{relay=loans,tier=1}": 1}},
		{"foreign", func(_ *Metrics, _ *Relay, tier *Tier) { tier.Foreign() },
			map[string]float64{"retryd_foreign_records_total{relay=loans,tier=1}": 1}},
		{"partition", func(_ *Metrics, _ *Relay, tier *Tier) {
			tier.SetPartition(7, Partition{Due: 9, Held: 9})
			tier.SetPartition(7, Partition{Due: 2, Held: 3, OldestDue: time.Second, Oldest: time.Minute, Furthest: time.UnixMilli(1_800_000_000_250)})
			tier.SetPartition(8, Partition{OldestDue: -time.Second, Oldest: -time.Minute})
		},
			map[string]float64{"retryd_lag_records{partition=7,relay=loans,state=due,tier=1}": 2, "retryd_lag_records{partition=7,relay=loans,state=held,tier=1}": 3,
				"retryd_oldest_due_age_seconds{partition=7,relay=loans,tier=1}": 1, "retryd_oldest_record_age_seconds{partition=7,relay=loans,tier=1}": 60,
				"retryd_furthest_due_timestamp_seconds{partition=7,relay=loans,tier=1}": 1_800_000_000.25}},
		{"partition of another owner", func(_ *Metrics, _ *Relay, tier *Tier) {
			tier.SetPartition(7, Partition{Due: 2, Held: 3, OldestDue: time.Second, Oldest: time.Minute, Furthest: time.UnixMilli(1)})
			tier.RemovePartition(7)
		}, map[string]float64{}},
		{"window", func(_ *Metrics, _ *Relay, tier *Tier) {
			var w Window
			w.Add(1, 2, .75, PauseRecords)
			w.Add(3, 3, .5, "for a while")
			w.Add(0, 0, 0, PauseRecords)
			w.Repeating = 1.5
			tier.SetWindow(w)
		},
			map[string]float64{"retryd_window_records{relay=loans,tier=1}": 4, "retryd_window_bytes{relay=loans,tier=1}": 5,
				"retryd_completed_set_ratio{relay=loans,tier=1}": .75, "retryd_unfinished_ratio{relay=loans,tier=1}": 1.5, "retryd_paused_partitions{reason=records,relay=loans,tier=1}": 2}},
		{"window of nothing", func(_ *Metrics, _ *Relay, tier *Tier) {
			var w Window
			w.Add(1, 2, 1, PauseCompleted)
			tier.SetWindow(w)
			tier.SetWindow(Window{})
		}, map[string]float64{}},
		{"commit", func(_ *Metrics, _ *Relay, tier *Tier) { tier.Committed(nil) },
			map[string]float64{"retryd_commits_total{relay=loans,result=ok,tier=1}": 1}},
		{"commit error", func(_ *Metrics, _ *Relay, tier *Tier) { tier.Committed(errors.New("fenced")) },
			map[string]float64{"retryd_commits_total{relay=loans,result=error,tier=1}": 1}},
		{"metadata ignored", func(_ *Metrics, _ *Relay, tier *Tier) { tier.MetadataIgnored(MetadataOtherTopic) },
			map[string]float64{"retryd_metadata_ignored_total{reason=other_topic,relay=loans,tier=1}": 1}},
		{"rebalanced", func(_ *Metrics, _ *Relay, tier *Tier) { tier.Rebalanced() },
			map[string]float64{"retryd_rebalances_total{relay=loans,tier=1}": 1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			reg, m, r, tier := oneOfEach()
			tt.call(m, r, tier)
			tt.want["retryd_build_info{goversion="+runtime.Version()+",version=1.2.3}"] = 1
			if tt.want["retryd_breaker_state{relay=loans,state=open}"] == 0 {
				tt.want["retryd_breaker_state{relay=loans,state=closed}"] = 1
			}
			if diff := cmp.Diff(tt.want, snapshot(t, reg)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSeriesExistBeforeAnythingHappens(t *testing.T) {
	reg, _, _, _ := oneOfEach()
	classes, reasons := len(policy.Classes()), len(policy.Reasons())
	for name, want := range map[string]int{
		"retryd_deliveries_total":                       2 * (1 + 2*len(failures(nil))), // two tiers; delivered, failed and held
		"retryd_attempts_total":                         2 * 3,                          // the first and that of tier 1
		"retryd_dead_letters_total":                     reasons * (classes + 1),
		"retryd_reparks_total":                          2,
		"retryd_end_to_end_seconds":                     1,
		"retryd_ignored_answers_total":                  3,
		"retryd_limited_failures_total":                 1,
		"retryd_kafka_reachable":                        1,
		"retryd_log_write_errors_total":                 1,
		"retryd_endpoint_unreachable":                   1,
		"retryd_lag_records":                            0, // no partition is owned yet
		"retryd_dead_letter_records":                    0, // not measured yet: 0 would say that there is none
		"retryd_commits_total":                          2 * 2,
		"retryd_completed_set_ratio":                    2,
		"retryd_paused_partitions":                      2 * 3,
		"retryd_produce_errors_total":                   4, // tier 1 and the topics in which records end
		"retryd_review_records_total":                   classes,
		"retryd_lateness_seconds":                       2,
		"retryd_relay_ready":                            1,
		"retryd_breaker_state":                          3,
		"retryd_breaker_transitions_total":              3 * 4,
		"retryd_breaker_open_seconds_total":             1,
		"retryd_limit_seconds_total":                    4,
		"retryd_endpoint_limit":                         1,
		"retryd_log_lines_dropped_total":                1,
		"retryd_certificate_reload_errors_total":        1,
		"retryd_endpoint_certificate_not_after_seconds": 0, // there may be no certificate
		"retryd_repeats_total":                          1,
		"retryd_throttled_records_total":                2,
		"retryd_in_place_retries_total":                 2,
		"retryd_unfinished_ratio":                       2,
	} {
		if got, err := testutil.GatherAndCount(reg, name); got != want || err != nil {
			t.Errorf("%s: %d series (%v), want %d", name, got, err, want)
		}
	}
}

func TestPartitionSeriesLastAsLongAsItIsOwned(t *testing.T) {
	reg, _, r, tier := oneOfEach()
	main := r.Tier(TierMain)
	names := []string{"retryd_lag_records", "retryd_oldest_due_age_seconds", "retryd_oldest_record_age_seconds", "retryd_furthest_due_timestamp_seconds"}
	count := func(want int) {
		t.Helper()
		if got, err := testutil.GatherAndCount(reg, names...); got != want || err != nil {
			t.Errorf("%d series, %v, want %d", got, err, want)
		}
	}
	count(0)
	tier.SetPartition(0, Partition{})
	tier.SetPartition(1, Partition{})
	main.SetPartition(1, Partition{})
	count(15)
	tier.RemovePartition(1)
	tier.RemovePartition(1)
	tier.RemovePartition(5)
	count(10)
	tier.RemovePartition(0)
	main.RemovePartition(1)
	count(0)
}

func TestEveryFailureThatCanBeHasASeries(t *testing.T) {
	got := make(map[policy.Class][]policy.Kind)
	for _, f := range failures(nil) {
		got[f.class] = append(got[f.class], f.kind)
	}
	want := map[policy.Class][]policy.Kind{
		policy.ClassTransient: {policy.KindStatus, policy.KindTimeout, policy.KindRefused, policy.KindReset, policy.KindDNS},
		policy.ClassThrottled: {policy.KindStatus},
		policy.ClassInvalid:   {policy.KindStatus},
		policy.ClassConflict:  {policy.KindStatus},
		policy.ClassUnknown:   {policy.KindProtocol, policy.KindStatus},
		policy.ClassEndpoint:  {policy.KindStatus, policy.KindTLS},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestWhatRulesCanGiveHasASeries(t *testing.T) {
	rules := []policy.Rule{
		{Status: []policy.Statuses{"4xx"}, Action: policy.TreatRetry, Class: policy.ClassThrottled},
		{Header: map[string]string{"X-A": "*"}, Action: policy.TreatLimited, Class: policy.ClassTransient},
		{Error: []policy.Kind{policy.KindTLS, policy.KindDNS}, Action: policy.TreatReview},
		{Error: []policy.Kind{policy.KindProtocol}, Action: policy.TreatDone},
	}
	got := failures(rules)[len(failures(nil)):]
	want := []delivery{{class: policy.ClassConflict, kind: policy.KindTLS}, {class: policy.ClassConflict, kind: policy.KindDNS}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(delivery{})); diff != "" {
		t.Error(diff)
	}
}

func TestWhatAnEndpointSaysByItselfHasASeries(t *testing.T) {
	for _, treatment := range []policy.Treatment{policy.TreatRetry, policy.TreatDeadLetter, policy.TreatReview} {
		d := delivery{class: treatment.Class(), kind: policy.KindStatus}
		if !slices.Contains(failures(nil), d) {
			t.Errorf("none for %+v", d)
		}
	}
}

func TestSameRelayAndTierShareTheirSeries(t *testing.T) {
	reg, m, r, tier := oneOfEach()
	tier.Escalated()
	r.Tier("1").Escalated()
	m.Relay("loans", 1).Tier("1").Escalated()
	m.Relay("orders", 1).Tier("1").Escalated()
	got := snapshot(t, reg)
	if a, b := got["retryd_escalations_total{relay=loans,tier=1}"], got["retryd_escalations_total{relay=orders,tier=1}"]; a != 3 || b != 1 {
		t.Errorf("loans %v, orders %v, want 3 and 1", a, b)
	}
}

func TestSeriesFollowThePrometheusConventions(t *testing.T) {
	reg, _, r, tier := oneOfEach()
	r.SetDeadLetterRecords(0)
	tier.SetPartition(0, Partition{})
	problems, err := testutil.GatherAndLint(reg)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

func TestBucketsReachAsFarAsTheTimesDo(t *testing.T) {
	reg, _, _, _ := oneOfEach()
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]float64{}
	for _, f := range families {
		for _, b := range f.GetMetric()[0].GetHistogram().GetBucket() {
			got[f.GetName()] = append(got[f.GetName()], b.GetUpperBound())
		}
	}
	want := map[string][]float64{
		// A punctual timer is within a millisecond.
		"retryd_lateness_seconds": {
			.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5,
			1, 2.5, 5, 10, 30, 60, 300, 900, 3600,
		},
		"retryd_delivery_duration_seconds": {.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60},
		"retryd_end_to_end_seconds": {
			.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30,
			60, 300, 900, 3600, 14400, 43200, 86400, 259200,
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("buckets (-want +got):\n%s", diff)
	}
}

func TestHotPathAllocatesNothing(t *testing.T) {
	_, _, r, tier := oneOfEach()
	failed := policy.Outcome{Verdict: policy.VerdictOf(policy.ClassTransient), Kind: policy.KindStatus, Duration: time.Millisecond}
	delivered := policy.Outcome{Verdict: policy.VerdictOf(policy.ClassNone)}
	if n := testing.AllocsPerRun(100, func() {
		tier.Attempt(&failed, false)
		tier.Attempt(&delivered, false)
		tier.Late(time.Millisecond)
		r.Attempt(1, Failed)
		r.Answer(&failed, false)
		r.EndToEnd(time.Second)
	}); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

func BenchmarkAttemptAndLate(b *testing.B) {
	_, _, _, tier := oneOfEach()
	failed := policy.Outcome{Verdict: policy.VerdictOf(policy.ClassTransient), Kind: policy.KindStatus, Duration: time.Millisecond}
	b.ReportAllocs()
	for b.Loop() {
		tier.Attempt(&failed, false)
		tier.Late(time.Millisecond)
	}
}
