package tier

import (
	"errors"
	"sync"
	"time"

	"github.com/IBM/sarama"

	"github.com/retryd/retryd/internal/kafka"
	"github.com/retryd/retryd/internal/policy"
	"github.com/retryd/retryd/internal/record"
)

// resendPause is how long a record waits after a write that failed, before it is
// written again. The client has retried for longer by then.
const resendPause = time.Second

// move is a decision that must be written to another topic before its record is
// complete.
type move struct {
	decision   policy.Decision
	to         *target
	state      record.State
	at         time.Time // of the decision: the hop's timestamp
	response   []byte    // of the attempt, like what follows; nothing of a record that expired or is re-parked
	appVersion string
	took       time.Duration
	final      bool   // it ends a record that failed, and was not held for grace yet
	trimmed    bool   // diagnostics were dropped, since it did not fit
	graces     int    // it was postponed
	outages    uint64 // of the endpoint, when the attempt began
	stuck      string // the topic that did not take it at the last try; empty: none
}

// send writes a record to its next topic, as that is now: after an error it may have
// been made anew. It does not block; the record comes back to its claim with the
// acknowledgement, or with the error.
func (r *Relay) send(j *job) {
	j.move.to = r.routes.Load().target(j.move.decision)
	j.move.to.Send(r.codec.message(j), func(offset int64, err error) { r.sent(j, offset, err) })
}

// sent acts on the answer to a write.
func (r *Relay) sent(j *job, offset int64, err error) {
	m := j.move
	switch {
	case err == nil:
		r.unstick(m, r.over)
		j.claim.consumer.moved(j, offset)
		j.claim.wrote(m, offset)
		j.claim.complete(j)
	case m.decision.Action == policy.ActionRepark:
		r.metrics.ProduceError(m.to.label)
		r.stays(j, err)
	case m.decision.Action == policy.ActionMove && errors.Is(err, kafka.ErrTooLarge):
		r.metrics.ProduceError(m.to.label)
		r.unstick(m, r.over)
		r.waitsHere(j, err)
	case errors.Is(err, kafka.ErrTooLarge) && !(m.to.dlt && m.trimmed):
		r.metrics.ProduceError(m.to.label)
		r.unstick(m, r.over)
		r.deadLetterOversize(j)
	default: // it may have been written; written again it is a repeat, never lost
		r.metrics.ProduceError(m.to.label)
		r.stick(m, err)
		if held := j.claim.giveBack(j, time.Now().Add(resendPause)); !held {
			r.unstick(m, r.drop) // the partition's next owner has it
		}
	}
}

// stick makes known that a topic does not take a record; see unstick.
func (r *Relay) stick(m *move, err error) {
	if m.stuck == m.to.topic {
		r.raise(kindWrite, m.stuck, err)
		return
	}
	r.unstick(m, r.over)
	m.stuck = m.to.topic
	r.raiseFor(kindWrite, m.stuck, err)
}

// unstick ends what stick began, once no other record is held up by the same topic:
// one that takes some records may refuse others, as when a partition has no leader.
func (r *Relay) unstick(m *move, end func(kind, string)) {
	if m.stuck != "" {
		end(kindWrite, m.stuck)
		m.stuck = ""
	}
}

// deadLetterOversize sends a record that does not fit its next topic to the
// dead-letter topic, without the diagnostics that can be spared.
func (r *Relay) deadLetterOversize(j *job) {
	m, now := j.move, time.Now()
	if !m.to.dlt {
		dlt := r.routes.Load().dlt
		m.state.Trace = j.state.Trace.Fail(dlt.topic, now)
		m.decision, m.to, m.at = m.decision.Oversize(now), dlt, now
		m.state.NotBefore, m.state.Attempt = m.decision.NotBefore, m.decision.Step
	}
	m.trimmed = true
	r.send(j)
}

// codec turns a decision into the message that travels on.
type codec struct {
	consumer string // x-consumer
	version  string
	scratch  *sync.Pool // of *[]record.Header
}

func newCodec(c Config, version string) codec {
	return codec{
		consumer: record.FormatConsumer(c.Name, c.Group), version: version,
		scratch: &sync.Pool{New: func() any { return new([]record.Header) }},
	}
}

// message keeps key, value, foreign headers and the partition number (modulo the
// target's count), and sets the time of the decision.
func (c codec) message(j *job) *sarama.ProducerMessage {
	m := j.move
	state := m.state
	state.Consumer = c.consumer
	scratch := c.scratch.Get().(*[]record.Header)
	headers := c.headers((*scratch)[:0], j, state)
	out := &sarama.ProducerMessage{
		Partition: j.record.Partition % m.to.partitions,
		Timestamp: m.at,
		Headers:   make([]sarama.RecordHeader, len(headers)),
	}
	for i, h := range headers {
		out.Headers[i] = sarama.RecordHeader{Key: h.Key, Value: h.Value}
	}
	clear(headers) // or they would keep the record's bytes
	*scratch = headers
	c.scratch.Put(scratch)
	if j.record.Key != nil { // a nil encoder is Kafka's null
		out.Key = sarama.ByteEncoder(j.record.Key)
	}
	if j.record.Value != nil {
		out.Value = sarama.ByteEncoder(j.record.Value)
	}
	return out
}

func (c codec) headers(dst []record.Header, j *job, state record.State) []record.Header {
	main := j.claim.consumer.source.main()
	m := j.move
	if m.decision.Action != policy.ActionDeadLetter {
		return record.AppendHeaders(dst, &j.record, &state, main)
	}
	dead := record.DeadLetter{
		Reason: string(m.decision.Reason), Response: m.response,
		Version: c.version, AppVersion: m.appVersion,
	}
	if m.trimmed {
		state, dead = record.TrimDiagnostics(state, dead)
	}
	return record.AppendDeadLetter(dst, &j.record, &state, dead, main)
}
