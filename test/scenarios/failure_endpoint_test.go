package scenarios

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/retryd/retryd/test/harness"
)

// absence is how an endpoint comes to be of no use for a while.
type absence struct {
	name   string
	manual string         // title in docs/operations.md
	closed bool           // its port
	answer harness.Answer // of an open one

	unguarded bool // the circuit breaker is off

	began, ended string
	why, says    string
	series       string // is 1 meanwhile
}

const (
	pauses = "delivery pauses, no attempt is spent"
	goesOn = "delivery goes on again"
)

var absences = []absence{
	{
		name: "refuses connections", manual: "It is down", closed: true,
		began: pauses, ended: goesOn, why: "connection refused: the endpoint cannot be reached", series: "retryd_endpoint_paused",
	},
	{
		name: "hangs", manual: "It is down", answer: harness.Answer{Hang: true},
		began: pauses, ended: goesOn, why: "the endpoint fails whatever it gets", series: "retryd_endpoint_paused",
	},
	{
		name: "fails", manual: "It is down", answer: harness.Answer{Status: http.StatusServiceUnavailable},
		began: pauses, ended: goesOn, why: "status 503: the endpoint fails whatever it gets", series: "retryd_endpoint_paused",
	},
	{
		name: "rejects everything", manual: "It rejects everything", answer: harness.Answer{Status: http.StatusUnauthorized},
		began: pauses, ended: goesOn, why: "correct the endpoint, its credentials or endpoint.url", series: "retryd_endpoint_paused",
	},
	{
		name: "rejects every record", manual: "A wrong deployment rejects every record", answer: harness.Answer{Status: http.StatusBadRequest},
		began: pauses, ended: goesOn, why: "status 400: the endpoint rejects nearly every record", series: "retryd_endpoint_paused",
	},
	{
		name: "hangs without a breaker", manual: "It is down and the circuit breaker is off", answer: harness.Answer{Hang: true}, unguarded: true,
		began: "endpoint gives no answer: its records use up their attempts", ended: "endpoint answers again",
		why: "no response within 2s", says: "gives no answer: no response within ", series: "retryd_endpoint_unreachable",
	},
}

// An endpoint that is gone makes its relay no less ready: the failure is not retryd's.
func TestEndpointThatIsGoneIsToldAlikeEverywhere(t *testing.T) {
	t.Parallel()
	for _, a := range absences {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			testAbsence(t, a)
		})
	}
}

func testAbsence(t *testing.T, a absence) {
	const each = 50
	var away atomic.Bool
	c := newChain(t, embedded(t), 2, func(harness.Request) harness.Answer {
		if away.Load() {
			return a.answer
		}
		return harness.Answer{}
	}, 200*time.Millisecond, 3*time.Second)
	d := suite.Daemon(t, configuration(c.addrs, "", c.relay("start: earliest", "endpoint.timeout: 2s",
		fmt.Sprintf("endpoint.breaker: {enabled: %v}", !a.unguarded))))
	c.write(t, records("before", each)...)
	c.awaitAccepted(t, each)

	o := sign{
		manual: a.manual, began: a.began, ended: a.ended, why: a.why, says: a.says, relay: c.topic,
		series: c.series(a.series), broken: 1, sound: 0,
	}.expect(t, d)
	away.Store(true)
	if a.closed {
		if err := c.endpoint.Down(); err != nil {
			t.Fatal(err)
		}
	}
	c.write(t, records("during", each)...)
	o.awaitTold(t)
	away.Store(false)
	if a.closed {
		if err := c.endpoint.Up(); err != nil {
			t.Fatal(err)
		}
	}
	c.write(t, records("after", 1)...)
	o.awaitOver(t)
	c.ledger.Close(t, c.endpoint, bound)
	d.Stop(t)
	c.ledger.Close(t, c.endpoint, 0).Check(t)
}
