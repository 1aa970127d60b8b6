package scenarios

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/IBM/sarama"

	"github.com/retryd/retryd/test/harness"
)

// These records are written by producers with settings of their own, not by a
// ledger: the accounting is the set of accepted event ids.

func TestCompressedBatchesAreDelivered(t *testing.T) {
	codecs := []sarama.CompressionCodec{
		sarama.CompressionGZIP, sarama.CompressionSnappy, sarama.CompressionLZ4, sarama.CompressionZSTD,
	}
	eachBroker(t, func(t *testing.T, addrs []string) {
		c := newChain(t, addrs, 2, failing("zstd-1"), 0)
		written := map[string]string{}
		for _, codec := range codecs {
			list := records(codec.String(), 30)
			for i := range list {
				list[i].Value = []byte(strings.Repeat(list[i].ID, 100))
				written[list[i].ID] = string(list[i].Value)
			}
			produce(t, addrs, c.topic, func(config *sarama.Config) { config.Producer.Compression = codec }, list...)
		}
		d := c.run(t)
		c.awaitCommitted(t, c.group(), c.topic)
		c.awaitCommitted(t, c.tierGroup(1), c.tier(1))
		d.Stop(t)
		ended := acceptedOnce(t, c)
		for _, letter := range harness.ReadTopic(t, addrs, c.dlt()) {
			ended[header(t, letter, "x-event-id")] = string(letter.Value)
		}
		expectSame(t, written, ended)
	})
}

// acceptedOnce returns the bodies of the accepted requests by event id, and fails
// the test if one was accepted twice.
func acceptedOnce(t *testing.T, c *chain) map[string]string {
	t.Helper()
	bodies := map[string]string{}
	for _, call := range c.endpoint.Accepted() {
		if _, twice := bodies[call.EventID]; twice {
			t.Errorf("%s was accepted twice", call.EventID)
		}
		bodies[call.EventID] = string(call.Body)
	}
	return bodies
}

func expectSame(t *testing.T, written, ended map[string]string) {
	t.Helper()
	for id, value := range written {
		if got, ok := ended[id]; !ok {
			t.Errorf("%s was neither accepted nor dead-lettered", id)
		} else if got != value {
			t.Errorf("%s arrived as %.40q", id, got)
		}
	}
	for id := range ended {
		if _, ok := written[id]; !ok {
			t.Errorf("%s was delivered and never written, or aborted", id)
		}
	}
}

func TestTransactions(t *testing.T) {
	eachBroker(t, func(t *testing.T, addrs []string) {
		c := newChain(t, addrs, 1, nil, 0)
		written := map[string]string{}
		keep := func(list []harness.Record) []harness.Record {
			for _, r := range list {
				written[r.ID] = string(r.Value)
			}
			return list
		}
		transact(t, addrs, c.topic, true, keep(records("committed", 10)))
		transact(t, addrs, c.topic, false, records("aborted", 10))
		transact(t, addrs, c.topic, true, keep(records("later", 10)))
		transact(t, addrs, c.topic, false, records("aborted-too", 10))
		produce(t, addrs, c.topic, nil, keep(records("plain", 5))...)

		d := c.run(t)
		c.awaitCommitted(t, c.group(), c.topic) // over all gaps
		d.Stop(t)
		expectSame(t, written, acceptedOnce(t, c))
		if requests, _ := c.endpoint.Counts(); requests != len(written) {
			t.Errorf("%d requests, want %d", requests, len(written))
		}
	})
}

// TestEndOfTransactionIsNoLag looks at the marker that ends a transaction: it has
// an offset, and no record ever comes for it. Lag is measured now and then; the
// record that is held tells when.
func TestEndOfTransactionIsNoLag(t *testing.T) {
	eachBroker(t, func(t *testing.T, addrs []string) {
		c := newChain(t, addrs, 1, failing("held"), time.Hour)
		transact(t, addrs, c.topic, true, append(records("committed", 10), records("held", 1)...))
		transact(t, addrs, c.topic, false, records("aborted", 10))
		d := c.run(t)
		awaitMetric(t, d, c.series("retryd_lag_records", `state="held"`, `tier="1"`), 1)
		awaitMetric(t, d, c.series("retryd_lag_records", `state="due"`, `tier="main"`), 0)
		d.Stop(t)
		if requests, _ := c.endpoint.Counts(); requests != 11 {
			t.Errorf("%d requests, want 11: aborted records are never delivered", requests)
		}
	})
}

// transact writes a list in one transaction, which it commits or aborts.
func transact(t *testing.T, addrs []string, topic string, commit bool, list []harness.Record) {
	t.Helper()
	config := harness.ClientConfig()
	config.Producer.Transaction.ID = harness.TopicName(t)
	producer, err := sarama.NewSyncProducer(addrs, config)
	if err != nil {
		t.Fatal(err)
	}
	defer producer.Close()
	end := producer.AbortTxn
	if commit {
		end = producer.CommitTxn
	}
	if err := producer.BeginTxn(); err != nil {
		t.Fatal(err)
	}
	if err := producer.SendMessages(messages(topic, list)); err != nil {
		t.Fatal(err)
	}
	if err := end(); err != nil {
		t.Fatal(err)
	}
}

func TestRecordThatNoLongerFitsIsDeadLettered(t *testing.T) {
	eachBroker(t, func(t *testing.T, addrs []string) {
		const limit = 100_000
		plan := func(harness.Request) harness.Answer {
			return harness.Answer{Status: http.StatusServiceUnavailable, Body: "not now"}
		}
		c := newChain(t, addrs, 1, plan, 0, 0)
		small := map[string]string{"max.message.bytes": fmt.Sprint(limit)}
		harness.CreateTopic(t, addrs, c.tier(2), 1, small)
		value := make([]byte, limit-400)        // it would fit tier 2 as it was written, without headers
		rand.NewChaCha8([32]byte{}).Read(value) // nothing compresses it
		c.write(t, harness.Record{ID: "large", Value: value}, harness.Record{ID: "small", Value: []byte("small")})
		d := c.run(t)
		c.settle(t, d)

		for _, letter := range harness.ReadTopic(t, addrs, c.dlt()) {
			if header(t, letter, "x-event-id") == "small" {
				expectHeaders(t, letter, map[string]string{"x-reason": "exhausted", "x-response": "not now", "x-attempt": "3"})
				continue
			}
			expectHeaders(t, letter, map[string]string{"x-reason": "oversize", "x-attempt": "2", "x-class": "transient", "x-status": "503"})
			for _, name := range []string{"x-response", "x-error"} {
				if values := headerValues(letter, name); len(values) > 0 {
					t.Errorf("%s of a dead letter that did not fit is %q, want none", name, values)
				}
			}
			if trace := header(t, letter, "x-trace"); strings.Count(trace, "@") != 2 ||
				!strings.HasPrefix(trace, "main@") || !strings.Contains(trace, ">"+c.dlt()+"@") {
				t.Errorf("x-trace of a dead letter that did not fit is %s, want its first and last hop", trace)
			}
		}
	})
}

// TestRecordThatFitsCompressedTravelsCompressed writes a record that is larger
// than its topic's limit until it is compressed.
func TestRecordThatFitsCompressedTravelsCompressed(t *testing.T) {
	eachBroker(t, func(t *testing.T, addrs []string) {
		c := newChain(t, addrs, 1, always(http.StatusServiceUnavailable), 0)
		value := strings.Repeat("overdue ", 5<<20/8) // of 5 MiB; the topics take 1 MiB
		produce(t, addrs, c.topic, func(config *sarama.Config) {
			config.Producer.Compression = sarama.CompressionLZ4
			config.Producer.MaxMessageBytes = 10 << 20
		}, harness.Record{ID: "compressible", Value: []byte(value)})
		d := c.run(t)
		c.awaitRequests(t, 2)
		harness.WaitFor(t, bound, "the dead letter", func() bool { return len(harness.ReadTopic(t, addrs, c.dlt())) == 1 })
		d.Stop(t)
		for _, topic := range []string{c.tier(1), c.dlt()} {
			if m := c.only(t, topic); string(m.Value) != value {
				t.Errorf("%s: %d bytes, want the %d that were written", topic, len(m.Value), len(value))
			}
		}
		expectHeaders(t, c.only(t, c.dlt()), map[string]string{"x-reason": "exhausted", "x-attempt": "2"})
		for _, call := range c.endpoint.Requests() {
			if string(call.Body) != value {
				t.Errorf("body of attempt %d: %d bytes, want the %d that were written", call.Attempt, len(call.Body), len(value))
			}
		}
	})
}
