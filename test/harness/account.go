package harness

import (
	"errors"
	"testing"
	"time"

	"github.com/IBM/sarama"
)

const (
	accountInterval = 200 * time.Millisecond
	accountBound    = time.Minute // for reading what is there, once the wait is over
)

// Close waits until the endpoint has accepted or the dead-letter topics hold every
// record that was written, for at most timeout, and reports. Running out of time
// is no failure of its own: what has no end is lost. A repeat that arrives after
// the last record has its end is not seen, so a test that counts repeats stops
// the daemon first.
func (l *Ledger) Close(t testing.TB, e *Endpoint, timeout time.Duration) Report {
	t.Helper()
	report, err := l.close(e, timeout)
	if err != nil {
		t.Fatalf("close the ledger: %v", err)
	}
	return report
}

func (l *Ledger) close(e *Endpoint, timeout time.Duration) (Report, error) {
	client, err := newReadClient(l.addrs)
	if err != nil {
		return Report{}, err
	}
	defer client.Close()

	l.mu.Lock()
	seen := evidence{entries: l.entries, index: l.index.clone(), tiers: l.tiers}
	l.mu.Unlock()
	if seen.dead, err = l.await(client, seen, e, timeout); err != nil {
		return Report{}, err
	}
	for _, tier := range l.tiers {
		hops, err := readPresent(newReader(client, tier.Topic))
		if err != nil {
			return Report{}, err
		}
		seen.hops = append(seen.hops, hops...)
	}
	seen.calls = e.Requests()
	return judge(seen), nil
}

// await follows the endpoint and the dead-letter topics until every entry has an
// end or the time is over, and returns the dead letters.
func (l *Ledger) await(client sarama.Client, seen evidence, e *Endpoint, timeout time.Duration) ([]*sarama.ConsumerMessage, error) {
	readers := make([]*reader, len(l.dead))
	for i, topic := range l.dead {
		readers[i] = newReader(client, topic)
	}
	var dead []*sarama.ConsumerMessage
	ended := map[*entry]bool{nil: true} // nil is what the ledger did not write
	accepted := 0
	for deadline := time.Now().Add(timeout); ; time.Sleep(accountInterval) {
		last := time.Now().After(deadline) // looked at before reading, so that the end is read once more
		for _, call := range e.acceptedFrom(accepted) {
			accepted++
			ended[seen.index.find(call.EventID, position{call.Topic, call.Partition, call.Offset})] = true
		}
		for _, r := range readers {
			letters, err := readPresent(r)
			if err != nil {
				return nil, err
			}
			for _, letter := range letters {
				ended[seen.index.find(origin(letter))] = true
			}
			dead = append(dead, letters...)
		}
		if last || len(ended) > len(seen.entries) {
			return dead, nil
		}
	}
}

// readPresent reads what a topic holds; a topic that does not exist holds nothing.
func readPresent(r *reader) ([]*sarama.ConsumerMessage, error) {
	messages, err := r.read(time.Now().Add(accountBound))
	if errors.Is(err, sarama.ErrUnknownTopicOrPartition) {
		return nil, nil
	}
	return messages, err
}
