package main

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/IBM/sarama"

	"github.com/retryd/retryd/test/harness"
)

// writer writes records without waiting for each.
type writer struct {
	producer sarama.AsyncProducer
	pending  sync.WaitGroup // records that are neither acknowledged nor failed
	failed   error          // the first failure; read when none is pending
	drains   sync.WaitGroup
}

func (b *bench) newWriter() (*writer, error) {
	c := harness.ClientConfig()
	c.Producer.Partitioner = sarama.NewManualPartitioner
	c.Producer.MaxMessageBytes = 512 << 10 // of a batch: less than any topic takes
	producer, err := sarama.NewAsyncProducer(b.cluster.Addrs(), c)
	if err != nil {
		return nil, err
	}
	w := &writer{producer: producer}
	w.drains.Go(func() {
		for range producer.Successes() {
			w.pending.Done()
		}
	})
	w.drains.Go(func() {
		for err := range producer.Errors() {
			w.failed = cmp.Or(w.failed, error(err))
			w.pending.Done()
		}
	})
	return w, nil
}

// write queues record i: its key follows from i, and its partition is one of the
// partitions in turn.
func (w *writer) write(topic string, partitions, i int, value []byte, timestamp time.Time, headers ...sarama.RecordHeader) {
	w.pending.Add(1)
	w.producer.Input() <- &sarama.ProducerMessage{
		Topic: topic, Partition: int32(i % partitions), Timestamp: timestamp, Headers: headers,
		Key: sarama.StringEncoder(fmt.Sprintf("key-%08d", i)), Value: sarama.ByteEncoder(value),
	}
}

// close returns once everything is acknowledged, or failed. A producer that is closed
// sooner fails what it would have sent again.
func (w *writer) close() error {
	w.pending.Wait()
	w.producer.AsyncClose()
	w.drains.Wait()
	return w.failed
}

// fill makes a topic and writes n records into it.
func (b *bench) fill(topic string, partitions, n int, value func(i int) []byte) error {
	if err := harness.MakeTopic(b.cluster.Addrs(), topic, int32(partitions), nil); err != nil {
		return err
	}
	w, err := b.newWriter()
	if err != nil {
		return err
	}
	for i := range n {
		w.write(topic, partitions, i, value(i), time.Now())
	}
	return w.close()
}

// sleep waits for the time, unless ctx ends.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// notBefore is the header that says when a record is due.
func notBefore(due time.Time) sarama.RecordHeader {
	return sarama.RecordHeader{Key: []byte("x-not-before"), Value: strconv.AppendInt(nil, due.UnixMilli(), 10)}
}

// pace calls each(i) for i below n, rate times a second, a few at a time, until ctx
// ends.
func pace(ctx context.Context, n, rate int, each func(i int)) error {
	const step = 5 * time.Millisecond
	ticker := time.NewTicker(step)
	defer ticker.Stop()
	began := time.Now()
	for i := 0; i < n; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
		for until := min(n, int(time.Since(began).Seconds()*float64(rate))); i < until; i++ {
			each(i)
		}
	}
	return nil
}
