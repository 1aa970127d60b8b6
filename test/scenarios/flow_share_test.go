package scenarios

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/IBM/sarama"

	"github.com/retryd/retryd/test/harness"
)

// shut is an endpoint that keeps all its requests waiting until open is called, at the
// latest at the end of the test.
type shut struct {
	opened chan struct{}
	open   func()
}

func newShut() *shut {
	s := &shut{opened: make(chan struct{})}
	s.open = sync.OnceFunc(func() { close(s.opened) })
	return s
}

func (s *shut) plan(harness.Request) harness.Answer {
	<-s.opened
	return harness.Answer{}
}

// largeRecords are records of such a size that nothing compresses.
func largeRecords(prefix string, n, size int) []harness.Record {
	list := records(prefix, n)
	noise := rand.NewChaCha8([32]byte{})
	for i := range list {
		list[i].Value = make([]byte, size)
		noise.Read(list[i].Value)
	}
	return list
}

// The one has more than all relays may hold, and its endpoint answers nothing. The other
// has more than its reserve.
func TestRelayWhoseEndpointHangsLeavesItsNeighbourRoom(t *testing.T) {
	t.Parallel()
	const (
		limit   = 2 << 20 // window.bytes
		size    = 8 << 10
		backlog = 6 * limit / size
		fetched = 2 * 2 << 20 // of each of two partitions a fetch, and the one after it
		other   = limit / size
	)
	addrs := suite.Kafka(t).Addrs()
	silent := newShut()
	stuck, brisk := newChain(t, addrs, 2, silent.plan, time.Hour), newChain(t, addrs, 2, nil, time.Hour)
	t.Cleanup(silent.open) // before its endpoint ends
	for some := range slices.Chunk(largeRecords("r", backlog, size), 100) {
		stuck.write(t, some...)
	}
	d := suite.Daemon(t, configuration(addrs, fmt.Sprintf("window: {bytes: %dB}\nstop_timeout: 3m", limit),
		stuck.relay("start: earliest", "endpoint.timeout: 2m"), brisk.relay("start: earliest")))
	paused := stuck.series("retryd_paused_partitions", `tier="main"`, `reason="bytes"`)
	awaitMetric(t, d, paused, 2)

	for some := range slices.Chunk(largeRecords("r", other, size), 100) {
		brisk.write(t, some...)
		if held := metric(t, d, "retryd_window_bytes"); held >= limit+fetched {
			t.Errorf("%v bytes are held, want less than %d", held, limit+fetched)
		}
	}
	brisk.ledger.Close(t, brisk.endpoint, bound)
	if _, accepted := stuck.endpoint.Counts(); accepted > 0 || metric(t, d, paused) != 2 {
		t.Errorf("%d records were accepted by the endpoint that hangs", accepted)
	}
	silent.open()
	stuck.ledger.Close(t, stuck.endpoint, bound)
	d.Stop(t)
	stuck.account(t)
	brisk.account(t)
}

// Main and one partition of the tier have a backlog, and the endpoint takes one record
// at a time.
func TestPartitionWithOneDueRecordIsServedBeforeTheBacklogOfOthers(t *testing.T) {
	eachBroker(t, func(t *testing.T, addrs []string) {
		const backlog, claims, inFlight = 300, 4, 1
		busy := newShut()
		c := newChain(t, addrs, 2, busy.plan, 0)
		t.Cleanup(busy.open) // before its endpoint ends
		c.createAll(t, 2)
		c.write(t, records("main", backlog)...)
		c.writeTo(t, c.tier(1), keyed(t, 0, records("tier", backlog))...)
		c.writeTo(t, c.tier(1), keyed(t, 1, records("one", 1))...)
		d := c.run(t, fmt.Sprintf("endpoint.max_in_flight: %d", inFlight))
		awaitMetric(t, d, c.series("retryd_window_records"), 2*backlog+1)

		busy.open()
		c.settle(t, d)
		calls := c.endpoint.Requests()
		before := slices.IndexFunc(calls, func(call harness.Call) bool { return strings.HasPrefix(call.EventID, "one") })
		if most := inFlight + claims; before > most {
			t.Errorf("%d of %d requests came before that of the one record, want at most %d", before, len(calls), most)
		}
	})
}

// keyed gives records a key of their own each that belongs to one of two partitions.
func keyed(t *testing.T, partition int32, list []harness.Record) []harness.Record {
	t.Helper()
	partitioner := sarama.NewMurmur2Partitioner("")
	for i := range list {
		for n := 0; ; n++ {
			list[i].Key = fmt.Appendf(nil, "%s-%d", list[i].ID, n)
			at, err := partitioner.Partition(&sarama.ProducerMessage{Key: sarama.ByteEncoder(list[i].Key)}, 2)
			if err != nil {
				t.Fatal(err)
			}
			if at == partition {
				break
			}
		}
	}
	return list
}
