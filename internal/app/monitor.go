package app

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/retryd/retryd/internal/kafka"
	"github.com/retryd/retryd/internal/logging"
	"github.com/retryd/retryd/internal/status"
)

const (
	// measureInterval is how often lag, ages and dead letters are measured.
	measureInterval = 5 * time.Second
	// silenceUntilTrouble leaves out the moment in which a leader moves or a broker
	// closes a connection: two looks without an answer, or one that waits for it.
	silenceUntilTrouble = measureInterval
	// lookBound is longer than a look takes when every request of it runs into its
	// timeout: three questions, each of which asks all brokers at once, twice, and then
	// two of them for the cluster's metadata, which is 5 s (kafka.CommitTimeout) each.
	lookBound = 2 * time.Minute
)

// monitor looks at Kafka for the whole process.
type monitor struct {
	measure   func(now time.Time) error // of all relays at once
	reachable func(bool)                // the metric
	trouble   *trouble
	log       *zap.Logger

	// Used by run alone.
	silent     time.Time // since when nobody answers; zero: somebody does
	unmeasured time.Time // since when somebody answers, and something cannot be measured; zero: not so
	told       bool      // that was logged

	mu     sync.Mutex
	looked time.Time // end of the last look; zero: it does not run
}

// run looks until ctx ends. A look in progress ends when the cluster is closed.
func (m *monitor) run(ctx context.Context) {
	m.note(time.Now())
	defer m.note(time.Time{})
	tick := time.NewTicker(measureInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			began := time.Now()
			err := m.measure(began)
			if ctx.Err() == nil { // else the cluster is being closed, which is no trouble
				m.judge(err, began, time.Now())
			}
			m.note(time.Now())
		}
	}
}

func (m *monitor) note(now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.looked = now
}

// stalled says since when no look has ended, or "".
func (m *monitor) stalled(now time.Time) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	silence := now.Sub(m.looked)
	if m.looked.IsZero() || silence < lookBound {
		return ""
	}
	return fmt.Sprintf("the look at Kafka has not ended for %s", silence.Round(time.Second))
}

// judge tells a cluster that does not answer from one that answers no.
func (m *monitor) judge(err error, began, now time.Time) {
	switch {
	case err == nil:
		m.answers(now)
		m.measures(now)
	case kafka.Unreachable(err):
		m.isSilent(err, began, now)
	default:
		m.answers(now)
		m.cannotMeasure(err, now)
	}
}

func (m *monitor) isSilent(err error, began, now time.Time) {
	if m.silent.IsZero() {
		m.silent = began
	}
	if now.Sub(m.silent) < silenceUntilTrouble {
		return
	}
	why := kafka.Explain(err)
	known := m.trouble.has(causeKafka)
	m.trouble.set(causeKafka, status.Problem{Text: "Kafka does not answer: " + why, Since: m.silent, Blocking: true})
	m.reachable(false)
	if !known {
		m.log.Warn("Kafka does not answer: records wait, nothing is lost", zap.String(logging.FieldError, why))
	}
}

func (m *monitor) answers(now time.Time) {
	m.silent = time.Time{}
	m.reachable(true)
	if since, ok := m.trouble.clear(causeKafka); ok {
		m.log.Info("Kafka answers again", zap.Duration("after", now.Sub(since)))
	}
}

// cannotMeasure logs once that looks in a row could not measure everything. What is
// missing can change with each of them, and one alone is a leader that moves.
func (m *monitor) cannotMeasure(err error, now time.Time) {
	switch {
	case m.unmeasured.IsZero():
		m.unmeasured = now
	case !m.told:
		m.told = true
		m.log.Warn("cannot measure the lag", zap.String(logging.FieldError, kafka.Explain(err)))
	}
}

func (m *monitor) measures(now time.Time) {
	if m.told {
		m.log.Info("the lag is measured again", zap.Duration("after", now.Sub(m.unmeasured)))
	}
	m.unmeasured, m.told = time.Time{}, false
}
