package tier

import (
	"fmt"
	"testing"
	"time"

	"github.com/retryd/retryd/internal/kafka"
	"github.com/retryd/retryd/test/harness"
)

// eachAssignment runs a test with every value of kafka.partition_assignment.
func eachAssignment(t *testing.T, test func(t *testing.T, assignment string)) {
	t.Helper()
	t.Parallel()
	for _, assignment := range []string{kafka.AssignSticky, kafka.AssignCooperativeSticky} {
		t.Run(assignment, func(t *testing.T) {
			t.Parallel()
			test(t, assignment)
		})
	}
}

// owns returns how many partitions of main a relay has.
func owns(r *Relay) int { return len(r.Status().Tiers[0].Partitions) }

func awaitOwned(t *testing.T, r *Relay, partitions int) {
	t.Helper()
	harness.WaitFor(t, time.Minute, fmt.Sprintf("%d partitions", partitions), func() bool { return owns(r) == partitions })
}

// batch returns n records that are spread over the partitions.
func batch(prefix string, n int) []harness.Record {
	list := make([]harness.Record, n)
	for i := range list {
		id := fmt.Sprintf("%s-%d", prefix, i)
		list[i] = harness.Record{ID: id, Key: []byte(id)}
	}
	return list
}

func TestMembersThatComeAndGoRepeatNothing(t *testing.T) {
	eachAssignment(t, func(t *testing.T, assignment string) {
		f := newField(t, func(harness.Request) harness.Answer { return harness.Answer{Delay: 2 * time.Millisecond} })
		f.deps.Kafka.PartitionAssignment = assignment
		harness.CreateTopic(t, f.brokers, "orders", 4, nil)
		ledger := f.ledger(t)
		write := func(prefix string) {
			t.Helper()
			if err := ledger.Write("orders", batch(prefix, 1000)...); err != nil {
				t.Fatal(err)
			}
		}
		first, stopFirst := f.relay(t, "orders", 0)
		awaitOwned(t, first, 4)
		write("alone")
		before := first.members.all()[0].session.Load()
		second, stopSecond := f.relay(t, "orders", 0)
		awaitOwned(t, first, 2)
		awaitOwned(t, second, 2)
		stays := first.members.all()[0].session.Load() == before
		if want := assignment == kafka.AssignCooperativeSticky; stays != want {
			t.Errorf("the session of the first member goes on: %v, want %v", stays, want)
		}
		write("both")
		stopSecond()
		awaitOwned(t, first, 4)
		write("back")
		third, _ := f.relay(t, "orders", 0)
		awaitOwned(t, third, 2)
		write("last")
		stopFirst()
		awaitOwned(t, third, 4)
		report := ledger.Close(t, f.endpoint, time.Minute)
		report.Check(t)
		if len(report.Repeated) > 0 {
			t.Errorf("%s: %v", report, report.Repeated)
		}
	})
}

// A pause outlives the claim that made it. Here every partition is paused when it is
// revoked, since its records are not due for long.
func TestPartitionThatComesBackIsRead(t *testing.T) {
	eachAssignment(t, func(t *testing.T, assignment string) {
		f := newField(t, nil)
		f.deps.Kafka.PartitionAssignment = assignment
		harness.CreateTopic(t, f.brokers, "orders", 2, nil)
		first, _ := f.run(t, f.waitingRelay("orders"))
		if err := f.ledger(t, "orders.retry.1").Write("orders.retry.1", batch("held", 20)...); err != nil {
			t.Fatal(err)
		}
		awaitRead(t, first, 2)
		second, stop := f.run(t, f.waitingRelay("orders"))
		awaitRead(t, first, 1)
		awaitRead(t, second, 1)
		stop()
		awaitRead(t, first, 2)
	})
}

// awaitRead waits until a relay has some partitions of its tier, and records of each.
func awaitRead(t *testing.T, r *Relay, partitions int) {
	t.Helper()
	harness.WaitFor(t, time.Minute, fmt.Sprintf("records of %d partitions", partitions), func() bool {
		s := r.members.all()[1].session.Load()
		if s == nil || len(s.claimed()) != partitions {
			return false
		}
		for _, c := range s.claimed() {
			if _, bytes := c.records(); bytes == 0 {
				return false
			}
		}
		return true
	})
}

// An operator changes the option and restarts one instance after the other.
func TestMembersWithDifferentAssignmentsWorkTogether(t *testing.T) {
	t.Parallel()
	f := newField(t, nil)
	harness.CreateTopic(t, f.brokers, "orders", 4, nil)
	ledger := f.ledger(t)
	assignments := []string{kafka.AssignSticky, kafka.AssignCooperativeSticky, kafka.AssignSticky}
	var stops []func()
	var last *Relay
	for i, assignment := range assignments {
		f.deps.Kafka.PartitionAssignment = assignment
		r, stop := f.relay(t, "orders", 0)
		last, stops = r, append(stops, stop)
		if i > 0 {
			awaitOwned(t, last, 2)
			stops[i-1]()
		}
		awaitOwned(t, last, 4)
		if err := ledger.Write("orders", batch(fmt.Sprint(assignment, i), 500)...); err != nil {
			t.Fatal(err)
		}
	}
	report := ledger.Close(t, f.endpoint, time.Minute)
	report.Check(t)
	if len(report.Repeated) > 0 {
		t.Errorf("%s: %v", report, report.Repeated)
	}
}
