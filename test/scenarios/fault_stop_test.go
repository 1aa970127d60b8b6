package scenarios

import (
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/retryd/retryd/test/harness"
)

func TestRestartDoesNotBeginAWaitAnew(t *testing.T) {
	eachBroker(t, func(t *testing.T, addrs []string) {
		const written, delay = 12, 8 * time.Second
		c := newChain(t, addrs, 3, failsOnce, delay)
		first := c.run(t)
		c.write(t, records("r", written)...)
		awaitHeld(t, written, first)
		failed := time.Now()
		first.Stop(t)

		until(t, failed.Add(delay-2*time.Second))
		second := c.run(t)
		again := time.Now()
		report := c.settle(t, second)
		if report.Accepted != written || report.Requests != 2*written {
			t.Errorf("%s, want every record accepted by its second attempt", report)
		}
		for _, call := range c.endpoint.Accepted() {
			// A wait begun anew would end a whole delay after the record was read again;
			// what is left of it is 2 s at most.
			if !call.Arrived.Before(again.Add(delay - time.Second)) {
				t.Errorf("%s was delivered %v after the restart: its wait of %v was begun anew", call.EventID, call.Arrived.Sub(again), delay)
			}
		}
	})
}

func TestCleanStopLetsAttemptsInFlightFinishAndRepeatsNothing(t *testing.T) {
	eachBroker(t, func(t *testing.T, addrs []string) {
		const inFlight, written = 8, 100
		slow := func(harness.Request) harness.Answer { return harness.Answer{Delay: time.Second} }
		c := newChain(t, addrs, 3, slow, time.Second)
		keys := []string{"endpoint.max_in_flight: 8"}
		d := c.run(t, keys...)
		c.write(t, records("r", written)...)
		c.awaitRequests(t, inFlight)
		d.Stop(t)

		requests, accepted := c.endpoint.Counts()
		if requests != accepted {
			t.Errorf("%d requests and %d accepted after the stop, want all finished", requests, accepted)
		}
		if accepted == written {
			t.Error("everything was delivered before the daemon stopped: nothing was in flight")
		}
		c.settle(t, c.run(t, keys...))
	})
}

// The moment between a POST and the acknowledgement of its forward is short, so the
// daemon is stopped several times while many records are in it.
func TestCleanStopLetsForwardsInFlightFinishAndRepeatsNothing(t *testing.T) {
	eachBroker(t, func(t *testing.T, addrs []string) {
		const written = 4000
		c := newChain(t, addrs, 3, always(http.StatusUnprocessableEntity), time.Second)
		keys := []string{"endpoint.max_in_flight: 64"}
		d := c.run(t, keys...)
		c.write(t, records("r", written)...)
		for stop := range 3 {
			c.awaitRequests(t, (stop+1)*written/4)
			d.Stop(t)
			d = c.run(t, keys...)
		}
		report := c.settle(t, d)
		if report.DeadLettered != written || report.Requests != written {
			t.Errorf("%s, want every record dead-lettered after one request", report)
		}
	})
}

// A stop comes while records arrive, wait, are attempted and are moved, all at once.
func TestCleanStopUnderLoadRepeatsNothing(t *testing.T) {
	eachBroker(t, func(t *testing.T, addrs []string) {
		const stops, batch = 4, 400
		mixed := func(r harness.Request) harness.Answer {
			switch {
			case strings.HasSuffix(r.EventID, "3"), strings.HasSuffix(r.EventID, "6"):
				return harness.Answer{Status: http.StatusServiceUnavailable}
			case strings.HasSuffix(r.EventID, "9"):
				return harness.Answer{Status: http.StatusUnprocessableEntity}
			}
			return harness.Answer{Delay: 5 * time.Millisecond}
		}
		c := newChain(t, addrs, 3, mixed, 0, time.Second)
		d := c.run(t)
		for stop := range stops {
			before, _ := c.endpoint.Counts()
			c.write(t, records(fmt.Sprint("before", stop), batch)...)
			c.awaitRequests(t, before+batch/2)
			d.Signal(t, syscall.SIGTERM)
			c.write(t, records(fmt.Sprint("during", stop), batch)...)
			if code := d.Wait(t, bound); code != 0 {
				t.Fatalf("stop %d ended with exit code %d", stop+1, code)
			}
			d = c.run(t)
		}
		const written = stops * 2 * batch
		const each = written / 10 // of the records whose id ends in one digit
		report := c.settle(t, d)
		if report.DeadLettered != 3*each || report.Accepted != 7*each || report.Requests != written+2*2*each {
			t.Errorf("%s, want %d accepted and %d dead after %d requests", report, 7*each, 3*each, written+4*each)
		}
	})
}

// The client library waits for its fetch as long as a rebalance may take: longer than
// stop_timeout.
func TestIdleDaemonStopsAlthoughItsBrokerHangs(t *testing.T) {
	t.Parallel()
	kafka := harness.StartKafka(t, 1)
	c := newChain(t, kafka.Addrs(), 2, nil, time.Second)
	d := suite.Daemon(t, configuration(c.addrs, "", c.relay("start: earliest")))
	c.write(t, records("r", 10)...)
	c.awaitAccepted(t, 10)
	c.awaitCommitted(t, c.group(), c.topic)
	kafka.Freeze(t, 0)
	d.Stop(t)
	for _, l := range logged(t, d) {
		if l.Message == goneBroker.ended {
			t.Errorf("a broker that hangs answers: %+v", l)
		}
	}
}
