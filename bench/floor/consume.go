package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"

	"github.com/IBM/sarama"
)

// config is sarama's with what makes a bare consumer quick. Offsets are marked when
// the endpoint has answered, whatever is below them, and committed once a second.
func config() *sarama.Config {
	c := sarama.NewConfig()
	c.Version = sarama.MaxVersion
	c.Consumer.Offsets.Initial = sarama.OffsetOldest
	c.Consumer.Return.Errors = true
	return c
}

// job is one record in the hand of a worker.
type job struct {
	session sarama.ConsumerGroupSession
	message *sarama.ConsumerMessage
}

// group hands the records of its claims to all workers, who take them until the end.
type group struct{ work chan<- job }

// Setup implements sarama.ConsumerGroupHandler.
func (group) Setup(sarama.ConsumerGroupSession) error { return nil }

// Cleanup implements sarama.ConsumerGroupHandler.
func (group) Cleanup(sarama.ConsumerGroupSession) error { return nil }

// ConsumeClaim implements sarama.ConsumerGroupHandler.
func (g group) ConsumeClaim(s sarama.ConsumerGroupSession, c sarama.ConsumerGroupClaim) error {
	for m := range c.Messages() {
		g.work <- job{s, m}
	}
	return nil
}

// consume POSTs each record of the first topic once.
func consume(ctx context.Context, o options, newPoster func(options) (func() poster, error)) error {
	posters, err := newPoster(o)
	if err != nil {
		return err
	}
	work := make(chan job, o.concurrency)
	var workers sync.WaitGroup
	for range o.concurrency {
		workers.Go(func() {
			p := posters()
			for j := range work {
				deliver(p, j)
			}
		})
	}
	err = join(ctx, o, o.group, o.topics[0], work)
	close(work)
	workers.Wait()
	return err
}

func deliver(p poster, j job) {
	if status, err := p.post(first(j.message)); err != nil || status != 200 {
		fmt.Fprintln(os.Stderr, "floor: not accepted:", status, err)
		return
	}
	j.session.MarkMessage(j.message, "")
}

// first is the first attempt of a record.
func first(m *sarama.ConsumerMessage) exchange {
	return exchange{
		eventID: eventID(m), attempt: 1,
		topic: m.Topic, partition: m.Partition, offset: m.Offset, timestamp: m.Timestamp,
		key: m.Key, value: m.Value,
	}
}

// eventID is <topic>/<partition>/<offset>@<timestamp>.
func eventID(m *sarama.ConsumerMessage) string {
	var buffer [320]byte
	id := append(append(buffer[:0], m.Topic...), '/')
	id = append(strconv.AppendInt(id, int64(m.Partition), 10), '/')
	id = append(strconv.AppendInt(id, m.Offset, 10), '@')
	return string(strconv.AppendInt(id, m.Timestamp.UnixMilli(), 10))
}

// join is a member of a group until ctx ends.
func join(ctx context.Context, o options, name, topic string, work chan<- job) error {
	member, err := sarama.NewConsumerGroup(o.brokers, name, config())
	if err != nil {
		return err
	}
	var errors sync.WaitGroup
	errors.Go(func() {
		for err := range member.Errors() {
			fmt.Fprintln(os.Stderr, "floor:", err)
		}
	})
	for err == nil && ctx.Err() == nil {
		err = member.Consume(ctx, []string{topic}, group{work})
	}
	if closed := member.Close(); err == nil {
		err = closed
	}
	errors.Wait()
	return err
}
