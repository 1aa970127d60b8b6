package main

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/IBM/sarama"

	"github.com/retryd/retryd/test/harness"
)

const (
	writeChunk = 1000
	readBound  = 30 * time.Second // for the records of one partition
)

// topics writes into the relay's topics and reads them back.
type topics struct {
	client   sarama.Client
	producer sarama.SyncProducer
	consumer sarama.Consumer
}

// openTopics makes the main topic, too.
func openTopics(broker string) (*topics, error) {
	if err := harness.MakeTopic([]string{broker}, topic, partitions, nil); err != nil {
		return nil, err
	}
	config := harness.ClientConfig()
	config.Consumer.MaxWaitTime = 10 * time.Millisecond // a partition is asked for when a fetch of others has ended
	client, err := sarama.NewClient([]string{broker}, config)
	if err != nil {
		return nil, err
	}
	t := &topics{client: client}
	if t.producer, err = sarama.NewSyncProducerFromClient(client); err != nil {
		return nil, errors.Join(err, client.Close())
	}
	if t.consumer, err = sarama.NewConsumerFromClient(client); err != nil {
		return nil, errors.Join(err, t.producer.Close(), client.Close())
	}
	return t, nil
}

func (t *topics) close() error {
	return errors.Join(t.consumer.Close(), t.producer.Close(), t.client.Close())
}

// write writes records, some at a time: a producer makes one batch of all that it has.
func (t *topics) write(records []*sarama.ProducerMessage) error {
	for chunk := range slices.Chunk(records, writeChunk) {
		err := t.producer.SendMessages(chunk)
		var all sarama.ProducerErrors
		if errors.As(err, &all) && len(all) > 0 {
			err = all[0].Err // the summary only counts
		}
		if err != nil {
			return fmt.Errorf("write records: %w", err)
		}
	}
	return nil
}

// read returns everything in a topic.
func (t *topics) read(topic string) ([]*sarama.ConsumerMessage, error) {
	var all []*sarama.ConsumerMessage
	for p := range int32(partitions) {
		records, err := t.readPartition(topic, p)
		if err != nil {
			return nil, fmt.Errorf("read %s/%d: %w", topic, p, err)
		}
		all = append(all, records...)
	}
	return all, nil
}

func (t *topics) readPartition(topic string, p int32) ([]*sarama.ConsumerMessage, error) {
	end, err := t.client.GetOffset(topic, p, sarama.OffsetNewest)
	if err != nil || end == 0 {
		return nil, err
	}
	partition, err := t.consumer.ConsumePartition(topic, p, sarama.OffsetOldest)
	if err != nil {
		return nil, err
	}
	defer partition.AsyncClose()
	bound := time.After(readBound)
	records := make([]*sarama.ConsumerMessage, 0, end)
	for {
		select {
		case m := <-partition.Messages():
			records = append(records, m)
			if m.Offset >= end-1 { // retryd writes no transactions
				return records, nil
			}
		case <-bound:
			return nil, fmt.Errorf("only %d of %d records within %s", len(records), end, readBound)
		}
	}
}

// tierTopic returns the topic of a tier, from 1.
func tierTopic(tier int) string { return fmt.Sprintf("%s.retry.%d", topic, tier) }

const deadLetters = topic + ".DLT"
