package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/retryd/retryd/internal/policy"
)

// TierMain is the label of the main topic, which has no tier number.
const TierMain = "main"

// Tier is the part of one tier of a relay, or of its main topic.
type Tier struct {
	due, held                  prometheus.Gauge
	windowRecords, windowBytes prometheus.Gauge

	delivered            prometheus.Counter
	failed, unjudged     counters[policy.Class]
	errors               counters[policy.Kind]
	duration, lateness   prometheus.Observer
	escalations, foreign prometheus.Counter

	committed, commitErrors prometheus.Counter
	metadata                counters[MetadataFault]
	rebalances              prometheus.Counter
}

// Tier creates the series of a tier. label is TierMain, or the tier's number: "1",
// "2" and so on, also of a tier that is no longer configured but still consumed, or
// "retired-1" where a configured tier has that number.
func (r *Relay) Tier(label string) *Tier {
	m := r.m
	deliveries := func(outcome string) func(class string) prometheus.Counter {
		return func(class string) prometheus.Counter {
			return m.deliveries.WithLabelValues(r.name, label, outcome, class)
		}
	}
	if label != TierMain { // nothing is ever written to main
		m.produceErrors.WithLabelValues(r.name, label)
	}
	return &Tier{
		due:           m.lag.WithLabelValues(r.name, label, "due"),
		held:          m.lag.WithLabelValues(r.name, label, "held"),
		windowRecords: m.windowRecords.WithLabelValues(r.name, label),
		windowBytes:   m.windowBytes.WithLabelValues(r.name, label),
		delivered:     deliveries("delivered")(none),
		failed:        newCounters(policy.Classes(), deliveries("failed")),
		unjudged:      newCounters(policy.Classes(), deliveries("held")),
		errors: newCounters(policy.Kinds(), func(kind string) prometheus.Counter {
			return m.deliveryErrors.WithLabelValues(r.name, label, kind)
		}),
		duration:     m.deliveryDuration.WithLabelValues(r.name, label),
		lateness:     m.lateness.WithLabelValues(r.name, label),
		escalations:  m.escalations.WithLabelValues(r.name, label),
		foreign:      m.foreignRecords.WithLabelValues(r.name, label),
		committed:    m.commits.WithLabelValues(r.name, label, "ok"),
		commitErrors: m.commits.WithLabelValues(r.name, label, "error"),
		metadata: newCounters(metadataFaults(), func(fault string) prometheus.Counter {
			return m.metadataIgnored.WithLabelValues(r.name, label, fault)
		}),
		rebalances: m.rebalances.WithLabelValues(r.name, label),
	}
}

// Attempt counts one POST. held says that a failure was not judged: the record
// waits where it is and no attempt is spent.
func (t *Tier) Attempt(o policy.Outcome, held bool) {
	t.duration.Observe(o.Duration.Seconds())
	if o.Delivered() {
		t.delivered.Inc()
		return
	}
	t.errors.inc(o.Kind)
	if held {
		t.unjudged.inc(o.Class)
		return
	}
	t.failed.inc(o.Class)
}

// Late measures how long after its time a record's POST started. A clock that was
// set back makes no negative lateness.
func (t *Tier) Late(d time.Duration) { t.lateness.Observe(max(0, d).Seconds()) }

// Escalated counts a record of this tier that a later tier acknowledged.
func (t *Tier) Escalated() { t.escalations.Inc() }

// Foreign counts a record that was skipped because it belongs to another group.
func (t *Tier) Foreign() { t.foreign.Inc() }

// SetLag sets how many records of the assigned partitions are not done: due by
// now, and not yet due.
func (t *Tier) SetLag(due, held int) {
	t.due.Set(float64(due))
	t.held.Set(float64(held))
}

// SetWindow sets what is held in memory, in all partitions.
func (t *Tier) SetWindow(records int, bytes int64) {
	t.windowRecords.Set(float64(records))
	t.windowBytes.Set(float64(bytes))
}

// Committed counts an offset commit; err is what came of it.
func (t *Tier) Committed(err error) {
	if err != nil {
		t.commitErrors.Inc()
		return
	}
	t.committed.Inc()
}

// MetadataIgnored counts commit metadata that could not be used.
func (t *Tier) MetadataIgnored(fault MetadataFault) { t.metadata.inc(fault) }

// Rebalanced counts a new assignment.
func (t *Tier) Rebalanced() { t.rebalances.Inc() }
