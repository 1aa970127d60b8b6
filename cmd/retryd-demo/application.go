package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/IBM/sarama"
)

// application is the team's own program: it writes records, and here it also reads
// the topics back.
type application struct {
	client   sarama.Client
	admin    sarama.ClusterAdmin
	producer sarama.SyncProducer
	consumer sarama.Consumer
}

func newApplication(brokers []string) (*application, error) {
	config := sarama.NewConfig()
	config.Version = sarama.MaxVersion
	config.ClientID = "libraryd"
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Return.Successes = true
	client, err := sarama.NewClient(brokers, config)
	if err != nil {
		return nil, err
	}
	a := &application{client: client}
	if a.admin, err = sarama.NewClusterAdminFromClient(client); err != nil {
		return nil, err
	}
	if a.producer, err = sarama.NewSyncProducerFromClient(client); err != nil {
		return nil, err
	}
	a.consumer, err = sarama.NewConsumerFromClient(client)
	return a, err
}

func (a *application) close() error { return a.client.Close() }

// create makes a topic, unless it exists.
func (a *application) create(topic string) error {
	err := a.admin.CreateTopic(topic, &sarama.TopicDetail{NumPartitions: 1, ReplicationFactor: 1}, false)
	if err != nil && !errors.Is(err, sarama.ErrTopicAlreadyExists) {
		return fmt.Errorf("create topic %s: %w", topic, err)
	}
	return nil
}

func (a *application) write(topic string, records int) error {
	messages := make([]*sarama.ProducerMessage, records)
	for i := range messages {
		messages[i] = &sarama.ProducerMessage{
			Topic: topic,
			Key:   sarama.StringEncoder(fmt.Sprintf("loan-%d", i)),
			Value: sarama.StringEncoder(fmt.Sprintf(`{"loan":%d,"days":%d}`, i, 7+i)),
		}
	}
	return a.producer.SendMessages(messages)
}

// await waits until a topic holds a number of records.
func (a *application) await(ctx context.Context, topic string, records int64) error {
	for {
		end, err := a.client.GetOffset(topic, 0, sarama.OffsetNewest)
		if err == nil && end >= records {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %d records in %s (it holds %d): %w", records, topic, end, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// read returns every record that a topic holds now.
func (a *application) read(ctx context.Context, topic string) ([]*sarama.ConsumerMessage, error) {
	end, err := a.client.GetOffset(topic, 0, sarama.OffsetNewest)
	if err != nil || end == 0 {
		return nil, err
	}
	partition, err := a.consumer.ConsumePartition(topic, 0, sarama.OffsetOldest)
	if err != nil {
		return nil, err
	}
	defer partition.AsyncClose()
	var records []*sarama.ConsumerMessage
	for {
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("reading %s: %w", topic, ctx.Err())
		case m := <-partition.Messages():
			records = append(records, m)
			if m.Offset >= end-1 {
				return records, nil
			}
		}
	}
}
