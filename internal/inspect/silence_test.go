package inspect

import (
	"context"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/retryd/retryd/internal/kafka"
	"github.com/retryd/retryd/internal/tier"
)

func TestConnectEndsThoughNobodyAnswers(t *testing.T) {
	t.Parallel() // the client waits 5 s for an answer
	silent := listenSilently(t)
	s := startScene(t)
	s.name(silent, "SILENT")
	text := strings.Replace(one, "BROKER", "SILENT", 1)
	text = strings.Replace(text, "http://ENDPOINT", "https://SILENT", 1)
	text = strings.Replace(text, "?token=secret\"", "\", timeout: 100ms", 1)
	requireText(t, `ok  brokers: SILENT takes connections
fail  kafka: connect to SILENT: no broker answers: no answer from SILENT in time; the relays' topics and groups were not looked at
fail loans endpoint: tls handshake with SILENT: no answer in time; is endpoint.url right, does a firewall drop the connection, or is the application too busy to accept it?
`, s.connect(t, text))
}

func TestSilentBrokersHideNoneThatAnswers(t *testing.T) {
	s := startScene(t, kfake.SeedTopics(1, "loans"))
	brokers := []string{"BROKER"}
	for range 20 {
		brokers = append(brokers, listenSilently(t))
	}
	got := s.connect(t, strings.Replace(one, "[BROKER]", "["+strings.Join(brokers, ", ")+"]", 1))
	requireLine(t, "ok  kafka: the cluster answers; brokers: 0 at BROKER", got)
	requireLine(t, "ok loans topics: as they should be: loans", got)
}

func TestEachBrokerSaysWhyThereIsNoCluster(t *testing.T) {
	s := startScene(t)
	got := s.connect(t, strings.Replace(one, "[BROKER]", "[127.0.0.1:1, 127.0.0.1:2]", 1))
	requireLine(t, "fail  kafka: connect to 127.0.0.1:1: no broker answers: dial tcp 127.0.0.1:1: connect: connection refused; "+
		"connect to 127.0.0.1:2: no broker answers: dial tcp 127.0.0.1:2: connect: connection refused; the relays' topics and groups were not looked at", got)
}

func TestLookIsOverWhenTheTimeIs(t *testing.T) {
	var m mute
	s := startScene(t, kfake.ListenFn(m.listen), kfake.SeedTopics(1, "loans"))
	cfg := s.load(t, one)
	cluster, err := kafka.Connect(t.Context(), cfg.Kafka)
	if err != nil {
		t.Fatal(err)
	}
	ctx, timeIsUp := context.WithCancel(t.Context())
	s.fake.ControlKey(int16(kmsg.DescribeConfigs), func(kmsg.Request) (kmsg.Response, error, bool) {
		m.muted.Store(true)
		timeIsUp()
		return nil, nil, false
	})
	var anew atomic.Int32 // connections after that
	s.fake.ControlKey(int16(kmsg.ApiVersions), func(kmsg.Request) (kmsg.Response, error, bool) {
		s.fake.KeepControl()
		if m.muted.Load() {
			anew.Add(1)
		}
		return nil, nil, false
	})
	relays := make([][]Finding, len(cfg.Relays))
	lookAtCluster(ctx, cluster, cfg, relays)
	want := [][]Finding{{{Fail, "loans", "topics", "not looked at: Kafka did not answer in time"}}}
	if diff := cmp.Diff(want, relays); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
	if n := anew.Load(); n > 0 {
		t.Errorf("%d connections were opened when one gave no answer in time: nobody hung up", n)
	}
}

// mute is a way to listen whose connections swallow every answer once it is muted, as
// those of a broker that hangs do.
type mute struct{ muted atomic.Bool }

func (m *mute) listen(network, addr string) (net.Listener, error) {
	l, err := net.Listen(network, addr)
	return muteListener{l, m}, err
}

type muteListener struct {
	net.Listener
	*mute
}

func (l muteListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return muteConn{c, l.mute}, err
}

type muteConn struct {
	net.Conn
	*mute
}

func (c muteConn) Write(b []byte) (int, error) {
	if c.muted.Load() {
		return len(b), nil
	}
	return c.Conn.Write(b)
}

func TestSilenceEndsTheLook(t *testing.T) {
	s := startScene(t, kfake.SeedTopics(1, "loans"))
	s.fake.ControlKey(int16(kmsg.DescribeConfigs), func(kmsg.Request) (kmsg.Response, error, bool) {
		s.fake.KeepControl()
		return nil, io.EOF, true // breaks the connection
	})
	got := s.connect(t, one)
	if strings.Count(got, "fail loans topics: ") != 1 || strings.Contains(got, "loans access") {
		t.Errorf("findings:\n%s", got)
	}
	requireLine(t, "ok loans endpoint: http://ENDPOINT/loans takes connections; nothing was posted", got)
}

func TestNoStepBeginsTooLate(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	l := look{relay: tier.Config{Name: "loans"}}
	want := []Finding{{Fail, "loans", "topics", "not looked at: Kafka did not answer in time"}}
	if diff := cmp.Diff(want, l.take(ctx, step{"topics", l.survey})); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

// listenSilently accepts connections and says nothing.
func listenSilently(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	return listener.Addr().String() // the kernel accepts
}
