package tier

import (
	"context"
	"fmt"
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

// moment is how long what passes by itself may last before it counts: a group that
// gathers anew, a leader or a coordinator that moves. Neither a load balancer nor an
// alert is to act on it.
const moment = 5 * time.Second

// unseen is how long the look at the topics may not see that one does not exist, until
// what follows from that is logged by itself.
const unseen = recheckInterval + 2*moment

func troubleOf(k kind, of string, err error) trouble {
	away := kafka.Unreachable(err)
	t := trouble{kind: k, of: of, why: explain(err), fault: isFault(err), passing: away, common: away, away: away}
	if !t.fault && (k == kindTopics || k == kindMember || k == kindControl || k == kindOdd) {
		t.grace = moment
	}
	if k == kindAwait || k == kindControl || k == kindOdd { // one topic for all relays, none of theirs
		t.common = true
		return t
	}
	if t.missing = kafka.NoTopic(err); t.missing && k != kindTopics {
		t.hush, t.passing = unseen, true
	}
	return t
}

// waits makes known that the relay waits for something that is part of every start:
// it is not ready at once, and nothing is logged unless that takes unusually long.
func (r *Relay) waits(k kind, of string, err error) {
	t := troubleOf(k, of, err)
	t.grace, t.hush, t.passing, t.common = 0, r.usually(), true, true
	r.tell(t)
}

// usually is how long a group takes to gather at most, as a rule: a member that was
// killed is waited for.
func (r *Relay) usually() time.Duration {
	return max(10*time.Second, r.deps.Kafka.SessionTimeout)
}

// tell notes a trouble, and logs it where that is news.
func (r *Relay) tell(n trouble) {
	now := time.Now()
	t, log := r.troubles.raise(n, now, r.may(now))
	if log {
		r.logBegin(t)
	}
	if t.missing && t.kind != kindTopics && t.explained.Before(now) {
		r.doubt()
	}
	if t.hush == 0 || t.asked {
		r.lastError.note(now, t.kind.text(t.of, t.why))
	}
	if t.kind.blocking() {
		r.reportReady()
	}
}

// readQuiet is how long a partition that could not be read must have given no error
// before it counts as read again; while reading fails, there is one every 2 s
// (sarama's Consumer.Retry.Backoff). A record shows it at once.
const readQuiet = 20 * time.Second

// tick shows the troubles that last, and ends those that nothing renews, until ctx
// ends.
func (r *Relay) tick(ctx context.Context) {
	tick := time.NewTicker(tickInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-tick.C:
			for _, partition := range r.troubles.lapsed(kindRead, now.Add(-readQuiet)) {
				r.over(kindRead, partition)
			}
			r.ripen(now)
			r.measureGate(now)
		}
	}
}

// ripen shows and logs what has lasted for longer than it usually does.
func (r *Relay) ripen(now time.Time) {
	for _, t := range r.troubles.ripen(now, r.may(now)) {
		r.logBegin(t, zap.Duration("for", now.Sub(t.since)))
	}
	r.reportReady()
}

func (r *Relay) logBegin(t trouble, more ...zap.Field) {
	r.log.Warn(t.kind.began(), append(append(more, t.kind.fields(t.of)...), zap.String(logging.FieldError, t.why), logging.Suppressed(t.suppressed))...)
}

func (r *Relay) may(now time.Time) allow {
	return func(t trouble) (suppressed int, ok bool) {
		return r.allow(t.kind.began(), t.kind.limited(t.of), t.common, now)
	}
}

// over ends a trouble, and logs the end if the beginning was. Where nothing is wrong
// it costs a look at a flag.
func (r *Relay) over(k kind, of string) {
	now := time.Now()
	ended, ok := r.troubles.end(k, of, now)
	if !ok {
		return
	}
	if ended.logged {
		r.log.Info(k.ended(), append(k.fields(of), zap.Duration("after", now.Sub(ended.since)))...)
	}
	r.reportReady()
}

// drop ends a trouble that was not mended, but concerns this instance no more.
func (r *Relay) drop(k kind, of string) {
	if _, ok := r.troubles.end(k, of, time.Now()); ok {
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
type lastEvent struct{ event atomic.Pointer[event] }

// event is formatted when somebody asks: there may be thousands a second.
type event struct {
	at   time.Time
	text string

	topic     string // of the record whose attempt it was; empty: it was none
	partition int32
	offset    int64
	attempt   int
}

func (e *event) String() string {
	if e.topic == "" {
		return e.text
	}
	return fmt.Sprintf("%s/%d offset %d, attempt %d: %s", e.topic, e.partition, e.offset, e.attempt, e.text)
}

func (l *lastEvent) note(now time.Time, text string) { l.event.Store(&event{at: now, text: text}) }

func (l *lastEvent) get() *status.Event {
	e := l.event.Load()
	if e == nil {
		return nil
	}
	return &status.Event{Time: e.at.UTC(), Text: e.String()}
}
