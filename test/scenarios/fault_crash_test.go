package scenarios

import (
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/retryd/retryd/test/harness"
)

func TestKilledInstanceLosesNothingAndRepeatsOnlyWhatItHadNotCommitted(t *testing.T) {
	eachBroker(t, func(t *testing.T, addrs []string) {
		const written = 6000
		c := newChain(t, addrs, 6, mixed(20*time.Millisecond), 200*time.Millisecond, 500*time.Millisecond)
		keys := []string{"jitter: 0.2", "endpoint.max_in_flight: 8"}
		one, two := c.instance(t, "one", keys...), c.instance(t, "two", keys...)
		c.write(t, records("r", written)...)

		c.awaitAccepted(t, written/2)
		killed := time.Now()
		one.Kill(t)
		c.awaitAccepted(t, written/2+500)
		three := c.instance(t, "three", keys...)

		c.ledger.Close(t, c.endpoint, 2*bound)
		two.Stop(t)
		three.Stop(t)
		lost := func(call harness.Call) bool { // what the killed one had not committed
			return madeBy("one", call) && call.Arrived.After(killed.Add(-repeatSpan))
		}
		report := c.ledger.Close(t, c.endpoint, 0)
		c.checkRepeats(t, report, lost)
		if most := c.count(lost); len(report.Repeated) > most {
			t.Errorf("%d records were repeated, want at most %d: what the killed instance did in its last %v", len(report.Repeated), most, repeatSpan)
		}
	})
}

// One record waits for its answer, and all that were written after it are complete: the
// committed offset stays below them, and what is committed beside it tells of them.
func TestKilledInstanceRepeatsNothingThatIsCompleteAboveARecordInFlight(t *testing.T) {
	eachBroker(t, func(t *testing.T, addrs []string) {
		const above = 10_000
		var killed atomic.Bool
		c := newChain(t, addrs, 1, func(r harness.Request) harness.Answer {
			return harness.Answer{Hang: r.EventID == "r-0" && !killed.Load()}
		})
		one := c.patient(t, "one")
		c.write(t, records("r", 1+above)...)
		awaitMetric(t, one, `retryd_deliveries_total{outcome="delivered"}`, above)
		c.awaitCommits(t, one, c.topic, "main")

		one.Kill(t)
		killed.Store(true)
		two := c.patient(t, "two")
		report := c.ledger.Close(t, c.endpoint, bound)
		c.awaitCommitted(t, c.group(), c.topic)
		two.Stop(t)
		report.Check(t)
		again := func(call harness.Call) bool { return madeBy("two", call) && strings.HasPrefix(call.EventID, "r-") }
		if n := c.count(again); n != 1 {
			t.Errorf("%d requests for them after the restart, want one, for the record that was in flight; %s", n, report)
		}
	})
}

// patient starts an instance whose attempts may last.
func (c *chain) patient(t *testing.T, name string) *harness.Daemon {
	t.Helper()
	relay := c.relay("name: "+name, "group: "+c.group(), "start: earliest", "endpoint.timeout: 2m")
	return suite.Daemon(t, configuration(c.addrs, "stop_timeout: 3m", relay))
}

// awaitCommits writes to a tier's topic until two more commits were acknowledged: the
// second was made after the call.
func (c *chain) awaitCommits(t *testing.T, d *harness.Daemon, topic, tier string) {
	t.Helper()
	acknowledged := fmt.Sprintf("retryd_commits_total{tier=%q,result=\"ok\"}", tier)
	enough, written := metric(t, d, acknowledged)+2, 0
	harness.WaitFor(t, bound, "two commits", func() bool {
		written++
		c.writeTo(t, topic, records(fmt.Sprintf("more-%d", written), 1)...)
		return metric(t, d, acknowledged) >= enough
	})
}

func TestInstanceThatSleptDoesNotDeliverWhatItNoLongerOwns(t *testing.T) {
	eachBroker(t, func(t *testing.T, addrs []string) {
		const written, delay = 20, 8 * time.Second
		c := newChain(t, addrs, 2, failsOnce, delay)
		one, two := c.instance(t, "one"), c.instance(t, "two")
		c.write(t, records("r", written)...)
		awaitHeld(t, written, one, two)
		awaitHeld(t, 1, one)
		c.awaitCommitted(t, c.group(), c.topic) // else main's records are repeated, which is right

		before := joined(one)
		one.Signal(t, syscall.SIGSTOP)
		stopped := time.Now()
		c.awaitAccepted(t, written) // by two, once the group has given up on one
		until(t, stopped.Add(10*time.Second))
		one.Signal(t, syscall.SIGCONT)
		awaitJoined(t, one, before+2) // main's group and the tier's

		c.write(t, records("later", written)...)
		c.ledger.Close(t, c.endpoint, bound)
		one.Stop(t)
		two.Stop(t)
		c.account(t)
	})
}

// A sleep within the session timeout costs nothing: the group waits, and what fell
// due meanwhile is delivered once the lease is renewed.
func TestInstanceThatSleptWithinItsSessionGoesOn(t *testing.T) {
	eachBroker(t, func(t *testing.T, addrs []string) {
		c := newChain(t, addrs, 2, failsOnce, 4*time.Second)
		d := c.instance(t, "one")
		c.write(t, records("r", 10)...)
		awaitHeld(t, 10, d)
		c.awaitCommitted(t, c.group(), c.topic) // so that it costs nothing either if the machine makes the sleep longer

		d.Signal(t, syscall.SIGSTOP)
		until(t, time.Now().Add(3500*time.Millisecond)) // more than half a session: the lease is over
		d.Signal(t, syscall.SIGCONT)
		c.settle(t, d)
	})
}

// failsOnce answers 503 to every first attempt.
func failsOnce(r harness.Request) harness.Answer {
	if r.Attempt == 1 {
		return harness.Answer{Status: 503}
	}
	return harness.Answer{}
}

// An instance that is left without partitions looks at the topics every 30 s like
// the others, and finds nothing that concerns it.
func TestInstanceWithoutPartitionsLeavesTheOthersAlone(t *testing.T) {
	t.Parallel()
	c := newChain(t, suite.Kafka(t).Addrs(), 1, nil, time.Second)
	one := c.instance(t, "one")
	two := c.instance(t, "two")
	c.write(t, records("r", 10)...)
	c.awaitAccepted(t, 10)
	c.awaitCommitted(t, c.group(), c.topic)

	before := joined(one) + joined(two)
	until(t, time.Now().Add(35*time.Second))
	if after := joined(one) + joined(two); after != before {
		t.Errorf("the groups assigned their partitions anew %d times, and nothing had changed", after-before)
	}
	one.Stop(t)
	two.Stop(t)
	c.account(t)
}
