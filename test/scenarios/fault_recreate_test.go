package scenarios

import (
	"strings"
	"testing"
	"time"

	"github.com/retryd/retryd/test/harness"
)

// The commit of the deleted topic lies in the middle of the new one: whoever went by
// it would skip what lies below.
func TestTopicThatIsMadeAnewWhileRunningIsReadFromItsBeginning(t *testing.T) {
	t.Parallel()
	addrs := suite.Kafka(t).Addrs()
	const before, after = 100, 300
	c := newChain(t, addrs, 2, failing("fail"), 300*time.Millisecond)
	d := c.run(t)
	c.write(t, records("before", before)...)
	c.awaitCommitted(t, c.group(), c.topic)

	harness.DeleteTopic(t, addrs, c.topic)
	harness.CreateTopic(t, addrs, c.topic, 2, nil)
	c.write(t, append(records("after", after), records("fail-after", 10)...)...)
	c.ledger.Close(t, c.endpoint, recheckBound)
	d.Stop(t)
	// What lies above the old commit may be read before it is noticed that the
	// topic is another one, and then again.
	c.checkRepeats(t, c.ledger.Close(t, c.endpoint, 0), func(call harness.Call) bool {
		return !strings.HasPrefix(call.EventID, "before")
	})
}

// Kafka forgets a group's commits together with their topic, so the group is new.
func TestTopicThatIsMadeAnewWhileStoppedIsReadFromItsBeginning(t *testing.T) {
	t.Parallel()
	addrs := suite.Kafka(t).Addrs()
	const before, after = 100, 300
	c := newChain(t, addrs, 2, failing("fail"), 300*time.Millisecond)
	d := c.run(t)
	c.write(t, records("before", before)...)
	c.awaitCommitted(t, c.group(), c.topic)
	d.Stop(t)

	harness.DeleteTopic(t, addrs, c.topic)
	harness.CreateTopic(t, addrs, c.topic, 2, nil)
	c.write(t, append(records("after", after), records("fail-after", 10)...)...)
	c.settle(t, c.run(t))
}

// growthBound allows for the main topic's growth to be noticed, and then for that of
// the tiers, which follows from it.
const growthBound = 2*time.Minute + bound

// With start: latest nothing but the growth itself makes the daemon read the first
// records of a new partition.
func TestPartitionsAddedWhileRunningAreDeliveredFromTheirBeginning(t *testing.T) {
	t.Parallel()
	addrs := suite.Kafka(t).Addrs()
	const written = 60
	c := newChain(t, addrs, 2, failing("fail"), 300*time.Millisecond, 600*time.Millisecond)
	d := suite.Daemon(t, configuration(addrs, debugLog, c.relay("start: latest")))
	awaitJoined(t, d, 3)
	harness.AddPartitions(t, addrs, c.topic, 4)
	// A ledger's producer keeps to the partitions that it has seen first.
	c.ledger = harness.NewLedger(t, addrs, c.tiers(), c.dlt())
	c.write(t, append(records("r", written), records("fail", written)...)...)
	harness.WaitFor(t, growthBound, "every record to be in its last step", func() bool {
		requests, _ := c.endpoint.Counts()
		return requests >= written*(1+3)
	})
	report := c.settle(t, d)
	if report.Accepted != written || report.DeadLettered != written {
		t.Errorf("%s, want %d accepted and as many dead-lettered", report, written)
	}
	for _, topic := range c.topics()[1:] {
		grown := map[int32]bool{}
		for _, m := range harness.ReadTopic(t, addrs, topic) {
			grown[m.Partition] = true
		}
		if len(grown) != 4 {
			t.Errorf("records of 4 partitions are in %d of %s", len(grown), topic)
		}
	}
}
