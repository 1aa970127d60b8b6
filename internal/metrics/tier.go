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
	m            *Metrics
	relay, label string

	windowRecords, windowBytes prometheus.Gauge
	completedSet, unfinished   prometheus.Gauge
	paused                     map[Pause]prometheus.Gauge
	deliveries                 deliveries
	duration, lateness         prometheus.Observer
	escalations, reparks       prometheus.Counter
	throttled, inPlace         prometheus.Counter
	foreign                    prometheus.Counter
	committed, commitErrors    prometheus.Counter
	metadata                   counters[MetadataFault]
	rebalances                 prometheus.Counter
}

// Tier creates the series of a tier, except those of partitions. label is TierMain,
// or the tier's number: "1", "2" and so on, also of a tier that is no longer
// configured but still consumed, or "retired-1" where a configured tier has that
// number; "park-1h" is that of a park topic.
func (r *Relay) Tier(label string) *Tier {
	m := r.m
	if label != TierMain { // nothing is ever written to main
		m.produceErrors.WithLabelValues(r.name, label)
	}
	paused := map[Pause]prometheus.Gauge{}
	for _, pause := range pauses() {
		paused[pause] = m.pausedPartitions.WithLabelValues(r.name, label, string(pause))
	}
	return &Tier{
		m: m, relay: r.name, label: label,
		windowRecords: m.windowRecords.WithLabelValues(r.name, label),
		windowBytes:   m.windowBytes.WithLabelValues(r.name, label),
		completedSet:  m.completedSet.WithLabelValues(r.name, label),
		unfinished:    m.unfinished.WithLabelValues(r.name, label),
		paused:        paused,
		deliveries: newDeliveries(r.failures, func(d delivery) prometheus.Counter {
			return m.deliveries.WithLabelValues(r.name, label, string(d.result), text(d.class), text(d.kind))
		}),
		duration:     m.deliveryDuration.WithLabelValues(r.name, label),
		lateness:     m.lateness.WithLabelValues(r.name, label),
		escalations:  m.escalations.WithLabelValues(r.name, label),
		reparks:      m.reparks.WithLabelValues(r.name, label),
		throttled:    m.throttled.WithLabelValues(r.name, label),
		inPlace:      m.inPlace.WithLabelValues(r.name, label),
		foreign:      m.foreignRecords.WithLabelValues(r.name, label),
		committed:    m.commits.WithLabelValues(r.name, label, "ok"),
		commitErrors: m.commits.WithLabelValues(r.name, label, "error"),
		metadata: newCounters(metadataFaults(), func(fault string) prometheus.Counter {
			return m.metadataIgnored.WithLabelValues(r.name, label, fault)
		}),
		rebalances: m.rebalances.WithLabelValues(r.name, label),
	}
}

// Attempt counts one POST. held says that a failure spent no attempt: the record makes
// the same one again.
func (t *Tier) Attempt(o *policy.Outcome, held bool) {
	t.duration.Observe(o.Duration.Seconds())
	t.deliveries.inc(delivery{ResultOf(o, held), o.Class, o.Kind})
}

// Late measures how long after its time a record's POST started. A clock that was
// set back makes no negative lateness.
func (t *Tier) Late(d time.Duration) { t.lateness.Observe(max(0, d).Seconds()) }

// Escalated counts a record of this tier that a later tier acknowledged.
func (t *Tier) Escalated() { t.escalations.Inc() }

// Reparked counts a record of this tier that another topic, or the tail of the same one,
// acknowledged without an attempt.
func (t *Tier) Reparked() { t.reparks.Inc() }

// Throttled counts a record of this tier that the topic acknowledged in which it waits, as
// the endpoint has asked for time.
func (t *Tier) Throttled() { t.throttled.Inc() }

// InPlace counts a failed POST that is made again in the record's place.
func (t *Tier) InPlace() { t.inPlace.Inc() }

// Foreign counts a record that was skipped because it belongs to another group.
func (t *Tier) Foreign() { t.foreign.Inc() }

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
