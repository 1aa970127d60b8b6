package tier

import (
	"slices"
	"time"

	"github.com/IBM/sarama"
	"go.uber.org/zap"

	"github.com/retryd/retryd/internal/logging"
	"github.com/retryd/retryd/internal/record"
	"github.com/retryd/retryd/internal/window"
)

// jobOverhead is what a held record costs beside its bytes and the texts of its state,
// roughly: the job, its place in the window, and as much again that is not collected yet.
const jobOverhead = 1152

// take holds one record that was read, unless an earlier owner completed it.
func (c *claim) take(m *sarama.ConsumerMessage, now time.Time) {
	done, err := c.fetched(m)
	if err != nil {
		c.relay.warn("record was read twice, it is held once", m.Topic, err)
		return
	}
	c.begun, c.newest, c.unread = true, m.Timestamp, m.Offset+1
	if m.Timestamp.After(now) { // another clock: it must not stop the reading
		c.newest = now.Round(0)
	}
	if done {
		return
	}
	j := c.job(m)
	if c.foreign(j) {
		c.skip(j)
		return
	}
	c.decode(j, now)
	c.settle(j)
	if j.due > now.UnixMilli() {
		c.consumer.logHold(j, now)
	}
	c.admit(j)
}

// admit holds a record that was read. From then on the job is whoever's takes it.
func (c *claim) admit(j *job) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.share.Add(j.size)
	c.hold(j)
}

// fetched accounts for an offset that was read, and reports whether an earlier owner
// completed it. The first one may lie below the start: the log was cut and the client
// begins at its earliest.
func (c *claim) fetched(m *sarama.ConsumerMessage) (done bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stuck = c.moving >= maxMoving
	done, err = c.offsets.Fetched(m.Offset)
	if err == nil || c.begun {
		return done, err
	}
	c.relay.log.Error("log ends below the committed offset, it is read from its earliest offset",
		zap.String(logging.FieldTopic, m.Topic), zap.Int32(logging.FieldPartition, m.Partition),
		zap.Int64("committed", c.offsets.Low()), zap.Int64(logging.FieldOffset, m.Offset))
	c.offsets = window.NewOffsets(m.Offset)
	return c.offsets.Fetched(m.Offset)
}

// foreign reports whether another relay wrote the record for itself. A header that
// does not say so clearly counts as absent.
func (c *claim) foreign(j *job) bool {
	if c.consumer.source.main() {
		return false
	}
	value, _ := record.Find(j.record.Headers, record.HeaderConsumer)
	group := record.ConsumerGroup(string(value))
	return group != "" && group != c.relay.config.Group
}

// skip completes a foreign record without looking at it further.
func (c *claim) skip(j *job) {
	c.consumer.metrics.Foreign()
	if n, ok := c.relay.deps.Limiter.Allow("foreign", j.record.Topic, time.Now()); ok {
		value, _ := record.Find(j.record.Headers, record.HeaderConsumer)
		shown := c.relay.hide.Value(record.HeaderConsumer, value)
		c.relay.log.Warn("record of another group is skipped: another relay shares this topic, or this relay's group was changed",
			zap.String(logging.FieldTopic, j.record.Topic), zap.Int32(logging.FieldPartition, j.record.Partition),
			zap.Int64(logging.FieldOffset, j.record.Offset), zap.ByteString("consumer", shown), logging.Suppressed(n))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offsets.Complete(j.record.Offset)
}

// job makes a job of a fetched message, as long as it is looked at: its list of headers
// is the claim's.
func (c *claim) job(m *sarama.ConsumerMessage) *job {
	c.headers = c.headers[:0]
	for _, h := range m.Headers {
		c.headers = append(c.headers, record.Header{Key: h.Key, Value: h.Value})
	}
	return &job{claim: c, lent: true, record: record.Record{
		Topic: m.Topic, Partition: m.Partition, Offset: m.Offset, Timestamp: m.Timestamp,
		Key: m.Key, Value: m.Value, Headers: c.headers,
	}}
}

// settle makes the job one that can be held. Its bytes are part of the fetch response,
// which would be pinned by any of them, so they are copied; but not those of a main
// record while these flow: they are due, so they are let out in the order in which they
// were read, and pin little more than what is held.
func (c *claim) settle(j *job) {
	switch {
	case !c.consumer.source.main():
		j.record.Headers = record.Needed(c.headers)
		j.own()
	case c.flows(j.record.Offset):
		j.record.Headers = slices.Clone(c.headers)
	default:
		j.own()
	}
	clear(c.headers)
	j.size = jobOverhead + int64(j.record.Size()+j.state.Size())
}

// flows reports whether a record follows the one before, and that may be let out: else
// the few that are held could each pin a response with much of other partitions.
func (c *claim) flows(offset int64) bool {
	follows := offset == c.held+1
	c.held = offset
	return follows && !c.stuck
}

// decode reads the headers, which say when the record is due.
func (c *claim) decode(j *job, now time.Time) {
	src := c.consumer.source
	var problems []record.Problem
	j.state, problems = record.Decode(&j.record, record.Source{
		Main: src.main(), Step: src.step, MaxAttempt: len(c.relay.schedule.Steps),
		Delay: src.delay, IDSources: c.relay.ids, Now: now,
	})
	for _, p := range problems {
		c.consumer.reportHeader(j, p)
	}
	j.due = now.UnixMilli() // main: in order of arrival
	if !j.state.NotBefore.IsZero() {
		j.due = j.notBefore()
	}
}

// reportHeader tells of a header that did not count.
func (c *consumer) reportHeader(j *job, p record.Problem) {
	if p.Ignored {
		c.relay.metrics.IgnoredHeader(p.Header)
		return
	}
	c.relay.metrics.MalformedHeader(p.Header)
	if n, ok := c.relay.deps.Limiter.Allow("malformed "+p.Header, j.record.Topic, time.Now()); ok {
		c.relay.log.Warn("header counts as absent", zap.String("header", p.Header), zap.String("problem", c.relay.hide.Problem(p)),
			zap.String(logging.FieldTopic, j.record.Topic), zap.Int32(logging.FieldPartition, j.record.Partition),
			zap.Int64(logging.FieldOffset, j.record.Offset), logging.Suppressed(n))
	}
}
