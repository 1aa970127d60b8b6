package tier

import (
	"errors"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/retryd/retryd/internal/kafka"
	"github.com/retryd/retryd/internal/logging"
	"github.com/retryd/retryd/internal/status"
)

// raise makes known that something does not work, and logs its beginning.
func (r *Relay) raise(k kind, of string, err error) {
	r.tell(troubleOf(k, of, err))
}

// raiseFor is raise for one more record that the trouble holds up.
func (r *Relay) raiseFor(k kind, of string, err error) {
	t := troubleOf(k, of, err)
	t.records = 1
	r.tell(t)
}

func troubleOf(k kind, of string, err error) trouble {
	why := explain
	if k == kindWrite {
		why = explainWrite
	}
	away := kafka.Unreachable(err)
	return trouble{
		kind: k, of: of, why: why(err), fault: isFault(err), passing: away, common: away,
		quiet: errors.Is(err, errJoining) || errors.Is(err, errUnchecked),
	}
}

// tell notes a trouble, and logs it where that is news.
func (r *Relay) tell(t trouble) {
	now, suppressed := time.Now(), 0
	log := r.troubles.raise(t, now, func() (ok bool) {
		suppressed, ok = r.allow(t.kind.began(), t.of, t.common, now)
		return ok
	})
	if log {
		r.log.Warn(t.kind.began(), t.kind.field(t.of), zap.String(logging.FieldError, t.why), logging.Suppressed(suppressed))
	}
	if t.quiet {
		r.reportReady()
		return
	}
	r.lastError.note(now, t.kind.text(t.of, t.why))
	if t.kind.blocking() {
		r.reportReady()
	}
}

// over ends a trouble, and logs the end if the beginning was. Where nothing is wrong
// it costs a look at a flag.
func (r *Relay) over(k kind, of string) {
	ended, ok := r.troubles.end(k, of)
	if !ok {
		return
	}
	if ended.logged {
		r.log.Info(k.ended(), k.field(of), zap.Duration("after", time.Since(ended.since)))
	}
	r.reportReady()
}

// drop ends a trouble that was not mended, but concerns this instance no more.
func (r *Relay) drop(k kind, of string) {
	if _, ok := r.troubles.end(k, of); ok {
		r.reportReady()
	}
}

// reportReady tells whether the relay is ready. Later changes of it are logged as
// troubles.
func (r *Relay) reportReady() {
	if first := r.troubles.report(r.metrics.Ready); first {
		r.log.Info("relay is ready")
	}
}

// warn logs a failure that may repeat, and is over when it does not.
func (r *Relay) warn(message, topic string, err error) {
	now := time.Now()
	r.lastError.note(now, message+": "+topic+": "+explain(err))
	if n, ok := r.allow(message, topic, kafka.Unreachable(err), now); ok {
		r.log.Warn(message, zap.String(logging.FieldTopic, topic), zap.String(logging.FieldError, explain(err)), logging.Suppressed(n))
	}
}

// allow limits the lines of all relays: to one about each topic, group or endpoint, or
// to one for what is common to all of them.
func (r *Relay) allow(message, of string, common bool, now time.Time) (suppressed int, ok bool) {
	if common {
		of = ""
	}
	return r.deps.Limiter.Allow(message, of, now)
}

// lastEvent is the newest of the events that went wrong. The zero value is none.
type lastEvent struct{ event atomic.Pointer[status.Event] }

func (l *lastEvent) note(now time.Time, text string) {
	l.event.Store(&status.Event{Time: now.UTC(), Text: text})
}

func (l *lastEvent) get() *status.Event { return l.event.Load() }
