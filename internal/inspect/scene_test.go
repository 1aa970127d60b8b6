package inspect

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/IBM/sarama"
	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/retryd/retryd/internal/config"
	"github.com/retryd/retryd/internal/kafka"
)

// scene is a cluster and an endpoint, and what makes their addresses constant in
// findings.
type scene struct {
	fake  *kfake.Cluster
	names []string // old, new, old, new
}

// startScene runs a broker and an endpoint, which must not be posted to.
func startScene(t *testing.T, options ...kfake.Opt) *scene {
	t.Helper()
	fake, err := kfake.NewCluster(append([]kfake.Opt{kfake.NumBrokers(1)}, options...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fake.Close)
	endpoint := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("a request was made: %s %s", r.Method, r.URL)
	}))
	t.Cleanup(endpoint.Close)
	s := &scene{fake: fake}
	s.name(fake.ListenAddrs()[0], "BROKER")
	s.name(endpoint.URL, "http://ENDPOINT")
	return s
}

// name lets findings show an address as a constant.
func (s *scene) name(address, name string) { s.names = append(s.names, address, name) }

// load returns a configuration of text, in which the constants stand for addresses.
func (s *scene) load(t *testing.T, text string) *config.Config {
	t.Helper()
	for i := 0; i < len(s.names); i += 2 {
		text = strings.ReplaceAll(text, s.names[i+1], s.names[i])
	}
	return loadText(t, text)
}

// connect returns the findings, one a line.
func (s *scene) connect(t *testing.T, text string) string {
	t.Helper()
	var lines strings.Builder
	for _, f := range Connect(t.Context(), s.load(t, text), "test") {
		fmt.Fprintf(&lines, "%s %s %s: %s\n", f.Level, f.Relay, f.What, f.Text)
	}
	return strings.NewReplacer(s.names...).Replace(lines.String())
}

// one is a relay with two tiers.
const one = `
kafka: {brokers: [BROKER]}
relays:
  - {topic: loans, start: earliest, endpoint: {url: "http://ENDPOINT/loans?token=secret"}, tiers: [5s, 30s]}
`

// client is a sarama client that ends with the test.
func (s *scene) client(t *testing.T) sarama.Client {
	t.Helper()
	config := sarama.NewConfig()
	config.Producer.Return.Successes = true
	client, err := sarama.NewClient(s.fake.ListenAddrs(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

func (s *scene) produce(t *testing.T, topic string, n int) {
	t.Helper()
	producer, err := sarama.NewSyncProducerFromClient(s.client(t))
	if err != nil {
		t.Fatal(err)
	}
	defer producer.Close()
	for range n {
		if _, _, err := producer.SendMessage(&sarama.ProducerMessage{Topic: topic, Value: sarama.StringEncoder("v")}); err != nil {
			t.Fatal(err)
		}
	}
}

// commit lets a group have read a topic up to an offset.
func (s *scene) commit(t *testing.T, group, topic string, offset int64) {
	t.Helper()
	cfg := kafka.DefaultConfig()
	cfg.Brokers = s.fake.ListenAddrs()
	cluster, err := kafka.Connect(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer cluster.Close()
	offsets := kafka.Offsets{}
	offsets.Set(topic, 0, kafka.Committed{Offset: offset})
	if err := cluster.Commit(kafka.Member{Group: group, Generation: -1}, offsets); err != nil {
		t.Fatal(err)
	}
}

func requireText(t *testing.T, want, got string) {
	t.Helper()
	if diff := cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("findings (-want +got):\n%s", diff)
	}
}

func requireLine(t *testing.T, want, got string) {
	t.Helper()
	if !strings.Contains("\n"+got, "\n"+want+"\n") {
		t.Errorf("no line\n%s\nin\n%s", want, got)
	}
}
