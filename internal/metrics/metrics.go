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
	lag              *prometheus.GaugeVec
	deliveries       *prometheus.CounterVec
	deliveryErrors   *prometheus.CounterVec
	deliveryDuration *prometheus.HistogramVec
	lateness         *prometheus.HistogramVec
	escalations      *prometheus.CounterVec
	deadLetters      *prometheus.CounterVec
	inFlight         *prometheus.GaugeVec
	windowRecords    *prometheus.GaugeVec
	windowBytes      *prometheus.GaugeVec
	malformedHeaders *prometheus.CounterVec
	ignoredHeaders   *prometheus.CounterVec
	foreignRecords   *prometheus.CounterVec
	commits          *prometheus.CounterVec
	metadataIgnored  *prometheus.CounterVec
	produceErrors    *prometheus.CounterVec
	rebalances       *prometheus.CounterVec
	endpointPaused   *prometheus.GaugeVec
	relayReady       *prometheus.GaugeVec
	logLinesDropped  prometheus.Counter
}

// New registers the series. It panics if reg already has one of them. version is
// retryd's own.
func New(reg prometheus.Registerer, version string) *Metrics {
	d := declare{reg}
	d.buildInfo(version)
	return &Metrics{
		lag: d.gauge("retryd_lag_records",
			"Records of the assigned partitions that are not done, measured every 5 s: due ones should be on their way to the endpoint, held ones wait for their time. What is not read yet counts as due unless reading has reached its horizon. 0 without a session: look at retryd_relay_ready first.",
			"relay", "tier", "state"),
		deliveries: d.counter("retryd_deliveries_total",
			"POSTs to the endpoint by what came of them: delivered (accepted), failed (the record goes on to the next tier or the dead-letter topic) or held (nothing was judged, the record waits where it is), and by the class of the failure.",
			"relay", "tier", "outcome", "class"),
		deliveryErrors: d.counter("retryd_delivery_errors_total",
			"POSTs that were not accepted, by how they failed; status is an HTTP answer that is no success.",
			"relay", "tier", "error_kind"),
		deliveryDuration: d.histogram("retryd_delivery_duration_seconds",
			"Time from the start of a POST to its answer or failure.", durationBuckets(), "relay", "tier"),
		lateness: d.histogram("retryd_lateness_seconds",
			"Time from the moment a record was due until its POST started, whatever the cause.", latenessBuckets(), "relay", "tier"),
		escalations: d.counter("retryd_escalations_total",
			"Records of this tier that were written to a later tier after a failed attempt.", "relay", "tier"),
		deadLetters: d.counter("retryd_dead_letters_total",
			"Records written to the dead-letter topic, by the reason and by the class of their last failure.", "relay", "reason", "class"),
		inFlight: d.gauge("retryd_attempts_in_flight",
			"POSTs that are being made now.", "relay"),
		windowRecords: d.gauge("retryd_window_records",
			"Records held in memory, measured every 5 s; 0 without a session.", "relay", "tier"),
		windowBytes: d.gauge("retryd_window_bytes",
			"Size of the records held in memory, measured every 5 s; 0 without a session.", "relay", "tier"),
		malformedHeaders: d.counter("retryd_malformed_headers_total",
			"Retry headers with a value that cannot be right; they count as absent.", "relay", "header"),
		ignoredHeaders: d.counter("retryd_ignored_headers_total",
			"Retry headers found on records of the main topic, where they mean nothing.", "relay", "header"),
		foreignRecords: d.counter("retryd_foreign_records_total",
			"Records skipped because they belong to another consumer group: two relays share a topic.", "relay", "tier"),
		commits: d.counter("retryd_commits_total",
			"Offset commits, by whether the group's coordinator acknowledged them.", "relay", "tier", "result"),
		metadataIgnored: d.counter("retryd_metadata_ignored_total",
			"Commit metadata that could not be used at assignment of a partition: corrupt, or of another topic of the same name.", "relay", "tier", "reason"),
		produceErrors: d.counter("retryd_produce_errors_total",
			"Writes to a tier or to the dead-letter topic (target dlt) that Kafka did not acknowledge; the record is kept and written again.", "relay", "target"),
		rebalances: d.counter("retryd_rebalances_total",
			"Times the consumer group assigned its partitions anew.", "relay", "tier"),
		endpointPaused: d.gauge("retryd_endpoint_paused",
			"1 while delivery pauses because the endpoint or its configuration is at fault, else 0.", "relay"),
		relayReady: d.gauge("retryd_relay_ready",
			"1 while every topic stands and every group is joined, else 0; looked at every 30 s and at each join.", "relay"),
		logLinesDropped: d.logLinesDropped(),
	}
}

// LogLineDropped counts a log line that sampling left out.
func (m *Metrics) LogLineDropped() { m.logLinesDropped.Inc() }

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

func (d declare) logLinesDropped() prometheus.Counter {
	return d.counter("retryd_log_lines_dropped_total",
		"Log lines of failed attempts, forwards and dead letters that were left out because there were too many.").WithLabelValues()
}

func (d declare) buildInfo(version string) {
	d.gauge("retryd_build_info", "Always 1; its labels are the versions of retryd and Go.", "version", "goversion").
		WithLabelValues(version, runtime.Version()).Set(1)
}

// latenessBuckets reach from a punctual timer to an endpoint that was down for an
// hour.
func latenessBuckets() []float64 {
	return []float64{
		.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5,
		1, 2.5, 5, 10, 30, 60, 300, 900, 3600,
	}
}

// durationBuckets reach from a local endpoint to six times the default timeout.
func durationBuckets() []float64 {
	return []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}
}
