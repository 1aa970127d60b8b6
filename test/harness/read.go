package harness

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/IBM/sarama"
)

const (
	readBound      = time.Minute
	fetchBytes     = 8 << 20
	fetchVersion   = 11 // KIP-392; the last one that names topics and needs no leader epoch
	abortMarker    = 0  // type of the control record that ends an aborted transaction (KIP-98)
	unknownLeader  = -1
	noOffsetYet    = -1
	controlKeySize = 4 // version and type, two bytes each
)

// ReadTopic returns all records of a topic up to the end that it has at the time
// of the call, read_committed, partition after partition in the order of their
// offsets.
func ReadTopic(t testing.TB, addrs []string, topic string) []*sarama.ConsumerMessage {
	t.Helper()
	client, err := newReadClient(addrs)
	if err != nil {
		t.Fatalf("read topic %s: %v", topic, err)
	}
	defer client.Close()
	messages, err := newReader(client, topic).read(time.Now().Add(readBound))
	if err != nil {
		t.Fatal(err)
	}
	return messages
}

// newReadClient connects to the brokers. Its calls fail fast, because a reader
// tries again by itself.
func newReadClient(addrs []string) (sarama.Client, error) {
	config := ClientConfig()
	config.Metadata.Retry.Max = 1
	return sarama.NewClient(addrs, config)
}

// reader reads a topic by position, without a consumer group. sarama's consumer
// skips control and aborted records silently, so that with it nobody could tell
// the end of a partition from a slow broker; this one looks at whole batches.
type reader struct {
	client sarama.Client
	topic  string
	next   map[int32]int64 // offset to read next, per partition
}

func newReader(client sarama.Client, topic string) *reader {
	return &reader{client: client, topic: topic, next: map[int32]int64{}}
}

// read returns what the topic holds beyond the last read. It waits out brokers
// that are down or moving, until the deadline.
func (r *reader) read(deadline time.Time) ([]*sarama.ConsumerMessage, error) {
	partitions, err := r.client.Partitions(r.topic)
	if err != nil {
		return nil, fmt.Errorf("read topic %s: %w", r.topic, err)
	}
	var all []*sarama.ConsumerMessage
	for _, partition := range partitions {
		messages, err := r.readPartition(partition, deadline)
		if err != nil {
			return nil, fmt.Errorf("read partition %d of topic %s: %w", partition, r.topic, err)
		}
		all = append(all, messages...)
	}
	return all, nil
}

// readPartition reads up to the last stable offset that its first fetch reports.
func (r *reader) readPartition(partition int32, deadline time.Time) ([]*sarama.ConsumerMessage, error) {
	var all []*sarama.ConsumerMessage
	var last error
	end := int64(noOffsetYet)
	err := poll(pollInterval, time.Until(deadline), "its end", func() (bool, error) {
		block, err := r.fetch(partition)
		if last = err; err != nil {
			return false, nil
		}
		if end == noOffsetYet {
			end = block.LastStableOffset
		}
		all = append(all, r.take(partition, block)...)
		return r.next[partition] >= end, nil
	})
	if err != nil {
		return nil, errors.Join(err, last)
	}
	return all, nil
}

// fetch asks the partition's leader for the batches at the next offset, without
// waiting for more. After an error the leader is looked up anew.
func (r *reader) fetch(partition int32) (*sarama.FetchResponseBlock, error) {
	if _, known := r.next[partition]; !known {
		oldest, err := r.client.GetOffset(r.topic, partition, sarama.OffsetOldest)
		if err != nil {
			return nil, err
		}
		r.next[partition] = oldest
	}
	leader, err := r.client.Leader(r.topic, partition)
	if err != nil {
		return nil, err
	}
	request := &sarama.FetchRequest{
		Version: fetchVersion, MinBytes: 1, MaxBytes: fetchBytes, Isolation: sarama.ReadCommitted,
	}
	request.AddBlock(r.topic, partition, r.next[partition], fetchBytes, unknownLeader)
	response, err := leader.Fetch(request)
	if err != nil {
		leader.Close() // opened again by the next call of Leader
		return nil, errors.Join(err, r.client.RefreshMetadata(r.topic))
	}
	block := response.GetBlock(r.topic, partition)
	if block == nil {
		return nil, sarama.ErrIncompleteResponse
	}
	if block.Err != sarama.ErrNoError {
		return nil, errors.Join(block.Err, r.client.RefreshMetadata(r.topic))
	}
	return block, nil
}

// take returns the committed records of a block and moves the position behind it.
func (r *reader) take(partition int32, block *sarama.FetchResponseBlock) []*sarama.ConsumerMessage {
	var taken []*sarama.ConsumerMessage
	aborted := map[int64]bool{} // producers inside a transaction that was aborted
	begun := block.AbortedTransactions
	for _, records := range block.RecordsSet {
		batch := records.RecordBatch
		if batch == nil || batch.PartialTrailingRecord {
			break
		}
		for len(begun) > 0 && begun[0].FirstOffset <= batch.LastOffset() {
			aborted[begun[0].ProducerID] = true
			begun = begun[1:]
		}
		switch {
		case batch.Control:
			if aborts(batch) {
				delete(aborted, batch.ProducerID)
			}
		case !batch.IsTransactional || !aborted[batch.ProducerID]:
			taken = append(taken, r.messages(partition, batch)...)
		}
		r.next[partition] = max(r.next[partition], batch.LastOffset()+1)
	}
	return taken
}

// aborts reports whether a control batch ends an aborted transaction.
func aborts(batch *sarama.RecordBatch) bool {
	if len(batch.Records) == 0 {
		return false
	}
	key := batch.Records[0].Key
	return len(key) >= controlKeySize && key[2] == 0 && key[3] == abortMarker
}

func (r *reader) messages(partition int32, batch *sarama.RecordBatch) []*sarama.ConsumerMessage {
	var messages []*sarama.ConsumerMessage
	for _, record := range batch.Records {
		offset := batch.FirstOffset + record.OffsetDelta
		if offset < r.next[partition] {
			continue // a batch is sent whole, also to who asks for its middle
		}
		timestamp := batch.FirstTimestamp.Add(record.TimestampDelta)
		if batch.LogAppendTime {
			timestamp = batch.MaxTimestamp
		}
		messages = append(messages, &sarama.ConsumerMessage{
			Topic: r.topic, Partition: partition, Offset: offset, Timestamp: timestamp,
			Key: record.Key, Value: record.Value, Headers: record.Headers,
		})
	}
	return messages
}
