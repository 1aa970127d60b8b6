package tier

import (
	"time"

	"github.com/IBM/sarama"
	"go.uber.org/zap"

	"github.com/retryd/retryd/internal/logging"
	"github.com/retryd/retryd/internal/record"
	"github.com/retryd/retryd/internal/window"
)

// jobOverhead is what a held record costs beside its bytes, roughly: the job, its
// state and its places in window and offsets.
const jobOverhead = 768

// take holds one record that was read.
func (c *claim) take(m *sarama.ConsumerMessage) {
	if !c.fetched(m) {
		return
	}
	now := time.Now()
	c.newest, c.unread = m.Timestamp, m.Offset+1
	if m.Timestamp.After(now) { // another clock: it must not stop the reading
		c.newest = now
	}
	j := c.decode(m, now)
	if group := record.ConsumerGroup(j.state.Consumer); group != "" && group != c.session.consumer.relay.config.Group {
		c.skip(j)
		return
	}
	c.share.Add(j.size)
	c.window.Push(j.due, m.Offset, j)
	if j.due > now.UnixMilli() {
		c.session.consumer.logHold(j, now)
	}
}

// fetched accounts for an offset that was read. The first one may lie below the
// start: the log was cut and the client begins at its earliest.
func (c *claim) fetched(m *sarama.ConsumerMessage) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.offsets.Fetched(m.Offset)
	if err == nil {
		return true
	}
	if !c.newest.IsZero() {
		c.session.consumer.relay.warn("record was read twice, it is held once", m.Topic, err)
		return false
	}
	c.session.consumer.relay.log.Error("log ends below the committed offset, it is read from its earliest offset",
		zap.String(logging.FieldTopic, m.Topic), zap.Int32(logging.FieldPartition, m.Partition),
		zap.Int64("committed", c.offsets.Low()), zap.Int64(logging.FieldOffset, m.Offset))
	c.offsets = window.NewOffsets(m.Offset)
	return c.offsets.Fetched(m.Offset) == nil
}

// skip completes a record that another relay's group wrote for itself.
func (c *claim) skip(j *job) {
	c.session.consumer.metrics.Foreign()
	c.session.consumer.relay.warn("record belongs to another group and is skipped: two relays must not share a tier topic",
		j.record.Topic, foreignError(j.state.Consumer))
	c.started++
	j.size = 0
	c.complete(j)
}

// decode makes a job of a fetched message; its bytes are copied, since they are
// part of the fetch response.
func (c *claim) decode(m *sarama.ConsumerMessage, now time.Time) *job {
	c.headers = c.headers[:0]
	for _, h := range m.Headers {
		c.headers = append(c.headers, record.Header{Key: h.Key, Value: h.Value})
	}
	j := &job{claim: c, record: record.Record{Topic: m.Topic, Partition: m.Partition, Offset: m.Offset, Timestamp: m.Timestamp}}
	j.record.Key, j.record.Value, j.record.Headers = record.Clone(m.Key, m.Value, c.headers)
	j.size = jobOverhead + sizeOf(&j.record)

	consumer := c.session.consumer
	var problems []record.Problem
	j.state, problems = record.Decode(&j.record, record.Source{
		Main: consumer.source.main(), Step: consumer.source.step, MaxAttempt: len(consumer.relay.schedule.Steps),
		Delay: consumer.source.delay, IDHeaders: consumer.relay.config.EventIDHeaders, Now: now,
	})
	for _, p := range problems {
		consumer.problem(j, p)
	}
	j.due = now.UnixMilli() // main: in order of arrival
	if !j.state.NotBefore.IsZero() {
		j.due = j.notBefore()
	}
	return j
}

func (c *consumer) problem(j *job, p record.Problem) {
	if p.Ignored {
		c.relay.metrics.IgnoredHeader(p.Header)
		return
	}
	c.relay.metrics.MalformedHeader(p.Header)
	if n, ok := c.relay.limiter.Allow("malformed "+p.Header, j.record.Topic, time.Now()); ok {
		c.relay.log.Warn("header counts as absent", zap.String("header", p.Header), zap.String("problem", p.Reason),
			zap.String(logging.FieldTopic, j.record.Topic), zap.Int32(logging.FieldPartition, j.record.Partition),
			zap.Int64(logging.FieldOffset, j.record.Offset), logging.Suppressed(n))
	}
}

func sizeOf(r *record.Record) int64 {
	n := len(r.Key) + len(r.Value)
	for i := range r.Headers {
		n += len(r.Headers[i].Key) + len(r.Headers[i].Value) + 48
	}
	return int64(n)
}

// foreignError names whose record it is.
type foreignError string

func (e foreignError) Error() string { return "x-consumer is " + string(e) }
