package scenarios

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/retryd/retryd/test/harness"
)

// TestStart runs one relay for each way to begin, all in one daemon. The ledgers
// know only the records that must be delivered: a request for any other one is
// unknown to them.
func TestStart(t *testing.T) {
	eachBroker(t, func(t *testing.T, addrs []string) {
		s := newStarts(t, addrs)
		d := suite.Daemon(t, s.configuration())
		s.checkRefusal(t, d)
		s.writeAll(t, "second", "idle") // nothing was ever in the topic of that one
		s.closeAll(t)
		d.Stop(t)

		// Records that are written while nobody runs: start does not count any more.
		s.writeAll(t, "third")
		d = suite.Daemon(t, s.configuration())
		s.closeAll(t)
		d.Stop(t)
		for name, c := range s.running {
			if report := c.account(t); report.Accepted != report.Written {
				t.Errorf("%s: %s, want all accepted", name, report)
			}
		}
		if requests, _ := s.refuses.endpoint.Counts(); requests > 0 {
			t.Errorf("%d requests of the relay that does not know where to start", requests)
		}
		if at := committed(t, harness.NewClient(t, addrs), s.refuses.group(), s.refuses.topic); len(at) > 0 {
			t.Errorf("the group that does not know where to start committed %v", at)
		}
	})
}

type starts struct {
	addrs   []string
	since   time.Time
	running map[string]*chain // by the value of start
	refuses *chain
}

// newStarts writes records an hour apart to all main topics but one.
func newStarts(t *testing.T, addrs []string) *starts {
	t.Helper()
	s := &starts{addrs: addrs, since: time.Now().Add(-time.Hour).Truncate(time.Second), running: map[string]*chain{}}
	old, recent := records("old", 7), records("recent", 5)
	for i := range old {
		old[i].Timestamp = s.since.Add(-time.Minute)
	}
	for i := range recent {
		recent[i].Timestamp = s.since // the start itself is included
	}
	for _, start := range []string{"earliest", "latest", "time", "empty", "idle"} {
		s.running[start] = newChain(t, addrs, 2, nil, 0)
	}
	s.running["earliest"].write(t, append(old, recent...)...)
	produce(t, addrs, s.running["latest"].topic, nil, append(old, recent...)...)
	produce(t, addrs, s.running["time"].topic, nil, old...)
	s.running["time"].write(t, recent...)
	s.refuses = newChain(t, addrs, 2, nil, 0)
	produce(t, addrs, s.refuses.topic, nil, old...)
	return s
}

func (s *starts) configuration() string {
	return configuration(s.addrs, debugLog,
		s.running["earliest"].relay("start: earliest"),
		s.running["latest"].relay("start: latest"),
		s.running["time"].relay(fmt.Sprintf("start: %q", s.since.UTC().Format(time.RFC3339))),
		s.running["empty"].relay(),
		s.running["idle"].relay(),
		s.refuses.relay(),
	)
}

// checkRefusal looks at the relay whose topic is not empty and that names no
// start: it is at fault, the daemon is ready.
func (s *starts) checkRefusal(t *testing.T, d *harness.Daemon) {
	t.Helper()
	status, body, err := d.Get("/readyz")
	if err != nil || status != http.StatusOK {
		t.Errorf("/readyz: status %d, %v, want 200", status, err)
	}
	for _, part := range []string{"relay " + s.refuses.topic + ": ", "start", " 7 records"} {
		if !strings.Contains(body, part) {
			t.Errorf("/readyz does not say %q:\n%s", part, body)
		}
	}
	for name, c := range s.running {
		if strings.Contains(body, c.topic) {
			t.Errorf("/readyz names the relay that starts at %s:\n%s", name, body)
		}
	}
	for topic, want := range map[string]float64{s.refuses.topic: 0, s.running["empty"].topic: 1} {
		if got := metric(t, d, fmt.Sprintf("retryd_relay_ready{relay=%q}", topic)); got != want {
			t.Errorf("retryd_relay_ready of %s is %v, want %v", topic, got, want)
		}
	}
}

func (s *starts) writeAll(t *testing.T, prefix string, except ...string) {
	t.Helper()
	for name, c := range s.running {
		if !slices.Contains(except, name) {
			c.write(t, records(prefix, 6)...)
		}
	}
}

func (s *starts) closeAll(t *testing.T) {
	t.Helper()
	for _, c := range s.running {
		c.ledger.Close(t, c.endpoint, bound)
	}
}
