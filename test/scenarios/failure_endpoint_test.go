package scenarios

import (
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

	began, ended string
	why, says    string
	series       string // is 1 meanwhile
}

var absences = []absence{
	{
		name: "refuses connections", manual: "It refuses connections, or never answers.", closed: true,
		began: "endpoint gives no answer: its records use up their attempts", ended: "endpoint answers again",
		why: "connection refused", series: "retryd_endpoint_unreachable",
	},
	{
		name: "hangs", manual: "It refuses connections, or never answers.", answer: harness.Answer{Hang: true},
		began: "endpoint gives no answer: its records use up their attempts", ended: "endpoint answers again",
		why: "no response within 2s", says: "gives no answer: no response within ", series: "retryd_endpoint_unreachable",
	},
	{
		name: "rejects everything", manual: "It rejects everything", answer: harness.Answer{Status: http.StatusUnauthorized},
		began: "delivery pauses, no attempt is spent", ended: "delivery goes on again",
		why: "correct the endpoint, its credentials or endpoint.url", series: "retryd_endpoint_paused",
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
	d := suite.Daemon(t, configuration(c.addrs, "", c.relay("start: earliest", "endpoint.timeout: 2s")))
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
