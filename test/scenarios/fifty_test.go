package scenarios

import (
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/retryd/retryd/test/harness"
)

const (
	manyRelays = 50
	// fewRelays is how many relays may prepare at a time. Without a limit all of them do.
	fewRelays = 10
	// fewConnections is how many connections may wait for their first answer at a time.
	// 200 consumer groups have one each, or two, and so has this test.
	fewConnections = 20
	// faultyRelays is more than may prepare at a time: if one that waits for somebody to
	// mend its topic took up a place, nothing would start behind these.
	faultyRelays = 12
	// linesOfRelay is more than a relay writes that starts, creates its topics, joins
	// its groups, and has two records, and far less than one that repeats itself.
	linesOfRelay = 20

	missingTopic = "missing-" // begins the name of a main topic that does not exist
)

// One process has fifty relays of three tiers, that is 200 consumer groups, and some
// more relays before them that cannot work.
func TestFiftyRelaysStartAFewAtATimeWorkAndStop(t *testing.T) {
	t.Parallel()
	addrs, prepared, arrived := watchedBroker(t)
	var relays []string
	for range faultyRelays {
		missing := &chain{topic: missingTopic + harness.TopicName(t), endpoint: harness.StartEndpoint(t, nil), delays: []time.Duration{time.Hour}}
		relays = append(relays, missing.relay("start: earliest"))
	}
	chains := make([]*chain, manyRelays)
	for i := range chains {
		c := newChain(t, addrs, 1, sortedByPrefix, time.Hour, time.Hour, time.Hour)
		c.write(t, append(records("good", 1), records("dead", 1)...)...)
		chains[i] = c
		relays = append(relays, c.relay("start: earliest"))
	}
	d := harness.StartDaemon(t, suite.Binary(t), manyConfiguration(addrs, relays))

	harness.WaitFor(t, bound, "/readyz to complain of the faulty relays alone", func() bool {
		status, body := readyz(t, d)
		complaints := strings.Count(body, "main topic "+missingTopic)
		return status == http.StatusOK && complaints == faultyRelays && strings.Count(body, "\n") == 1+complaints
	})
	deadline := time.Now().Add(bound)
	for _, c := range chains {
		c.ledger.Close(t, c.endpoint, time.Until(deadline))
	}
	if done, most := prepared.count(); done != manyRelays || most > fewRelays {
		t.Errorf("%d relays prepared, up to %d of them at a time; want %d, and no more than %d at a time", done, most, manyRelays, fewRelays)
	}
	if most := arrived.mostAtOnce(); most > fewConnections {
		t.Errorf("up to %d connections were new at a time, want no more than %d", most, fewConnections)
	}
	checkFewLines(t, d)

	d.Stop(t)
	for _, c := range chains {
		report := c.account(t)
		if report.Accepted != 1 || report.DeadLettered != 1 {
			t.Errorf("%s: %s, want one record accepted and one dead-lettered", c.topic, report)
		}
	}
	checkNoMembers(t, addrs, chains)
}

// manyConfiguration leaves heartbeats the time that they have in production: with 200
// groups a heartbeat waits behind a fetch of up to two seconds.
func manyConfiguration(addrs, relays []string) string {
	return fmt.Sprintf("kafka: {brokers: [%s]}\nrelays:\n- %s\n", strings.Join(addrs, ", "), strings.Join(relays, "\n- "))
}

// checkFewLines fails the test if relays repeat themselves, or complain without a
// reason.
func checkFewLines(t *testing.T, d *harness.Daemon) {
	t.Helper()
	if n := lines(d, ""); n > manyRelays*linesOfRelay {
		t.Errorf("%d lines of log for %d relays, want no more than %d each", n, manyRelays, linesOfRelay)
	}
	for line := range strings.Lines(d.Log()) {
		complains := strings.Contains(line, `"level":"warn"`) || strings.Contains(line, `"level":"error"`)
		if complains && !strings.Contains(line, missingTopic) {
			t.Errorf("a complaint about a relay that works: %s", line)
		}
	}
}

// checkNoMembers fails the test if a group still has a member.
func checkNoMembers(t *testing.T, addrs []string, chains []*chain) {
	t.Helper()
	admin, err := sarama.NewClusterAdminFromClient(harness.NewClient(t, addrs))
	if err != nil {
		t.Fatal(err)
	}
	var groups []string
	for _, c := range chains {
		groups = append(groups, c.group())
		for i := range c.delays {
			groups = append(groups, c.tierGroup(i+1))
		}
	}
	descriptions, err := admin.DescribeConsumerGroups(groups)
	if err != nil || len(descriptions) != len(groups) {
		t.Fatalf("%d of %d groups are described: %v", len(descriptions), len(groups), err)
	}
	for _, g := range descriptions {
		if g.State != "Empty" || len(g.Members) > 0 {
			t.Errorf("group %s is %s with %d members after the stop, want it empty", g.GroupId, g.State, len(g.Members))
		}
	}
}

// preparations are the relays that have looked at their main topic, and not yet at the
// dead-letter topic that they created. Who makes the control topic, for all relays, asks for
// configurations too: for its own, and for those of all main topics at once.
type preparations struct {
	mu         sync.Mutex
	begun      map[string]bool // by main topic
	ended      map[string]bool
	mostAtOnce int
}

// watchedBroker runs an embedded broker until the end of the test, and watches which
// relays prepare and which connections are new.
func watchedBroker(t *testing.T) (addrs []string, p *preparations, a *arrivals) {
	t.Helper()
	p, a = &preparations{begun: map[string]bool{}, ended: map[string]bool{}}, &arrivals{}
	broker, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.ListenFn(a.listen))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(broker.Close)
	broker.ControlKey(int16(kmsg.DescribeConfigs), func(r kmsg.Request) (kmsg.Response, error, bool) {
		broker.KeepControl()
		var topics []string
		for _, resource := range r.(*kmsg.DescribeConfigsRequest).Resources {
			topics = append(topics, resource.ResourceName)
		}
		p.note(topics)
		return nil, nil, false // the broker answers
	})
	return broker.ListenAddrs(), p, a
}

// note notes which topics are asked for at once.
func (p *preparations) note(topics []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var begun []string
	for _, topic := range topics {
		if main, ok := strings.CutSuffix(topic, ".DLT"); ok {
			p.ended[main] = true
		} else if topic != controlTopic && !strings.Contains(topic, ".retry.") {
			begun = append(begun, topic)
		}
	}
	if len(begun) == 1 { // else it is about the control topic
		p.begun[begun[0]] = true
	}
	p.mostAtOnce = max(p.mostAtOnce, len(p.begun)-len(p.ended))
}

// count returns how many relays have prepared, and how many did at a time.
func (p *preparations) count() (done, most int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.ended), p.mostAtOnce
}

// arrivals are the connections that wait for their first answer.
type arrivals struct {
	mu            sync.Mutex
	waiting, most int
}

func (a *arrivals) listen(network, addr string) (net.Listener, error) {
	listener, err := net.Listen(network, addr)
	return watchedListener{listener, a}, err
}

func (a *arrivals) add(n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.waiting += n
	a.most = max(a.most, a.waiting)
}

func (a *arrivals) mostAtOnce() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.most
}

type watchedListener struct {
	net.Listener
	arrivals *arrivals
}

// Accept waits for the next connection.
func (l watchedListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.arrivals.add(1)
	return watchedConn{conn, sync.OnceFunc(func() { l.arrivals.add(-1) })}, nil
}

type watchedConn struct {
	net.Conn
	served func()
}

// Write answers.
func (c watchedConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.served()
	return n, err
}

// Close ends the connection.
func (c watchedConn) Close() error {
	c.served()
	return c.Conn.Close()
}
