package scenarios

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/IBM/sarama"

	"github.com/retryd/retryd/test/harness"
)

const (
	smallWindow = 200     // records of a partition
	largeValue  = 8 << 10 // bytes: 128 such records of a partition come at once
	mostHeld    = 2 * (smallWindow + 2*(1<<20)/largeValue)
	farPerTwo   = 1600 // records, in two partitions
)

// parked is the topic of the park topic for a delay, spelled as in its name.
func (c *chain) parked(delay string) string { return c.topic + ".park." + delay }

// longWaits is a chain whose tier 1 holds records that an application wrote for a month
// ahead, several windows full of them, with a timestamp that long ago, and behind them
// a few that are due soon.
func longWaits(t *testing.T, age time.Duration) (c *chain, config string, month, soon []harness.Record) {
	t.Helper()
	addrs := suite.Kafka(t).Addrs()
	c = newChain(t, addrs, 2, nil, 5*time.Second, 30*time.Second, 5*time.Minute)
	c.ledger = harness.NewLedger(t, addrs, c.tiers(), c.dlt(), c.parked("24h")) // being parked is an end, here
	c.createAll(t, 2)
	month = dueAt(time.Now().Add(30*24*time.Hour), records("far", farPerTwo))
	noise := rand.NewChaCha8([32]byte{}) // nothing compresses it, or a fetch would bring more
	for i := range month {
		month[i].Timestamp, month[i].Value = time.Now().Add(-age), make([]byte, largeValue)
		noise.Read(month[i].Value)
	}
	for some := range slices.Chunk(month, 100) { // no batch is larger than the topic allows
		c.writeTo(t, c.tier(1), some...)
	}
	soon = dueAt(time.Now().Add(2*time.Second), records("soon", 10))
	c.writeTo(t, c.tier(1), soon...)
	relay := c.relay("consume: false", "park: [1h, 24h]")
	return c, configuration(addrs, fmt.Sprintf("window: {records: %d}", smallWindow), relay), month, soon
}

// dueAt returns records as an application writes them that knows when they are due.
func dueAt(at time.Time, list []harness.Record) []harness.Record {
	for i := range list {
		list[i].Headers = []sarama.RecordHeader{
			{Key: []byte("traceparent"), Value: []byte("of " + list[i].ID)},
			{Key: []byte("x-not-before"), Value: []byte(strconv.FormatInt(at.UnixMilli(), 10))},
		}
	}
	return list
}

// held returns how many records of a tier are in memory, in both partitions, and fails
// the test if they are as good as all.
func (c *chain) held(t *testing.T, d *harness.Daemon, tier string) float64 {
	t.Helper()
	n := metric(t, d, c.series("retryd_window_records", fmt.Sprintf("tier=%q", tier)))
	if n > mostHeld {
		t.Fatalf("%v records of tier %s are held, want at most %d", n, tier, mostHeld)
	}
	return n
}

// Long before a minute is over, since the window is full: what is due behind cannot
// wait for that.
func TestLongWaitsThatFillTheWindowAreParkedAndHoldNothingUp(t *testing.T) {
	t.Parallel()
	c, config, month, soon := longWaits(t, 0)
	d := suite.Daemon(t, config)
	harness.WaitFor(t, bound, "the records that are due", func() bool {
		c.held(t, d, "1")
		_, accepted := c.endpoint.Counts()
		return accepted == len(soon)
	})
	d.Stop(t)
	report := c.ledger.Close(t, c.endpoint, 0)
	report.Lost = nil // those that were still held: they fit the window
	report.Check(t)
	if least := farPerTwo - mostHeld; c.checkParked(t, month) < least {
		t.Errorf("%s, want at least %d parked", report, least)
	}
}

// The waits are known to be long: they have lasted for more than a minute.
func TestLongWaitsLeaveTheirTierForGood(t *testing.T) {
	t.Parallel()
	c, config, month, soon := longWaits(t, 2*time.Minute)
	d := suite.Daemon(t, config)
	lag := c.series("retryd_lag_records", `state="held"`, `tier="park-24h"`)
	awaitMetric(t, d, lag, farPerTwo)
	c.awaitCommitted(t, c.tierGroup(1), c.tier(1))
	d.Stop(t)

	d = suite.Daemon(t, config)
	harness.WaitFor(t, bound, "parked records to be read again", func() bool { return c.held(t, d, "park-24h") > 0 })
	awaitMetric(t, d, lag, farPerTwo)
	until(t, time.Now().Add(3*time.Second))
	d.Stop(t)
	c.ledger.Close(t, c.endpoint, 0).Check(t)
	if n := len(harness.ReadTopic(t, c.addrs, c.tier(1))); n != farPerTwo+len(soon) {
		t.Errorf("%d records in tier 1, want the %d that were written", n, farPerTwo+len(soon))
	}
	if n := c.checkParked(t, month); n != farPerTwo {
		t.Errorf("%d records are parked, want %d", n, farPerTwo)
	}
}

// checkParked compares what is parked with what was written into tier 1, and counts it:
// moving spends no attempt and changes nothing else, and no record is moved twice within
// a minute.
func (c *chain) checkParked(t *testing.T, written []harness.Record) int {
	t.Helper()
	partition, moved := map[string]int32{}, map[string]time.Time{}
	for _, m := range harness.ReadTopic(t, c.addrs, c.tier(1)) {
		partition[header(t, m, "x-event-id")] = m.Partition
	}
	for _, m := range harness.ReadTopic(t, c.addrs, c.parked("24h")) {
		id := header(t, m, "x-event-id")
		if before, twice := moved[id]; twice && m.Timestamp.Sub(before) < time.Minute {
			t.Fatalf("%s was moved again after %v", id, m.Timestamp.Sub(before))
		}
		moved[id] = m.Timestamp
		if m.Partition != partition[id] {
			t.Errorf("%s was moved from partition %d to %d", id, partition[id], m.Partition)
		}
		expectHeaders(t, m, map[string]string{"x-attempt": "1", "x-not-before": string(written[sequence(id)].Headers[1].Value)})
		start, move, _ := strings.Cut(header(t, m, "x-trace"), "~")
		if !strings.HasPrefix(start, c.tier(1)+"@") || strings.Contains(start, ">") || !strings.HasPrefix(move, c.parked("24h")+"@") {
			t.Errorf("x-trace of %s is %s~%s, want one move and no attempt", id, start, move)
		}
	}
	return len(moved)
}

// A park topic is a tier like others: its records are delivered when they are due, and
// those that fail go where their attempts say.
func TestRecordFallsDueWhereItIsParked(t *testing.T) {
	eachBroker(t, func(t *testing.T, addrs []string) {
		const each = 10
		c := newChain(t, addrs, 2, func(r harness.Request) harness.Answer {
			if strings.HasPrefix(r.EventID, "bad") && r.Attempt == 2 {
				return harness.Answer{Status: http.StatusServiceUnavailable}
			}
			return harness.Answer{}
		}, time.Hour, 200*time.Millisecond)
		harness.CreateTopic(t, addrs, c.parked("1h"), 2, kept())
		c.ledger = harness.NewLedger(t, addrs, []harness.Tier{{Topic: c.parked("1h")}, {Topic: c.tier(2)}}, c.dlt())
		due := dueAt(time.Now().Add(3*time.Second), append(records("good", each), records("bad", each)...))
		c.writeTo(t, c.parked("1h"), due...)

		d := c.run(t, "park: [1h, 24h]")
		report := c.settle(t, d)
		if report.Requests != 3*each || len(harness.ReadTopic(t, addrs, c.tier(2))) != each {
			t.Errorf("%s, want %d requests, and the bad ones in tier 2", report, 3*each)
		}
	})
}
