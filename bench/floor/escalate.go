package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"

	"github.com/IBM/sarama"
)

// escalate reads all topics but the last, POSTs each record, and writes it into the
// next topic; its offset is marked when all replicas have it.
func escalate(ctx context.Context, o options) error {
	posters, err := newFast(o)
	if err != nil {
		return err
	}
	producer, err := sarama.NewAsyncProducer(o.brokers, producerConfig())
	if err != nil {
		return err
	}
	next := map[string]string{}
	for i, topic := range o.topics[1:] {
		next[o.topics[i]] = topic
	}
	work := make(chan job, o.concurrency)
	var workers, members, results sync.WaitGroup
	results.Go(func() { mark(producer) })
	results.Go(func() { complain(producer) })
	for range o.concurrency {
		workers.Go(func() {
			p := posters()
			for j := range work {
				hop(p, j, next[j.message.Topic], producer)
			}
		})
	}
	failures := make([]error, len(o.topics)-1)
	for i := range failures {
		members.Go(func() {
			failures[i] = join(ctx, o, o.group+"-"+o.topics[i], o.topics[i], work)
		})
	}
	members.Wait()
	close(work)
	workers.Wait()
	producer.AsyncClose()
	results.Wait()
	return errors.Join(failures...)
}

// producerConfig is what retryd's producers have.
func producerConfig() *sarama.Config {
	c := config()
	c.Producer.RequiredAcks = sarama.WaitForAll
	c.Producer.Idempotent = true
	c.Net.MaxOpenRequests = 1
	c.Producer.Compression = sarama.CompressionLZ4
	c.Producer.Partitioner = sarama.NewManualPartitioner
	c.Producer.Return.Successes = true
	return c
}

// mark marks what was written. A session that is over ignores it.
func mark(producer sarama.AsyncProducer) {
	for m := range producer.Successes() {
		done := m.Metadata.(job)
		done.session.MarkMessage(done.message, "")
	}
}

func complain(producer sarama.AsyncProducer) {
	for err := range producer.Errors() {
		fmt.Fprintln(os.Stderr, "floor:", err)
	}
}

// hop is one attempt that is expected to fail, and what follows.
func hop(p poster, j job, next string, producer sarama.AsyncProducer) {
	x := carried(j.message)
	x.attempt++
	if status, err := p.post(x); err != nil || status == 200 {
		fmt.Fprintln(os.Stderr, "floor: no failure to escalate:", status, err)
		return
	}
	x.firstFailure = cmp.Or(x.firstFailure, j.message.Timestamp.UnixMilli())
	producer.Input() <- &sarama.ProducerMessage{
		Topic: next, Partition: j.message.Partition, Metadata: j,
		Key: sarama.ByteEncoder(x.key), Value: sarama.ByteEncoder(x.value), Headers: carry(x),
	}
}

// The headers without which the next request could not say what it has to.
const (
	headerAttempt      = "x-attempt"
	headerEventID      = "x-event-id"
	headerFirstFailure = "x-first-failure-at"
	headerTopic        = "x-origin-topic"
	headerPartition    = "x-origin-partition"
	headerOffset       = "x-origin-offset"
	headerTimestamp    = "x-origin-timestamp"
)

func carry(x exchange) []sarama.RecordHeader {
	header := func(name, value string) sarama.RecordHeader {
		return sarama.RecordHeader{Key: []byte(name), Value: []byte(value)}
	}
	number := func(name string, n int64) sarama.RecordHeader { return header(name, strconv.FormatInt(n, 10)) }
	return []sarama.RecordHeader{
		header(headerEventID, x.eventID),
		number(headerAttempt, int64(x.attempt)),
		number(headerFirstFailure, x.firstFailure),
		header(headerTopic, x.topic),
		number(headerPartition, int64(x.partition)),
		number(headerOffset, x.offset),
		number(headerTimestamp, x.timestamp.UnixMilli()),
	}
}
