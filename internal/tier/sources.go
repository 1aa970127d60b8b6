package tier

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/retryd/retryd/internal/logging"
	"github.com/retryd/retryd/internal/metrics"
)

// source is one topic that a relay consumes.
type source struct {
	topic   string
	group   string
	label   string        // main, the tier's number, or park-24h
	place   int           // see policy.Rests; 0: main, or no longer configured
	step    int           // the attempts of a record without x-attempt: 0 on main, i in tier i, 1 in a park topic
	least   time.Duration // no record is normally due earlier than that after its timestamp
	delay   time.Duration // of a record without x-not-before
	most    time.Duration // no record is normally due later
	retired bool          // no longer configured, but still there
}

func (s source) main() bool { return s.step == 0 }

// soonest is the shortest wait, but for one that a budget cuts short: longer than least,
// or as long. It is not positive for what is no longer configured.
func (s source) soonest() time.Duration {
	if s.least == 0 {
		return 0
	}
	return 2*s.delay - s.most
}

// waits reports whether a record waits there, by the schedule, for as long as delay.
func (s source) waits() bool { return s.delay > 0 && !s.retired }

// sources lists the topics to consume: the configured ones, and tiers of an earlier
// configuration that still exist.
func (r *Relay) sources() ([]source, error) {
	retired, err := r.retired()
	return append(r.configured(), retired...), err
}

// configured lists main, if it is consumed, and the topics in which records wait.
func (r *Relay) configured() []source {
	var sources []source
	if r.config.Consume {
		sources = append(sources, source{topic: r.config.Topic, group: r.config.Group, label: metrics.TierMain})
	}
	for i, t := range r.config.RetryTopics() {
		s := source{
			topic: t.Name, group: t.Group, label: t.Label, place: i + 1, step: i + 1,
			least: t.Least, delay: t.Delay, most: t.Most,
		}
		if t.Park {
			s.step = 1
		}
		sources = append(sources, s)
	}
	return sources
}

// retired finds topics named like tiers that are not, or no longer, those of the
// configured ones: of a longer schedule, or of a tier that was given a name of its
// own. Their records wait for what their headers say, and fail into the live
// schedule or the dead-letter topic.
func (r *Relay) retired() ([]source, error) {
	found, hidden, err := r.cluster.Existing(r.config.RetiredTopics()...)
	if err != nil {
		return nil, fmt.Errorf("look for retired tiers: %w", err)
	}
	if len(hidden) > 0 {
		r.log.Warn("topics may not be looked at: if one of them is a tier of an earlier configuration, its records are not consumed; grant Describe to find out",
			zap.String("topics", strings.Join(hidden, ", ")))
	}
	var sources []source
	for _, t := range r.config.retiredTiers() {
		if _, exists := found[t.topic]; exists {
			r.log.Info("topic of a tier that is not configured: it is consumed until it is deleted", zap.String(logging.FieldTopic, t.topic))
			sources = append(sources, r.retiredSource(t))
		}
	}
	return sources, nil
}

// retiredSource is labelled by the tier's number, unless a configured tier has that:
// then it also has that tier's delay.
func (r *Relay) retiredSource(t retiredTier) source {
	s := source{topic: t.topic, group: r.config.TierGroup(t.topic), label: strconv.Itoa(t.step), step: t.step, retired: true}
	if t.step <= len(r.schedule.Steps) {
		s.label, s.delay = fmt.Sprintf("retired-%d", t.step), r.schedule.Steps[t.step-1].Delay
	}
	return s
}
