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
	// looksUntilTrouble leaves out the moment in which a leader moves or a broker
	// closes a connection.
	looksUntilTrouble = 2
	// lookBound is longer than a look takes when every request of it runs into its
	// timeout (kafka.CommitTimeout, and as long again to connect, to each of a dozen
	// brokers one after the other).
	lookBound = 2 * time.Minute
)

// monitor looks at Kafka for the whole process.
type monitor struct {
	measure   func(now time.Time) error // of all relays at once
	reachable func(bool)                // the metric
	trouble   *trouble
	limiter   *logging.Limiter
	log       *zap.Logger

	silent int       // looks in a row without an answer; used by run alone, like since
	since  time.Time // the first of them

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
			err := m.measure(time.Now())
			if ctx.Err() == nil { // else the cluster is being closed, which is no trouble
				m.judge(err, time.Now())
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
func (m *monitor) judge(err error, now time.Time) {
	switch {
	case err == nil:
		m.answers(now)
	case kafka.Unreachable(err):
		m.isSilent(err, now)
	default:
		m.answers(now)
		if n, ok := m.limiter.Allow("cannot measure the lag", "", now); ok {
			m.log.Warn("cannot measure the lag", zap.String(logging.FieldError, kafka.Explain(err)), logging.Suppressed(n))
		}
	}
}

func (m *monitor) isSilent(err error, now time.Time) {
	if m.silent == 0 {
		m.since = now
	}
	m.silent++
	if m.silent < looksUntilTrouble {
		return
	}
	why := kafka.Explain(err)
	m.trouble.set(causeKafka, status.Problem{Text: "Kafka does not answer: " + why, Since: m.since, Blocking: true})
	m.reachable(false)
	if m.silent == looksUntilTrouble {
		m.log.Warn("Kafka does not answer: records wait, nothing is lost", zap.String(logging.FieldError, why))
	}
}

func (m *monitor) answers(now time.Time) {
	m.silent = 0
	m.reachable(true)
	if since, ok := m.trouble.clear(causeKafka); ok {
		m.log.Info("Kafka answers again", zap.Duration("after", now.Sub(since)))
	}
}
