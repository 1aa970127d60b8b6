package kafka

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/retryd/retryd/test/harness"
)

const fetchKey = 1

// opened is a reader of a topic until the end of the test.
func opened(t *testing.T, c Config, topic string) *Reader {
	t.Helper()
	r, err := OpenReader(t.Context(), c, topic)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// toEnd reads on until the reader says that there is nothing more.
func toEnd(t *testing.T, r *Reader) []string {
	t.Helper()
	var read []string
	for deadline := time.Now().Add(bound); time.Now().Before(deadline); {
		entries, end, err := r.Read()
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			value := string(e.Value)
			if e.Value == nil {
				value = "null"
			}
			read = append(read, string(e.Key)+"="+value)
		}
		if end {
			return read
		}
	}
	t.Fatal("the end is never reached")
	return nil
}

func put(t *testing.T, to *Target, key string, value []byte) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	defer cancel()
	if _, err := to.Put(ctx, []byte(key), value); err != nil {
		t.Fatal(err)
	}
}

func TestReaderReadsToTheEndAndFollows(t *testing.T) {
	config := startBroker(t)
	c := connect(t, config)
	createTopic(t, c, "control", 1, nil)
	r := opened(t, config, "control")
	if got := toEnd(t, r); len(got) > 0 {
		t.Errorf("an empty topic has %v", got)
	}
	to := target(t, newProducers(t, config), "control", 1<<20)
	put(t, to, "a", []byte("1"))
	put(t, to, "b", []byte{})
	put(t, to, "a", nil)
	want := []string{"a=1", "b=", "a=null"}
	var got []string
	for len(got) < len(want) {
		got = append(got, toEnd(t, r)...)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("followed (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(want, toEnd(t, opened(t, config, "control"))); diff != "" {
		t.Errorf("read from the start (-want +got):\n%s", diff)
	}
}

func TestReaderKnowsTheEndBehindWhatNobodyGets(t *testing.T) {
	config := startBroker(t)
	c := connect(t, config)
	createTopic(t, c, "aborted", 1, nil)
	createTopic(t, c, "cut", 1, nil)
	p := newProducers(t, config)
	put(t, target(t, p, "aborted", 1<<20), "a", []byte("1"))
	abort(t, config, "aborted", "b")
	put(t, target(t, p, "cut", 1<<20), "a", []byte("1"))
	if err := c.admin.DeleteRecords("cut", map[int32]int64{0: 1}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a=1"}, toEnd(t, opened(t, config, "aborted"))); diff != "" {
		t.Errorf("an aborted transaction at the end (-want +got):\n%s", diff)
	}
	if got := toEnd(t, opened(t, config, "cut")); len(got) > 0 {
		t.Errorf("of a topic whose records were deleted: %v", got)
	}
}

// abort writes a record in a transaction that is aborted.
func abort(t *testing.T, c Config, topic, key string) {
	t.Helper()
	s := harness.ClientConfig()
	s.Producer.Transaction.ID, s.Producer.Idempotent, s.Net.MaxOpenRequests = "t", true, 1
	s.Producer.RequiredAcks, s.Producer.Return.Successes = sarama.WaitForAll, true
	producer, err := sarama.NewSyncProducer(c.Brokers, s)
	if err != nil {
		t.Fatal(err)
	}
	defer producer.Close()
	if err := producer.BeginTxn(); err != nil {
		t.Fatal(err)
	}
	if _, _, err := producer.SendMessage(&sarama.ProducerMessage{Topic: topic, Key: sarama.StringEncoder(key)}); err != nil {
		t.Fatal(err)
	}
	if err := producer.AbortTxn(); err != nil {
		t.Fatal(err)
	}
}

// Compaction may take the last records before an end that stays where it is.
func TestReaderDoesNotWaitForAnOffsetThatNeverComes(t *testing.T) {
	fake, config := startFake(t)
	c := connect(t, config)
	createTopic(t, c, "control", 1, nil)
	put(t, target(t, newProducers(t, config), "control", 1<<20), "a", []byte("1"))
	r := opened(t, config, "control")
	if diff := cmp.Diff([]string{"a=1"}, toEnd(t, r)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	fake.ControlKey(fetchKey, func(req kmsg.Request) (kmsg.Response, error, bool) {
		fake.KeepControl()
		resp := req.ResponseKind().(*kmsg.FetchResponse)
		topic := kmsg.NewFetchResponseTopic()
		topic.Topic = "control"
		partition := kmsg.NewFetchResponseTopicPartition()
		partition.HighWatermark, partition.LastStableOffset, partition.RecordBatches = 9, 9, []byte{}
		topic.Partitions = append(topic.Partitions, partition)
		resp.Topics = append(resp.Topics, topic)
		return resp, nil, true
	})
	if got := toEnd(t, r); len(got) > 0 {
		t.Errorf("read %v", got)
	}
}

// A broker holds a fetch of an empty topic, which each start would wait for.
func TestReaderOfAnEmptyTopicIsAtItsEndWithoutAFetch(t *testing.T) {
	fake, config := startFake(t)
	c := connect(t, config)
	createTopic(t, c, "control", 1, nil)
	var fetches atomic.Int32
	fake.ControlKey(fetchKey, func(kmsg.Request) (kmsg.Response, error, bool) {
		fake.KeepControl()
		fetches.Add(1)
		return nil, nil, false
	})
	r := opened(t, config, "control")
	if entries, end, err := r.Read(); len(entries) > 0 || !end || err != nil || fetches.Load() > 0 {
		t.Errorf("read %v, end %v, %v, after %d fetches", entries, end, err, fetches.Load())
	}
	put(t, target(t, newProducers(t, config), "control", 1<<20), "a", []byte("1"))
	if entries, end, err := r.Read(); len(entries) != 1 || !end || err != nil {
		t.Errorf("then read %v, end %v, %v", entries, end, err)
	}
}

func TestReaderOfAMissingTopic(t *testing.T) {
	config := startBroker(t)
	connect(t, config)
	_, err := OpenReader(t.Context(), config, "control")
	if !NoTopic(err) {
		t.Errorf("%v, want that the topic does not exist", err)
	}
}

func TestReaderOfADeletedTopicEnds(t *testing.T) {
	config := startBroker(t)
	c := connect(t, config)
	createTopic(t, c, "control", 1, nil)
	r := opened(t, config, "control")
	toEnd(t, r)
	if err := c.admin.DeleteTopic("control"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.Read(); !NoTopic(err) {
		t.Errorf("%v, want that the topic does not exist", err)
	}
}

func TestReaderIsCutOffByItsContext(t *testing.T) {
	mute, _, config := startMute(t)
	c := connect(t, config)
	createTopic(t, c, "control", 1, nil)
	ctx, cancel := context.WithCancel(t.Context())
	r, err := OpenReader(ctx, config, "control")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	toEnd(t, r)
	mute.muted.Store(true)
	ended := make(chan error, 1)
	go func() {
		_, _, err := r.Read()
		ended <- err
	}()
	cancel()
	began := time.Now()
	if err := receive(t, "the end", ended); err == nil {
		t.Error("a read whose context ended gives no error")
	}
	if took := time.Since(began); took >= CommitTimeout {
		t.Errorf("took %s, as long as the answer is waited for", took)
	}
}

func TestPutGivesUpWithItsContext(t *testing.T) {
	mute, _, config := startMute(t)
	c := connect(t, config)
	createTopic(t, c, "control", 1, nil)
	to := target(t, newProducers(t, config), "control", 1<<20)
	mute.muted.Store(true)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := to.Put(ctx, []byte("a"), nil); !errors.Is(err, errUnacknowledged) {
		t.Errorf("%v, want that it was not acknowledged", err)
	}
}
