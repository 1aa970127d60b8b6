package scenarios

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/IBM/sarama"

	"github.com/retryd/retryd/internal/devbroker"
	"github.com/retryd/retryd/test/harness"
)

// bound is how long a scenario waits for anything. It is reached only when
// something is broken, so it allows for a machine that is slow.
const bound = time.Minute

// eachBroker runs a scenario against the suite's Apache Kafka and against an
// embedded broker of its own, in parallel to each other and to other tests.
func eachBroker(t *testing.T, scenario func(t *testing.T, addrs []string)) {
	t.Helper()
	t.Parallel()
	t.Run("kafka", func(t *testing.T) {
		t.Parallel()
		scenario(t, suite.Kafka(t).Addrs())
	})
	t.Run("embedded", func(t *testing.T) {
		t.Parallel()
		scenario(t, embedded(t))
	})
}

// embedded runs a broker in the test's process until the end of the test.
func embedded(t *testing.T) []string {
	t.Helper()
	broker, err := devbroker.Start(devbroker.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(broker.Close)
	return broker.Addrs()
}

// configuration returns the YAML of a daemon: keys of the root, one per line, and
// one line for each relay, in the flow style that chain.relay returns.
func configuration(addrs []string, keys string, relays ...string) string {
	return fmt.Sprintf("kafka: {brokers: [%s], session_timeout: 6s}\n%s\nrelays:\n- %s\n",
		strings.Join(addrs, ", "), keys, strings.Join(relays, "\n- "))
}

// debugLog lets the daemon write a line for every hold and delivery.
const debugLog = "log: {level: debug}"

// chain is one relay under test: its main topic, what follows from its name, its
// endpoint, and the ledger of what was written.
type chain struct {
	addrs    []string
	topic    string
	delays   []time.Duration
	endpoint *harness.Endpoint
	url      string // that leads to the endpoint; empty: its own
	ledger   *harness.Ledger
}

// newChain makes a main topic with the given partitions, an endpoint that answers
// by plan (nil accepts everything), and a ledger over tiers of these delays. The
// daemon is started with run.
func newChain(t *testing.T, addrs []string, partitions int32, plan harness.Plan, delays ...time.Duration) *chain {
	t.Helper()
	c := &chain{addrs: addrs, topic: harness.TopicName(t), delays: delays, endpoint: harness.StartEndpoint(t, plan)}
	harness.CreateTopic(t, addrs, c.topic, partitions, nil)
	tiers := make([]harness.Tier, len(delays))
	for i, delay := range delays {
		tiers[i] = harness.Tier{Topic: c.tier(i + 1), Delay: delay}
	}
	c.ledger = harness.NewLedger(t, addrs, tiers, c.dlt())
	return c
}

// tier returns the topic of tier i (1-based).
func (c *chain) tier(i int) string { return fmt.Sprintf("%s.retry.%d", c.topic, i) }

func (c *chain) dlt() string   { return c.topic + ".DLT" }
func (c *chain) group() string { return "retryd-" + c.topic }

func (c *chain) tierGroup(i int) string { return c.group() + "-retry-" + c.tier(i) }

// topics returns all topics of the relay: main, the tiers, the dead letters.
func (c *chain) topics() []string {
	all := []string{c.topic}
	for i := range c.delays {
		all = append(all, c.tier(i+1))
	}
	return append(all, c.dlt())
}

// relay returns the relay's YAML in one line. keys are further keys of the relay
// or, with the prefix "endpoint.", of its endpoint: "jitter: 0",
// "endpoint.timeout: 1s". The tiers have no jitter unless a key says so.
func (c *chain) relay(keys ...string) string {
	delays := make([]string, len(c.delays))
	for i, delay := range c.delays {
		delays[i] = delay.String()
	}
	relay := []string{"topic: " + c.topic, "tiers: [" + strings.Join(delays, ", ") + "]"}
	endpoint := []string{fmt.Sprintf("url: %q", cmp.Or(c.url, c.endpoint.URL("/records")))}
	jitter := "jitter: 0"
	if !slices.ContainsFunc(keys, func(key string) bool { return strings.HasPrefix(key, "endpoint.breaker:") }) {
		endpoint = append(endpoint, "breaker: {enabled: false}") // what fails on purpose must not open it
	}
	for _, key := range keys {
		if own, ok := strings.CutPrefix(key, "endpoint."); ok {
			endpoint = append(endpoint, own)
			continue
		}
		if strings.HasPrefix(key, "jitter:") {
			jitter = key
			continue
		}
		relay = append(relay, key)
	}
	relay = append(relay, jitter, "endpoint: {"+strings.Join(endpoint, ", ")+"}")
	return "{" + strings.Join(relay, ", ") + "}"
}

// run starts a daemon with this relay alone, from the earliest record on, and
// waits until it is ready. keys are those of relay.
func (c *chain) run(t *testing.T, keys ...string) *harness.Daemon {
	t.Helper()
	return suite.Daemon(t, configuration(c.addrs, debugLog, c.relay(append(keys, "start: earliest")...)))
}

func (c *chain) write(t *testing.T, records ...harness.Record) {
	t.Helper()
	c.writeTo(t, c.topic, records...)
}

func (c *chain) writeTo(t *testing.T, topic string, records ...harness.Record) {
	t.Helper()
	if err := c.ledger.Write(topic, records...); err != nil {
		t.Fatal(err)
	}
}

// settle waits until every record has its end, stops the daemon, and accounts for
// all of them: nothing lost, early, changed or repeated, and no attempt number
// that is out of order.
func (c *chain) settle(t *testing.T, d *harness.Daemon) harness.Report {
	t.Helper()
	c.ledger.Close(t, c.endpoint, bound)
	d.Stop(t)
	return c.account(t)
}

// account is settle for a daemon that has stopped.
func (c *chain) account(t *testing.T) harness.Report {
	t.Helper()
	report := c.ledger.Close(t, c.endpoint, 0)
	report.Check(t)
	if len(report.Repeated) > 0 || len(report.WrongAttempts) > 0 {
		t.Errorf("%s\nrepeated: %v\nwrong attempts: %v", report, report.Repeated, report.WrongAttempts)
	}
	return report
}

// awaitRequests waits until the endpoint has seen n requests.
func (c *chain) awaitRequests(t *testing.T, n int) {
	t.Helper()
	harness.WaitFor(t, bound, fmt.Sprintf("%d requests", n), func() bool {
		requests, _ := c.endpoint.Counts()
		return requests >= n
	})
}

// awaitCommitted waits until a group has committed the end of a topic: everything
// in it is complete.
func (c *chain) awaitCommitted(t *testing.T, group, topic string) {
	t.Helper()
	client := harness.NewClient(t, c.addrs)
	harness.WaitFor(t, bound, "group "+group+" to commit the end of "+topic, func() bool {
		at := committed(t, client, group, topic)
		for partition, end := range ends(t, client, topic) {
			if at[partition] != end && end > 0 {
				return false
			}
		}
		return true
	})
}

// committed returns the committed offset of every partition that has one.
func committed(t *testing.T, client sarama.Client, group, topic string) map[int32]int64 {
	t.Helper()
	partitions, err := client.Partitions(topic)
	if err != nil {
		t.Fatal(err)
	}
	admin, err := sarama.NewClusterAdminFromClient(client)
	if err != nil {
		t.Fatal(err)
	}
	response, err := admin.ListConsumerGroupOffsets(group, map[string][]int32{topic: partitions})
	if errors.Is(err, sarama.ErrGroupIDNotFound) {
		return nil // the embedded broker says so of a group that it has never seen
	}
	if err != nil {
		t.Fatalf("fetch the offsets of group %s: %v", group, err)
	}
	at := map[int32]int64{}
	for _, partition := range partitions {
		if block := response.GetBlock(topic, partition); block != nil && block.Offset >= 0 {
			at[partition] = block.Offset
		}
	}
	return at
}

// ends returns the next offset to be written, per partition.
func ends(t *testing.T, client sarama.Client, topic string) map[int32]int64 {
	t.Helper()
	partitions, err := client.Partitions(topic)
	if err != nil {
		t.Fatal(err)
	}
	at := map[int32]int64{}
	for _, partition := range partitions {
		if at[partition], err = client.GetOffset(topic, partition, sarama.OffsetNewest); err != nil {
			t.Fatal(err)
		}
	}
	return at
}

// records returns n records with the event ids <prefix>-0 to <prefix>-<n-1>, each
// with its id as key and value.
func records(prefix string, n int) []harness.Record {
	list := make([]harness.Record, n)
	for i := range list {
		id := fmt.Sprintf("%s-%d", prefix, i)
		list[i] = harness.Record{ID: id, Key: []byte(id), Value: []byte(id)}
	}
	return list
}

// always answers every request with a status.
func always(status int) harness.Plan {
	return func(harness.Request) harness.Answer { return harness.Answer{Status: status} }
}

// failing answers 503 to the records whose event id begins with prefix, and 200 to
// the others.
func failing(prefix string) harness.Plan {
	return func(r harness.Request) harness.Answer {
		if strings.HasPrefix(r.EventID, prefix) {
			return harness.Answer{Status: http.StatusServiceUnavailable}
		}
		return harness.Answer{}
	}
}

// header returns the one value of a header of retryd's, and fails the test unless
// it is there exactly once.
func header(t *testing.T, m *sarama.ConsumerMessage, name string) string {
	t.Helper()
	values := headerValues(m, name)
	if len(values) != 1 {
		t.Errorf("%s/%d/%d has header %s %d times, want once", m.Topic, m.Partition, m.Offset, name, len(values))
		return ""
	}
	return values[0]
}

func headerValues(m *sarama.ConsumerMessage, name string) []string {
	var values []string
	for _, h := range m.Headers {
		if string(h.Key) == name {
			values = append(values, string(h.Value))
		}
	}
	return values
}

// headerTime returns a header of epoch milliseconds.
func headerTime(t *testing.T, m *sarama.ConsumerMessage, name string) time.Time {
	t.Helper()
	text := header(t, m, name)
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		t.Errorf("%s/%d/%d: header %s is %q, want epoch milliseconds", m.Topic, m.Partition, m.Offset, name, text)
	}
	return time.UnixMilli(ms)
}

// expectHeaders compares headers that are there once each.
func expectHeaders(t *testing.T, m *sarama.ConsumerMessage, want map[string]string) {
	t.Helper()
	for name, value := range want {
		if got := header(t, m, name); got != value {
			t.Errorf("%s/%d/%d: header %s is %q, want %q", m.Topic, m.Partition, m.Offset, name, got, value)
		}
	}
}

// only returns the one record of a topic.
func (c *chain) only(t *testing.T, topic string) *sarama.ConsumerMessage {
	t.Helper()
	all := harness.ReadTopic(t, c.addrs, topic)
	if len(all) != 1 {
		t.Fatalf("%d records in %s, want 1", len(all), topic)
	}
	return all[0]
}

// series names a series of the chain's relay. labels are the others, as in
// `tier="1"`.
func (c *chain) series(name string, labels ...string) string {
	labels = append(labels, fmt.Sprintf("relay=%q", c.topic))
	return name + "{" + strings.Join(labels, ",") + "}"
}

// metric returns the sum of all series with a name and labels, which may have further
// labels; it is no number (NaN) if there is none, which equals nothing.
func metric(t *testing.T, d *harness.Daemon, series string) float64 {
	t.Helper()
	status, body, err := d.Get("/metrics")
	if err != nil || status != http.StatusOK {
		t.Fatalf("GET /metrics: status %d, %v", status, err)
	}
	name, labels := splitSeries(series)
	sum, found := 0.0, false
	for line := range strings.Lines(body) {
		at := strings.LastIndexByte(line, ' ')
		if at < 0 || line[0] == '#' {
			continue
		}
		other, have := splitSeries(line[:at])
		if other != name || slices.ContainsFunc(labels, func(l string) bool { return !slices.Contains(have, l) }) {
			continue
		}
		value, err := strconv.ParseFloat(strings.TrimSpace(line[at:]), 64)
		if err != nil {
			t.Fatalf("series %s: %v", series, err)
		}
		sum, found = sum+value, true
	}
	if !found {
		return math.NaN()
	}
	return sum
}

// splitSeries takes name{a="b",c="d"} apart. No value has a comma in it here.
func splitSeries(series string) (name string, labels []string) {
	name, rest, labelled := strings.Cut(series, "{")
	if !labelled {
		return name, nil
	}
	return name, strings.Split(strings.TrimSuffix(rest, "}"), ",")
}

// awaitMetric waits until a metric has a value.
func awaitMetric(t *testing.T, d *harness.Daemon, series string, want float64) {
	t.Helper()
	harness.WaitFor(t, bound, fmt.Sprintf("%s to be %v", series, want), func() bool {
		return metric(t, d, series) == want
	})
}

// produce writes records that no ledger knows, with further settings for the
// producer; configure may be nil.
func produce(t *testing.T, addrs []string, topic string, configure func(*sarama.Config), list ...harness.Record) {
	t.Helper()
	config := harness.ClientConfig()
	if configure != nil {
		configure(config)
	}
	producer, err := sarama.NewSyncProducer(addrs, config)
	if err != nil {
		t.Fatal(err)
	}
	defer producer.Close()
	if err := producer.SendMessages(messages(topic, list)); err != nil {
		t.Fatalf("write to %s: %v", topic, err)
	}
}

func messages(topic string, list []harness.Record) []*sarama.ProducerMessage {
	all := make([]*sarama.ProducerMessage, len(list))
	for i, r := range list {
		all[i] = &sarama.ProducerMessage{Topic: topic, Timestamp: r.Timestamp, Headers: r.Headers}
		if r.ID != "" {
			id := sarama.RecordHeader{Key: []byte("x-event-id"), Value: []byte(r.ID)}
			all[i].Headers = append(slices.Clone(r.Headers), id)
		}
		if r.Key != nil {
			all[i].Key = sarama.ByteEncoder(r.Key)
		}
		if r.Value != nil {
			all[i].Value = sarama.ByteEncoder(r.Value)
		}
	}
	return all
}
