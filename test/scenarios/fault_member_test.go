package scenarios

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/IBM/sarama"

	"github.com/retryd/retryd/test/harness"
)

// eachAssignment runs a scenario on the suite's Kafka with every value of
// kafka.partition_assignment.
func eachAssignment(t *testing.T, scenario func(t *testing.T, addrs []string, assignment string)) {
	t.Helper()
	t.Parallel()
	for _, assignment := range []string{"sticky", "cooperative-sticky"} {
		t.Run(assignment, func(t *testing.T) {
			t.Parallel()
			scenario(t, suite.Kafka(t).Addrs(), assignment)
		})
	}
}

// member is instance with further keys of kafka, in the flow style.
func (c *chain) member(t *testing.T, name, kafka string, keys ...string) *harness.Daemon {
	t.Helper()
	keys = append(keys, "name: "+name, "group: "+c.group(), "start: earliest")
	file := configuration(c.addrs, debugLog, c.relay(keys...))
	return suite.Daemon(t, strings.Replace(file, "kafka: {", "kafka: {"+kafka+", ", 1))
}

// awaitShared waits until all partitions of main and tiers are shared out evenly among
// the members of their groups.
func (c *chain) awaitShared(t *testing.T, members, each int) {
	t.Helper()
	admin := newAdmin(t, c.addrs)
	topics := map[string]string{c.group(): c.topic}
	for i := range c.delays {
		topics[c.tierGroup(i+1)] = c.tier(i + 1)
	}
	for group, topic := range topics {
		harness.WaitFor(t, bound, fmt.Sprintf("%d members of group %s with %d partitions each", members, group, each), func() bool {
			described, err := admin.DescribeConsumerGroups([]string{group})
			if err != nil {
				t.Fatal(err)
			}
			return described[0].State == "Stable" && share(t, described[0], topic, each) == members
		})
	}
}

// share counts the members of a group that have n partitions of a topic.
func share(t *testing.T, group *sarama.GroupDescription, topic string, n int) (members int) {
	t.Helper()
	for _, member := range group.Members {
		assignment, err := member.GetMemberAssignment()
		if err != nil {
			t.Fatal(err)
		}
		if assignment != nil && len(assignment.Topics[topic]) == n {
			members++
		}
	}
	return members
}

// hanging never answers for records whose event id begins with prefix.
func hanging(prefix string) harness.Plan {
	return func(r harness.Request) harness.Answer {
		return harness.Answer{Hang: strings.HasPrefix(r.EventID, prefix)}
	}
}

// What an attempt in flight may take is part of how long a rebalance waits. A member
// that lets go too late is put out of its group, and says so.
func TestEndpointThatNeverAnswersHoldsUpNoRebalance(t *testing.T) {
	eachAssignment(t, func(t *testing.T, addrs []string, assignment string) {
		const stuck, rest = 8, 200
		c := newChain(t, addrs, 4, hanging("stuck"), 0)
		kafka := "partition_assignment: " + assignment
		keys := []string{"endpoint.timeout: 4s", "endpoint.max_in_flight: 64"}
		first := c.member(t, "first", kafka, keys...)
		c.write(t, records("stuck", stuck)...)
		c.awaitRequests(t, stuck) // all of them are in flight when the second one joins
		second := c.member(t, "second", kafka, keys...)
		c.awaitShared(t, 2, 2)
		c.write(t, records("rest", rest)...)
		c.awaitAccepted(t, rest)
		c.write(t, records("stuck-again", stuck)...)
		c.awaitRequests(t, stuck+rest+stuck)
		first.Stop(t)
		c.awaitShared(t, 1, 4)
		c.write(t, records("last", rest)...)
		report := c.settle(t, second)
		if report.Accepted != 2*rest || report.DeadLettered != 2*stuck {
			t.Errorf("%s, want %d accepted and %d dead", report, 2*rest, 2*stuck)
		}
		byBoth := c.count(func(call harness.Call) bool { return madeBy("first", call) && !call.Answer.Hang })
		if byBoth == 0 || byBoth >= 2*rest {
			t.Errorf("%d records were delivered by the first of two instances", byBoth)
		}
		for _, d := range []*harness.Daemon{first, second} {
			if n := lines(d, "commit came too late", "gave up on records in flight", "last commit of the session"); n > 0 {
				t.Errorf("a partition was not let go in time: %d lines say so", n)
			}
		}
	})
}

func TestStaticInstanceThatRestartsMovesNoPartition(t *testing.T) {
	eachAssignment(t, func(t *testing.T, addrs []string, assignment string) {
		c := newChain(t, addrs, 4, failing("again"), 0)
		kafka := func(id string) string { return "partition_assignment: " + assignment + ", instance_id: " + id }
		stays := c.member(t, "stays", kafka("a"))
		goes := c.member(t, "goes", kafka("b"))
		c.awaitShared(t, 2, 2)
		const rebalances = `retryd_rebalances_total{relay="stays"}`
		before := metric(t, stays, rebalances)
		goes.Stop(t)
		c.write(t, records("r", 100)...)
		back := c.member(t, "goes", kafka("b"))
		c.awaitAccepted(t, 100)
		if after := metric(t, stays, rebalances); after != before {
			t.Errorf("%v rebalances of the other instance, %v before", after, before)
		}
		stays.Stop(t)
		back.Stop(t)
		c.account(t)
	})
}

// Kafka lets a static member in again without another generation, and tells the one that
// leads its group nothing of that.
func TestStaticInstanceThatRestartsFindsPartitionsThatWereAddedMeanwhile(t *testing.T) {
	eachAssignment(t, func(t *testing.T, addrs []string, assignment string) {
		c := newChain(t, addrs, 3, failing("fail"), 0)
		kafka := "partition_assignment: " + assignment + ", instance_id: a"
		goes := c.member(t, "goes", kafka)
		c.awaitShared(t, 1, 3)
		goes.Stop(t)
		harness.AddPartitions(t, addrs, c.topic, 6)
		c.ledger = harness.NewLedger(t, addrs, c.tiers(), c.dlt()) // whose producer sees them
		back := c.member(t, "back", kafka)
		c.write(t, append(records("r", 60), records("fail", 60)...)...)
		harness.WaitFor(t, growthBound, "every record to be in its last step", func() bool {
			requests, _ := c.endpoint.Counts()
			return requests >= 60*(1+2)
		})
		c.awaitShared(t, 1, 6)
		c.settle(t, back)
	})
}

func TestInstanceWhosePlaceIsTakenSaysSo(t *testing.T) {
	eachAssignment(t, func(t *testing.T, addrs []string, assignment string) {
		c := newChain(t, addrs, 2, nil, time.Second)
		kafka := "partition_assignment: " + assignment + ", instance_id: same"
		older := c.member(t, "older", kafka)
		newer := c.member(t, "newer", kafka)
		const told = "another instance has taken its place with the same kafka.instance_id: give each instance its own, or stop one of them"
		harness.WaitFor(t, bound, "the older instance to be told", func() bool {
			status, body := readyz(t, older)
			return status == http.StatusServiceUnavailable && strings.Contains(body, told)
		})
		c.write(t, records("r", 50)...)
		c.awaitAccepted(t, 50)
		if n := c.count(func(call harness.Call) bool { return madeBy("older", call) }); n > 0 {
			t.Errorf("%d records were delivered by the instance that has lost its place", n)
		}
		older.Stop(t)
		c.settle(t, newer)
	})
}
