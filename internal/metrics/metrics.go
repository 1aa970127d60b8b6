// Package metrics declares every series of retryd, once, against a registerer
// that is handed in. docs/metrics.md lists them.
//
// Label values are closed sets and exist at 0 from the start, so that a rate over
// the first failure is not lost. It measures nothing by itself: whoever sees
// something calls a method, which costs a few atomic additions.
package metrics

import (
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics holds the series of a process. It is safe for concurrent use, as are its
// relays and tiers.
type Metrics struct {
	attempts            *prometheus.CounterVec
	breakerOpen         *prometheus.CounterVec
	breakerState        *prometheus.GaugeVec
	breakerTransitions  *prometheus.CounterVec
	certificateErrors   *prometheus.CounterVec
	certificateNotAfter *prometheus.GaugeVec
	commits             *prometheus.CounterVec
	completedSet        *prometheus.GaugeVec
	controlIgnored      prometheus.Counter
	deadLetterRecords   *prometheus.GaugeVec
	deadLetters         *prometheus.CounterVec
	deliveries          *prometheus.CounterVec
	deliveryDuration    *prometheus.HistogramVec
	endToEnd            *prometheus.HistogramVec
	endpointLimit       *prometheus.GaugeVec
	endpointPaused      *prometheus.GaugeVec
	endpointUnreachable *prometheus.GaugeVec
	escalations         *prometheus.CounterVec
	foreignRecords      *prometheus.CounterVec
	furthestDue         *prometheus.GaugeVec
	ignoredAnswers      *prometheus.CounterVec
	ignoredHeaders      *prometheus.CounterVec
	inFlight            *prometheus.GaugeVec
	inPlace             *prometheus.CounterVec
	kafkaReachable      prometheus.Gauge
	lag                 *prometheus.GaugeVec
	limitSeconds        *prometheus.CounterVec
	lateness            *prometheus.HistogramVec
	limitedFailures     *prometheus.CounterVec
	logLinesDropped     prometheus.Counter
	logWriteErrors      prometheus.Counter
	malformedHeaders    *prometheus.CounterVec
	metadataIgnored     *prometheus.CounterVec
	oldestDueAge        *prometheus.GaugeVec
	oldestRecordAge     *prometheus.GaugeVec
	pausedPartitions    *prometheus.GaugeVec
	produceErrors       *prometheus.CounterVec
	rebalances          *prometheus.CounterVec
	relayHalted         *prometheus.GaugeVec
	relayReady          *prometheus.GaugeVec
	reparks             *prometheus.CounterVec
	reviewRecords       *prometheus.CounterVec
	repeats             *prometheus.CounterVec
	throttled           *prometheus.CounterVec
	unfinished          *prometheus.GaugeVec
	windowBytes         *prometheus.GaugeVec
	windowRecords       *prometheus.GaugeVec
}

// New registers the series. It panics if reg already has one of them. version is
// retryd's own.
func New(reg prometheus.Registerer, version string) *Metrics {
	d := declare{reg}
	d.buildInfo(version)
	return &Metrics{
		attempts: d.counter("retryd_attempts_total",
			"POSTs by the attempt that they were, 1 for a record's first, and by what came of them. A record that is held makes the same attempt again.",
			"relay", "attempt", "outcome"),
		breakerOpen: d.counter("retryd_breaker_open_seconds_total",
			"Time for which the circuit breaker was open or probing, counted once a second.", "relay"),
		breakerState: d.gauge("retryd_breaker_state",
			"1 for the state that the circuit breaker is in (closed: attempts are made; open: none; half_open: a probe is under way), 0 for the others.", "relay", "state"),
		breakerTransitions: d.counter("retryd_breaker_transitions_total",
			"Changes of the circuit breaker's state, by the state that it went into and by what it is or was open for. Each probe is one into half_open and one out of it.", "relay", "state", "cause"),
		certificateErrors: d.counter("retryd_certificate_reload_errors_total",
			"Times that changed files of endpoint.tls could not be used, one for each reason in a row; what was in use stays.", "relay"),
		certificateNotAfter: d.gauge("retryd_endpoint_certificate_not_after_seconds",
			"Unix time at which the client certificate expires that retryd shows to the endpoint; no series without one.", "relay"),
		commits: d.counter("retryd_commits_total",
			"Offset commits, by whether the group's coordinator acknowledged them.", "relay", "tier", "result"),
		completedSet: d.gauge("retryd_completed_set_ratio",
			"How full the room beside a commit is in which the records completed above the committed offset are written, in the fullest partition; measured every 5 s; 1 or more: not all of them fit, and reading pauses.",
			"relay", "tier"),
		controlIgnored: d.counter("retryd_control_records_ignored_total",
			"Records of the control topic that make no sense and are ignored.").WithLabelValues(),
		deadLetterRecords: d.gauge("retryd_dead_letter_records",
			"Records in the dead-letter topic, measured every 5 s. Every instance exports the same number: take the maximum, not the sum.",
			"relay"),
		deadLetters: d.counter("retryd_dead_letters_total",
			"Records written to the dead-letter topic, or to one that a rule names, by the reason and by the class of their last failure.", "relay", "reason", "class"),
		deliveries: d.counter("retryd_deliveries_total",
			"POSTs to the endpoint by what came of them: delivered (accepted), failed (the record goes on to the next tier or the dead-letter topic) or held (no attempt is spent, the record waits and makes the same one again), and by the class and the kind of the failure.",
			"relay", "tier", "outcome", "class", "error_kind"),
		deliveryDuration: d.histogram("retryd_delivery_duration_seconds",
			"Time from the start of a POST to its answer or failure.", durationBuckets(), "relay", "tier"),
		endToEnd: d.histogram("retryd_end_to_end_seconds",
			"Time from the timestamp of the main record, or of one that was written straight into a tier, until the endpoint accepted it, with all waits and attempts.",
			endToEndBuckets(), "relay"),
		endpointLimit: d.gauge("retryd_endpoint_limit",
			"How many POSTs there may be at a time now: max_in_flight, or less by the adaptive limit or while delivery comes back after a pause; 0 during one.", "relay"),
		endpointPaused: d.gauge("retryd_endpoint_paused",
			"1 while delivery pauses, since the circuit breaker is open or the endpoint asks for fewer requests (429), else 0.", "relay"),
		endpointUnreachable: d.gauge("retryd_endpoint_unreachable",
			"1 after five POSTs in a row that got no answer at all (refused, reset, DNS, TLS, timeout), until one gets one, else 0.", "relay"),
		escalations: d.counter("retryd_escalations_total",
			"Records of this tier that were written to a later tier after a failed attempt.", "relay", "tier"),
		foreignRecords: d.counter("retryd_foreign_records_total",
			"Records skipped because they belong to another consumer group: two relays share a topic.", "relay", "tier"),
		furthestDue: d.gauge("retryd_furthest_due_timestamp_seconds",
			"Unix time at which the last of the records that wait is due, those not read yet by the tier's longest delay; 0: none waits.", "relay", "tier", "partition"),
		ignoredAnswers: d.counter("retryd_ignored_answers_total",
			"Values of Retry-After, Retryd-Delay and Retryd-Action in answers of the endpoint that make no sense; the answer counts as one without.", "relay", "header"),
		ignoredHeaders: d.counter("retryd_ignored_headers_total",
			"Retry headers found on records of the main topic, where they mean nothing.", "relay", "header"),
		inFlight: d.gauge("retryd_attempts_in_flight",
			"POSTs that are being made now.", "relay"),
		inPlace: d.counter("retryd_in_place_retries_total",
			"Failed POSTs that are made again where the record is, as part of the same attempt (in_place).", "relay", "tier"),
		kafkaReachable: d.gauge("retryd_kafka_reachable",
			"1 while brokers answer, 0 after two looks in a row, 5 s apart, without an answer.").WithLabelValues(),
		lag: d.gauge("retryd_lag_records",
			"Records of a partition of this instance that are not done, measured every 5 s: due ones should be on their way to the endpoint, held ones wait for their time. Sum it over instances and partitions.",
			"relay", "tier", "partition", "state"),
		lateness: d.histogram("retryd_lateness_seconds",
			"Time from the moment a record was due until its POST started, whatever the cause.", latenessBuckets(), "relay", "tier"),
		limitSeconds: d.counter("retryd_limit_seconds_total",
			"Time for which records were due and a limit kept them back, looked at once a second: max_in_flight (in_flight), rate, the adaptive limit, or the ramp after a pause.", "relay", "limit"),
		limitedFailures: d.counter("retryd_limited_failures_total",
			"Failures that a record may have only endpoint.limited_attempts times: answers like 500, and what rules with action limited match.", "relay"),
		logLinesDropped: d.counter("retryd_log_lines_dropped_total",
			"Log lines of failed attempts, forwards, re-parks and dead letters that were left out because there were too many.").WithLabelValues(),
		logWriteErrors: d.counter("retryd_log_write_errors_total",
			"Log lines that could not be written, as when the disk is full.").WithLabelValues(),
		malformedHeaders: d.counter("retryd_malformed_headers_total",
			"Retry headers with a value that cannot be right; they count as absent.", "relay", "header"),
		metadataIgnored: d.counter("retryd_metadata_ignored_total",
			"Commit metadata that could not be used at assignment of a partition: corrupt, of another topic of the same name, or of more than the partition holds.", "relay", "tier", "reason"),
		oldestDueAge: d.gauge("retryd_oldest_due_age_seconds",
			"For how long records of this partition have been due: the one that is due for longest, or since when all that are due wait to be read; measured every 5 s; 0: nothing is due.",
			"relay", "tier", "partition"),
		oldestRecordAge: d.gauge("retryd_oldest_record_age_seconds",
			"Time since the oldest record of this partition that is not done was first written (the timestamp of its main record), measured every 5 s; 0: there is none.",
			"relay", "tier", "partition"),
		pausedPartitions: d.gauge("retryd_paused_partitions",
			"Partitions that are not read further for want of room, measured every 5 s: the window is full (records), the process holds much, and the partition all that is reserved for it (bytes), or what is completed above the committed offset might soon not fit beside it (completed).",
			"relay", "tier", "reason"),
		produceErrors: d.counter("retryd_produce_errors_total",
			"Writes to a tier, to the dead-letter topic (target dlt), the review topic (review) or one that a rule names (quarantine) that Kafka did not acknowledge; the record is kept and written again.", "relay", "target"),
		rebalances: d.counter("retryd_rebalances_total",
			"Times the consumer group assigned its partitions anew.", "relay", "tier"),
		relayHalted: d.gauge("retryd_relay_halted",
			"1 while the relay is paused (by a person) or stopped (by a rule) until somebody resumes it, else 0.", "relay", "state"),
		relayReady: d.gauge("retryd_relay_ready",
			"1 while every topic stands, every group is joined and nothing else keeps the relay from its work, else 0.", "relay"),
		reparks: d.counter("retryd_reparks_total",
			"Records of this tier that were moved to the tail of a topic without an attempt, because they wait too long for where they were.", "relay", "tier"),
		reviewRecords: d.counter("retryd_review_records_total",
			"Records written to the review topic, by the class of their last failure.", "relay", "class"),
		repeats: d.counter("retryd_repeats_total",
			"Records that failed in the last tier and were written to it again, without an end (on_exhausted: repeat_last).", "relay"),
		throttled: d.counter("retryd_throttled_records_total",
			"Records of this tier that were written, without an attempt, to where they wait, because the endpoint asked for time (429).", "relay", "tier"),
		unfinished: d.gauge("retryd_unfinished_ratio",
			"Unfinished records of the last tier's fullest partition as a share of max_unfinished, measured every 5 s: above 1, what fails there is dead-lettered; 0 where nothing is repeated.",
			"relay", "tier"),
		windowBytes: d.gauge("retryd_window_bytes",
			"Size of the records held in memory, measured every 5 s; 0 without a session.", "relay", "tier"),
		windowRecords: d.gauge("retryd_window_records",
			"Records held in memory, measured every 5 s; 0 without a session.", "relay", "tier"),
	}
}

// KafkaReachable tells whether a broker answers.
func (m *Metrics) KafkaReachable(reachable bool) { set(m.kafkaReachable, reachable) }

// ControlRecordIgnored counts a record of the control topic that makes no sense.
func (m *Metrics) ControlRecordIgnored() { m.controlIgnored.Inc() }

// LogLineDropped counts a log line that sampling left out.
func (m *Metrics) LogLineDropped() { m.logLinesDropped.Inc() }

// LogWriteError counts a log line that could not be written.
func (m *Metrics) LogWriteError() { m.logWriteErrors.Inc() }

// declare registers series.
type declare struct{ reg prometheus.Registerer }

func (d declare) counter(name, help string, labels ...string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	d.reg.MustRegister(c)
	return c
}

func (d declare) gauge(name, help string, labels ...string) *prometheus.GaugeVec {
	g := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, labels)
	d.reg.MustRegister(g)
	return g
}

func (d declare) histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	d.reg.MustRegister(h)
	return h
}

func (d declare) buildInfo(version string) {
	d.gauge("retryd_build_info", "Always 1; its labels are the versions of retryd and Go.", "version", "goversion").
		WithLabelValues(version, runtime.Version()).Set(1)
}

// endToEndBuckets reach from a delivery at once to the default lifetime.
func endToEndBuckets() []float64 {
	return []float64{
		.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30,
		60, 300, 900, 3600, 4 * 3600, 12 * 3600, 24 * 3600, 72 * 3600,
	}
}

// latenessBuckets reach from a punctual timer to an endpoint that was down for an
// hour.
func latenessBuckets() []float64 {
	return []float64{
		.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5,
		1, 2.5, 5, 10, 30, 60, 300, 900, 3600,
	}
}

// durationBuckets reach from a local endpoint to six times the default timeout.
func durationBuckets() []float64 {
	return []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}
}
