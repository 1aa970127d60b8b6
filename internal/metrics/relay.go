package metrics

import (
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/retryd/retryd/internal/policy"
	"github.com/retryd/retryd/internal/status"
)

// The topics in which records end, where a tier's label names the tier's.
const (
	TargetDLT        = "dlt"        // the dead-letter topic
	TargetReview     = "review"     // the review topic
	TargetQuarantine = "quarantine" // a topic that a rule names
)

// Relay is the part of one relay.
type Relay struct {
	m           *Metrics
	name        string
	inFlight    prometheus.Gauge
	paused      prometheus.Gauge
	gate        gate
	unreachable prometheus.Gauge
	ready       prometheus.Gauge
	certificate prometheus.Counter // of reload errors
	attempts    []counters[Result] // of the first attempt, the second and so on
	endToEnd    prometheus.Observer
	repeats     prometheus.Counter
	deadLetters map[policy.Reason]counters[policy.Class]
	reviews     counters[policy.Class]
	malformed   counters[string]
	ignored     counters[string]
	words       counters[string]
	limited     prometheus.Counter
	failures    []delivery // that its rules can give
	halted      map[status.HaltState]prometheus.Gauge
}

// Relay creates the series of a relay with so many steps, and so one attempt more, and
// with these rules of its own; its tiers follow with Relay.Tier.
func (m *Metrics) Relay(name string, steps int, rules ...policy.Rule) *Relay {
	r := &Relay{
		m:           m,
		name:        name,
		inFlight:    m.inFlight.WithLabelValues(name),
		paused:      m.endpointPaused.WithLabelValues(name),
		gate:        m.newGate(name),
		unreachable: m.endpointUnreachable.WithLabelValues(name),
		ready:       m.relayReady.WithLabelValues(name),
		certificate: m.certificateErrors.WithLabelValues(name),
		endToEnd:    m.endToEnd.WithLabelValues(name),
		limited:     m.limitedFailures.WithLabelValues(name),
		failures:    failures(rules),
		repeats:     m.repeats.WithLabelValues(name),
		deadLetters: make(map[policy.Reason]counters[policy.Class]),
		halted:      make(map[status.HaltState]prometheus.Gauge),
	}
	for _, state := range status.HaltStates() {
		r.halted[state] = m.relayHalted.WithLabelValues(name, string(state))
	}
	for i := range max(0, steps) + 1 {
		r.attempts = append(r.attempts, newCounters(results(), func(result string) prometheus.Counter {
			return m.attempts.WithLabelValues(name, strconv.Itoa(i+1), result)
		}))
	}
	for _, reason := range policy.Reasons() {
		r.deadLetters[reason] = r.deadLettersFor(string(reason))
	}
	r.reviews = newCounters(policy.Classes(), func(class string) prometheus.Counter {
		return m.reviewRecords.WithLabelValues(name, class)
	})
	r.malformed = newCounters(malformedHeaders(), func(header string) prometheus.Counter {
		return m.malformedHeaders.WithLabelValues(name, header)
	})
	r.ignored = newCounters(ignoredHeaders(), func(header string) prometheus.Counter {
		return m.ignoredHeaders.WithLabelValues(name, header)
	})
	r.words = newCounters(words(), func(header string) prometheus.Counter {
		return m.ignoredAnswers.WithLabelValues(name, header)
	})
	for _, target := range []string{TargetDLT, TargetReview, TargetQuarantine} {
		m.produceErrors.WithLabelValues(name, target)
	}
	return r
}

func (r *Relay) deadLettersFor(reason string) counters[policy.Class] {
	classes := append(policy.Classes(), policy.ClassNone) // an expired record may never have failed
	return newCounters(classes, func(class string) prometheus.Counter {
		return r.m.deadLetters.WithLabelValues(r.name, reason, class)
	})
}

// Attempt counts one POST; number is 1 for a record's first attempt. One that is
// beyond the schedule, as in a retired tier or after a change of the tiers, counts
// as the schedule's last.
func (r *Relay) Attempt(number int, outcome Result) {
	last := len(r.attempts)
	r.attempts[min(max(number, 1), last)-1].inc(outcome)
}

// Answer counts what an attempt's outcome shows besides its result: what the endpoint
// said that makes no sense, and a failure that limited_attempts counts, unless held says
// that it was not judged.
func (r *Relay) Answer(o *policy.Outcome, held bool) {
	if o.Ignored != 0 {
		for _, word := range policy.AllWords() {
			if o.Ignored&word != 0 {
				r.words.inc(word.Header())
			}
		}
	}
	if o.Treatment == policy.TreatLimited && !held {
		r.limited.Inc()
	}
}

// EndToEnd measures how long a record took from its timestamp in the main topic
// until the endpoint accepted it. Clocks that differ make no negative time.
func (r *Relay) EndToEnd(d time.Duration) { r.endToEnd.Observe(max(0, d).Seconds()) }

// SetDeadLetterRecords sets how many records the dead-letter topic has. There is no
// series before the first call: 0 would say that the topic is empty.
func (r *Relay) SetDeadLetterRecords(n int64) {
	r.m.deadLetterRecords.WithLabelValues(r.name).Set(float64(n))
}

// SetCertificateNotAfter sets when the client certificate expires. There is no series
// before the first call.
func (r *Relay) SetCertificateNotAfter(at time.Time) {
	r.m.certificateNotAfter.WithLabelValues(r.name).Set(float64(at.Unix()))
}

// CertificateReloadError counts changed files of a certificate that cannot be used.
func (r *Relay) CertificateReloadError() { r.certificate.Inc() }

// InFlight adds n POSTs to those that are being made: 1 before one, -1 after it.
func (r *Relay) InFlight(n int) { r.inFlight.Add(float64(n)) }

// EndpointUnreachable tells whether the endpoint gives no answer at all.
func (r *Relay) EndpointUnreachable(unreachable bool) { set(r.unreachable, unreachable) }

// Halted tells in which state the relay is halted; "": it is not.
func (r *Relay) Halted(state status.HaltState) {
	for each, gauge := range r.halted {
		set(gauge, each == state)
	}
}

// Ready tells whether the relay does its work.
func (r *Relay) Ready(ready bool) { set(r.ready, ready) }

// DeadLettered counts a record that the dead-letter topic, or the one that a rule names,
// acknowledged. class is that of its last failure, ClassNone if it never failed.
func (r *Relay) DeadLettered(reason policy.Reason, class policy.Class) {
	byClass, ok := r.deadLetters[reason]
	if !ok {
		byClass = r.deadLettersFor(other)
	}
	byClass.inc(class)
}

// Reviewed counts a record that the review topic acknowledged. class is that of its last
// failure.
func (r *Relay) Reviewed(class policy.Class) { r.reviews.inc(class) }

// Repeated counts a record that failed in the last tier and that the same acknowledged
// again.
func (r *Relay) Repeated() { r.repeats.Inc() }

// MalformedHeader counts a header, by name, that is taken for absent.
func (r *Relay) MalformedHeader(header string) { r.malformed.inc(header) }

// IgnoredHeader counts a retry header, by name, on a record of the main topic.
func (r *Relay) IgnoredHeader(header string) { r.ignored.inc(header) }

// ProduceError counts a write that was not acknowledged. target is the label of a
// tier or a park topic, or one of TargetDLT, TargetReview and TargetQuarantine.
func (r *Relay) ProduceError(target string) {
	r.m.produceErrors.WithLabelValues(r.name, target).Inc()
}

func set(g prometheus.Gauge, on bool) {
	if on {
		g.Set(1)
		return
	}
	g.Set(0)
}
