package scenarios

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/retryd/retryd/test/harness"
)

// Offsets that never come lie between those that do: what ends a transaction, and what
// was aborted. A tier has them too, if an application writes into it.
func TestKilledInstanceRepeatsOnlyWhatWasInFlightAmongGaps(t *testing.T) {
	for _, tier := range []string{"main", "1"} {
		t.Run("tier "+tier, func(t *testing.T) {
			eachBroker(t, func(t *testing.T, addrs []string) { killAmongGaps(t, addrs, tier) })
		})
	}
}

func killAmongGaps(t *testing.T, addrs []string, tier string) {
	const transactions, each, stuck = 4, 500, 250 // of each, one record is in flight for long
	var killed atomic.Bool
	c := newChain(t, addrs, 1, func(r harness.Request) harness.Answer {
		return harness.Answer{Hang: sequence(r.EventID) == stuck && !killed.Load()}
	}, 0)
	c.createAll(t, 1)
	topic, group := c.topic, c.group()
	if tier != "main" {
		topic, group = c.tier(1), c.tierGroup(1)
	}
	for i := range transactions {
		transact(t, addrs, topic, true, records(fmt.Sprintf("r%d", i), each))
		transact(t, addrs, topic, false, records(fmt.Sprintf("aborted-%d", i), each))
	}
	one := c.patient(t, "one")
	awaitMetric(t, one, `retryd_deliveries_total{outcome="delivered"}`, transactions*(each-1))
	c.awaitCommits(t, one, topic, tier)
	if at := committed(t, harness.NewClient(t, addrs), group, topic)[0]; at > stuck {
		t.Fatalf("committed up to %d, and record %d is in flight", at, stuck)
	}

	one.Kill(t)
	killed.Store(true)
	two := c.patient(t, "two")
	c.awaitCommitted(t, group, topic)
	two.Stop(t)
	accepted := map[string]bool{}
	for _, call := range c.endpoint.Accepted() {
		if kind, _, _ := strings.Cut(call.EventID, "-"); kind == "aborted" {
			t.Errorf("%s was delivered", call.EventID)
		} else if kind != "more" {
			accepted[call.EventID] = true
		}
	}
	if len(accepted) != transactions*each {
		t.Errorf("%d records were accepted, want %d", len(accepted), transactions*each)
	}
	again := func(call harness.Call) bool { return madeBy("two", call) && accepted[call.EventID] }
	if n := c.count(again); n != transactions {
		t.Errorf("%d requests for them after the restart, want %d, for the records that were in flight", n, transactions)
	}
}
