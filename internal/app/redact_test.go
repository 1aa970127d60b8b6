package app

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/IBM/sarama"
	"github.com/google/go-cmp/cmp"

	"github.com/retryd/retryd/internal/config"
	"github.com/retryd/retryd/internal/redact"
	"github.com/retryd/retryd/test/harness"
)

// hidden is a part of everything that must not be shown.
const hidden = "concealed"

func headers(pairs ...string) (list []sarama.RecordHeader) {
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, sarama.RecordHeader{Key: []byte(pairs[i]), Value: []byte(pairs[i+1])})
	}
	return list
}

// deadLetters runs a daemon over records until so many are dead-lettered, and returns
// those, and all that the daemon said meanwhile.
func deadLetters(t *testing.T, cfg *config.Config, want int, records ...*sarama.ProducerMessage) (dead []*sarama.ConsumerMessage, said string) {
	t.Helper()
	cfg.Log.Level = "debug"
	daemon := start(t, cfg)
	harness.WaitFor(t, time.Minute, "readiness", func() bool { code, _ := daemon.get("/readyz"); return code == http.StatusOK })
	producer, err := sarama.NewSyncProducer(cfg.Kafka.Brokers, harness.ClientConfig())
	if err != nil {
		t.Fatal(err)
	}
	defer producer.Close()
	if err := producer.SendMessages(records); err != nil {
		t.Fatal(err)
	}
	harness.WaitFor(t, time.Minute, "dead letters", func() bool {
		dead = harness.ReadTopic(t, cfg.Kafka.Brokers, "orders.DLT")
		return len(dead) >= want
	})
	for _, path := range []string{"/api/v1/relays", "/readyz", "/healthz", "/metrics"} {
		_, body := daemon.get(path)
		said += body
	}
	if err := daemon.end(); err != nil {
		t.Error(err)
	}
	return dead, said + daemon.log.String()
}

func TestNothingHiddenIsShownAndTheRecordStaysAsItIs(t *testing.T) {
	brokers := startBroker(t)
	harness.CreateTopic(t, brokers, "orders", 1, nil)
	harness.CreateTopic(t, brokers, "orders.retry.1", 1, nil)
	endpoint := harness.StartEndpoint(t, func(r harness.Request) harness.Answer {
		status := http.StatusUnprocessableEntity
		if r.Attempt == 1 {
			status = http.StatusServiceUnavailable
		}
		return harness.Answer{Status: status, Body: `{"error":"no","card":{"number":"concealed"}}`, Header: http.Header{"X-Version": {hidden}}}
	})
	cfg := settings(brokers, endpoint.URL("/"), 20*time.Millisecond)
	cfg.Relays[0].Endpoint.AppVersionHeader = "X-Version"
	cfg.Relays[0].Policy.ExpireAfter = time.Hour
	cfg.Redact = redact.Config{
		Headers:   []string{"event-id", "user_*", "x-version", "x-late-ms", "x-consumer", "x-class"},
		JSONPaths: []string{"$.card.number", "$..iban"},
	}
	const key, value = `{"iban": "concealed"}`, "{\"card\": {\"number\": \"concealed\"},\"amount\":1.0}\n"
	foreign := []string{"user-email", hidden, "event-id", hidden, "user-email", "again-" + hidden, "other", "\x00\xff"}
	record := func(topic string, age time.Duration, more ...string) *sarama.ProducerMessage {
		return &sarama.ProducerMessage{
			Topic: topic, Key: sarama.StringEncoder(key), Value: sarama.StringEncoder(value),
			Headers: headers(append(foreign, more...)...), Timestamp: time.Now().Add(-age),
		}
	}
	dead, said := deadLetters(t, cfg, 3,
		record("orders", 0),
		record("orders.retry.1", 0, "x-not-before", fmt.Sprint(time.Now().Add(time.Hour).UnixMilli())), // held
		record("orders.retry.1", 0, "x-late-ms", hidden, "x-trace", `{"iban":"concealed"}`),
		record("orders.retry.1", 2*time.Hour, "x-error", `{"iban":"concealed"}`, "x-class", hidden), // expired, with the error of before
		record("orders.retry.1", 0, "x-consumer", "other/"+hidden),                                  // skipped
	)
	if strings.Contains(said, hidden) {
		t.Errorf("shown: %s", said)
	}
	for _, line := range []string{`"attempt"`, `"forward"`, `"dead-letter"`, `"hold"`, "header counts as absent", "record of another group is skipped"} {
		if !strings.Contains(said, line) {
			t.Errorf("the log has no %s, which would have shown a part of the record", line)
		}
	}
	for _, d := range dead {
		requireSacred(t, d, key, value, headers(foreign...))
		for _, h := range d.Headers {
			if name := string(h.Key); (name == "x-response" || name == "x-app-version") && strings.Contains(string(h.Value), hidden) {
				t.Errorf("%s: %s", h.Key, h.Value)
			}
		}
	}
}

// requireSacred compares key, value and foreign headers with what was written.
func requireSacred(t *testing.T, got *sarama.ConsumerMessage, key, value string, foreign []sarama.RecordHeader) {
	t.Helper()
	var kept []sarama.RecordHeader
	for _, h := range got.Headers {
		if !strings.HasPrefix(string(h.Key), "x-") {
			kept = append(kept, *h)
		}
	}
	if diff := cmp.Diff(foreign, kept); diff != "" || string(got.Key) != key || string(got.Value) != value {
		t.Errorf("key %s, value %s, headers (-written +found):\n%s", got.Key, got.Value, diff)
	}
}

func TestResponseThatIsNotCapturedIsNowhere(t *testing.T) {
	brokers := startBroker(t)
	harness.CreateTopic(t, brokers, "orders", 1, nil)
	endpoint := harness.StartEndpoint(t, func(r harness.Request) harness.Answer {
		if r.Attempt == 1 {
			return harness.Answer{Status: http.StatusInternalServerError, Body: hidden}
		}
		return harness.Answer{Status: http.StatusUnprocessableEntity, Body: hidden}
	})
	cfg := settings(brokers, endpoint.URL("/"), 20*time.Millisecond)
	cfg.Relays[0].Endpoint.CaptureResponse = false
	dead, said := deadLetters(t, cfg, 1, &sarama.ProducerMessage{Topic: "orders", Value: sarama.StringEncoder("x")})
	if strings.Contains(said, hidden) {
		t.Errorf("shown: %s", said)
	}
	for _, h := range dead[0].Headers {
		if string(h.Key) == "x-response" || strings.Contains(string(h.Value), hidden) {
			t.Errorf("%s: %s", h.Key, h.Value)
		}
	}
}
