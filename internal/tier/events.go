package tier

import (
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/retryd/retryd/internal/logging"
	"github.com/retryd/retryd/internal/metrics"
	"github.com/retryd/retryd/internal/policy"
	"github.com/retryd/retryd/internal/record"
)

// One line per event of a record. Nothing is formatted when its level is off.

// logHold tells of a record that waits.
func (c *consumer) logHold(j *job, now time.Time) {
	if line := c.relay.log.Check(zap.DebugLevel, logging.Hold); line != nil {
		line.Write(c.fields(j, j.state.Attempt+1,
			zap.Duration(logging.FieldWait, time.UnixMilli(j.due).Sub(now)),
			zap.Time(logging.FieldNotBefore, time.UnixMilli(j.due)),
		)...)
	}
}

// logAttempt tells of a POST: a failure at info, a delivery at debug.
func (c *consumer) logAttempt(j *job, o *policy.Outcome, d *policy.Decision, late time.Duration) {
	level, verb := zapcore.InfoLevel, logging.Attempt
	if o.Delivered() {
		level, verb = zapcore.DebugLevel, logging.Deliver
	}
	if line := c.relay.log.Check(level, verb); line != nil {
		line.Write(c.fields(j, j.state.Attempt+1,
			zap.Int(logging.FieldStatus, o.Status),
			zap.String(logging.FieldClass, string(o.Class)),
			zap.String(logging.FieldErrorKind, string(o.Kind)),
			zap.String(logging.FieldError, c.relay.hide.Text(record.HeaderError, o.Error)),
			zap.Duration(logging.FieldDuration, o.Duration),
			zap.Duration(logging.FieldLate, late),
			inPlace(j),
			zap.Bool(logging.FieldSpent, o.Delivered() || d.Spends()),
		)...)
	}
}

// inPlace tells how often a record was POSTed again in its place, this time or next
// time included.
func inPlace(j *job) zap.Field {
	if j.again == 0 {
		return zap.Skip()
	}
	return zap.Int(logging.FieldInPlace, int(j.again))
}

// moved counts and tells of a record that another topic has acknowledged.
func (c *consumer) moved(j *job, offset int64) {
	m := j.move
	switch m.decision.Action {
	case policy.ActionRepark:
		c.metrics.Reparked()
		c.logRepark(j)
	case policy.ActionDeadLetter:
		c.relay.countDeadLetter(m)
		c.logMove(j, logging.DeadLetter, zap.Int64(logging.FieldDLTOffset, offset))
	default:
		c.countForward(m.decision)
		c.logMove(j, logging.Forward, zap.Skip())
	}
}

// countDeadLetter counts a record where it ended.
func (r *Relay) countDeadLetter(m *move) {
	class := policy.Class(m.state.Last.Class)
	if m.to.label == metrics.TargetReview {
		r.metrics.Reviewed(class)
		return
	}
	r.metrics.DeadLettered(m.decision.Reason, class)
}

func (c *consumer) countForward(d policy.Decision) {
	switch {
	case d.Action == policy.ActionMove:
		c.metrics.Throttled()
	case d.Repeat:
		c.relay.metrics.Repeated()
	default:
		c.metrics.Escalated()
	}
}

func (c *consumer) logMove(j *job, verb string, written zap.Field) {
	m, hide := j.move, c.relay.hide
	if line := c.relay.log.Check(zap.InfoLevel, verb); line != nil {
		line.Write(c.fields(j, attemptOf(m),
			zap.String(logging.FieldNext, m.to.topic), written,
			zap.Duration(logging.FieldDelay, m.decision.Delay),
			zap.Time(logging.FieldNotBefore, m.decision.NotBefore),
			zap.String(logging.FieldClass, hide.Text(record.HeaderClass, m.state.Last.Class)),
			zap.String(logging.FieldReason, string(m.decision.Reason)),
			zap.Int(logging.FieldStatus, m.state.Last.Status),
			zap.String(logging.FieldErrorKind, hide.Text(record.HeaderErrorKind, m.state.Last.Kind)),
			zap.String(logging.FieldError, hide.Text(record.HeaderError, m.state.Last.Error)),
			zap.Duration(logging.FieldDuration, m.took),
		)...)
	}
}

// logRepark tells of a record that waits on at the tail of a topic.
func (c *consumer) logRepark(j *job) {
	m := j.move
	if line := c.relay.log.Check(zap.InfoLevel, logging.Repark); line != nil {
		line.Write(c.fields(j, m.state.Attempt+1,
			zap.String(logging.FieldNext, m.to.topic),
			zap.String(logging.FieldReason, string(m.decision.Cause)),
			zap.Duration(logging.FieldWait, max(0, m.state.NotBefore.Sub(m.at))),
			zap.Time(logging.FieldNotBefore, m.state.NotBefore),
		)...)
	}
}

// fields names the record; attempt is the one that was made or comes next. Of the
// record itself they have what may be shown of key and event id.
func (c *consumer) fields(j *job, attempt int, more ...zap.Field) []zap.Field {
	return append([]zap.Field{
		zap.String(logging.FieldTier, c.source.label),
		zap.String(logging.FieldTopic, j.record.Topic),
		zap.Int32(logging.FieldPartition, j.record.Partition),
		zap.Int64(logging.FieldOffset, j.record.Offset),
		logging.Key(c.relay.hide.Key(j.record.Key)),
		zap.Int(logging.FieldAttempt, attempt),
		zap.String(logging.FieldEventID, c.relay.hide.EventID(j.state.EventID)),
	}, more...)
}
