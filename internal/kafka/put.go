package kafka

import (
	"context"
	"errors"

	"github.com/IBM/sarama"
)

// errUnacknowledged is of a record that may or may not have been written.
var errUnacknowledged = errors.New("not acknowledged in time: it may take effect yet")

// Put writes one record to partition 0 and waits until every in-sync replica has it, or
// for the end of ctx. A nil value deletes the key on a compacted topic. offset is as Done
// is told it.
func (t *Target) Put(ctx context.Context, key, value []byte) (offset int64, err error) {
	m := &sarama.ProducerMessage{Key: sarama.ByteEncoder(key)}
	if value != nil { // an encoder of nil would be one of no bytes
		m.Value = sarama.ByteEncoder(value)
	}
	type outcome struct {
		offset int64
		err    error
	}
	acknowledged := make(chan outcome, 1)
	t.Send(m, func(offset int64, err error) { acknowledged <- outcome{offset, err} })
	select {
	case o := <-acknowledged:
		return o.offset, o.err
	case <-ctx.Done():
		return 0, errUnacknowledged
	}
}
