package kafka

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/IBM/sarama"
)

const (
	readVersion = 11              // KIP-392; the last version that names topics and asks for no leader epoch
	readWait    = 2 * time.Second // how long a broker holds a fetch that finds nothing; less than CommitTimeout
	readBytes   = 1 << 20         // of one fetch; a larger batch comes whole (KIP-74)
	abortMarker = 0               // type of the control record that ends an aborted transaction (KIP-98)
)

// Entry is one record of a compacted topic. A nil value deletes its key.
type Entry struct {
	Offset     int64
	Key, Value []byte
}

// Reader reads partition 0 of a topic by position, from its earliest offset on,
// read_committed, without a group. It looks at whole batches, so that it knows the end
// also where compaction has taken the last records, or where markers of transactions are
// the last: the client library's consumer passes over these without a word. It is used by
// one goroutine.
type Reader struct {
	client sarama.Client
	topic  string
	next   int64 // the offset to be read next
	empty  bool  // there was nothing to read when it was opened, which was not told yet
	hangUp context.CancelFunc
}

// OpenReader finds the topic's beginning. Once ctx ends, every call returns with an error
// at once. Whatever error a Reader gives ends it: it is closed, and another one begins
// anew, since what was compacted meanwhile would be missed.
func OpenReader(ctx context.Context, c Config, topic string) (*Reader, error) {
	open, hangUp := context.WithCancel(ctx)
	config := c.adminConfig(open)
	config.Metadata.Full = false // only of this topic
	client, err := sarama.NewClient(c.Brokers, config)
	if err != nil {
		hangUp()
		return nil, readError(topic, err)
	}
	r := &Reader{client: client, topic: topic, hangUp: hangUp}
	if err := r.begin(); err != nil {
		r.Close()
		return nil, readError(topic, err)
	}
	return r, nil
}

func (r *Reader) begin() (err error) {
	if r.next, err = r.client.GetOffset(r.topic, 0, sarama.OffsetOldest); err != nil {
		return err
	}
	newest, err := r.client.GetOffset(r.topic, 0, sarama.OffsetNewest)
	r.empty = r.next >= newest
	return err
}

// Close ends the connections.
func (r *Reader) Close() {
	r.hangUp()
	_ = r.client.Close() // fails only if it is closed already
}

// Read returns the records that follow; end says that there is no further one by now. It
// waits for 2 s at most for a record that is still to be written, but on an empty topic not
// the first time.
func (r *Reader) Read() (entries []Entry, end bool, err error) {
	if r.empty {
		r.empty = false
		return nil, true, nil
	}
	block, err := r.fetch()
	if err != nil {
		return nil, false, readError(r.topic, err)
	}
	from := r.next
	entries = r.take(block)
	// Where the last records were compacted away no batch reaches the end, and the broker
	// has nothing to give: it gives one batch at least if there is any.
	nothing := r.next == from && !block.Partial
	return entries, nothing || r.next >= block.LastStableOffset, nil
}

func readError(topic string, err error) error {
	if errors.Is(err, sarama.ErrTopicAuthorizationFailed) {
		return readDenied(topic)
	}
	return fmt.Errorf("read topic %s: %w", topic, err)
}

func (r *Reader) fetch() (*sarama.FetchResponseBlock, error) {
	leader, err := r.client.Leader(r.topic, 0)
	if err != nil {
		return nil, err
	}
	request := &sarama.FetchRequest{
		Version: readVersion, MaxWaitTime: int32(readWait.Milliseconds()), MinBytes: 1, MaxBytes: readBytes,
		Isolation: sarama.ReadCommitted,
	}
	request.AddBlock(r.topic, 0, r.next, readBytes, -1) // whatever the leader's epoch
	response, err := leader.Fetch(request)
	if err != nil {
		return nil, err
	}
	block := response.GetBlock(r.topic, 0)
	switch {
	case block == nil:
		return nil, sarama.ErrIncompleteResponse
	case block.Err != sarama.ErrNoError:
		return nil, block.Err
	}
	return block, nil
}

// take returns the committed records of a block and moves the position behind it.
func (r *Reader) take(block *sarama.FetchResponseBlock) []Entry {
	var taken []Entry
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
			taken = append(taken, r.entries(batch)...)
		}
		r.next = max(r.next, batch.LastOffset()+1)
	}
	return taken
}

// aborts reports whether a control batch ends an aborted transaction: its key is a
// version and a type, of two bytes each.
func aborts(batch *sarama.RecordBatch) bool {
	if len(batch.Records) == 0 {
		return false
	}
	key := batch.Records[0].Key
	return len(key) >= 4 && key[2] == 0 && key[3] == abortMarker
}

// entries leaves out what lies below the position: a batch is sent whole, also to who asks
// for its middle.
func (r *Reader) entries(batch *sarama.RecordBatch) []Entry {
	var list []Entry
	for _, record := range batch.Records {
		if offset := batch.FirstOffset + record.OffsetDelta; offset >= r.next {
			list = append(list, Entry{Offset: offset, Key: record.Key, Value: record.Value})
		}
	}
	return list
}
