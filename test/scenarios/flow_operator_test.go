package scenarios

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/IBM/sarama"

	"github.com/retryd/retryd/test/harness"
)

func TestMetricsCountWhatHappened(t *testing.T) {
	eachBroker(t, func(t *testing.T, addrs []string) {
		c := newChain(t, addrs, 2, func(r harness.Request) harness.Answer {
			switch {
			case strings.HasPrefix(r.EventID, "invalid"):
				return harness.Answer{Status: http.StatusUnprocessableEntity}
			case strings.HasPrefix(r.EventID, "bad"):
				return harness.Answer{Status: http.StatusServiceUnavailable}
			}
			return harness.Answer{}
		}, 0, 0)
		c.write(t, slices.Concat(records("good", 20), records("bad", 5), records("invalid", 3))...)
		d := c.run(t)
		c.ledger.Close(t, c.endpoint, bound)
		c.awaitCommitted(t, c.group(), c.topic) // what is complete was counted
		c.awaitCommitted(t, c.tierGroup(1), c.tier(1))
		c.awaitCommitted(t, c.tierGroup(2), c.tier(2))

		deliveries := func(tier, outcome, class string) string {
			return c.series("retryd_deliveries_total", fmt.Sprintf("tier=%q", tier), fmt.Sprintf("outcome=%q", outcome), fmt.Sprintf("class=%q", class))
		}
		dead := func(reason, class string) string {
			return c.series("retryd_dead_letters_total", fmt.Sprintf("reason=%q", reason), fmt.Sprintf("class=%q", class))
		}
		for series, want := range map[string]float64{
			deliveries("main", "delivered", "none"):                                    20,
			deliveries("main", "failed", "transient"):                                  5,
			deliveries("main", "failed", "invalid"):                                    3,
			deliveries("1", "failed", "transient"):                                     5,
			deliveries("2", "failed", "transient"):                                     5,
			deliveries("1", "delivered", "none"):                                       0,
			dead("exhausted", "transient"):                                             5,
			dead("rejected", "invalid"):                                                3,
			c.series("retryd_escalations_total", `tier="main"`):                        5,
			c.series("retryd_escalations_total", `tier="1"`):                           5,
			c.series("retryd_escalations_total", `tier="2"`):                           0,
			c.series("retryd_deliveries_total", `error_kind="status"`, `tier="main"`):  8,
			c.series("retryd_deliveries_total", `error_kind="timeout"`, `tier="main"`): 0,
			c.series("retryd_attempts_total", `attempt="1"`, `outcome="delivered"`):    20,
			c.series("retryd_attempts_total", `attempt="1"`, `outcome="failed"`):       8,
			c.series("retryd_attempts_total", `attempt="3"`, `outcome="failed"`):       5,
			c.series("retryd_end_to_end_seconds_count"):                                20,
			c.series("retryd_delivery_duration_seconds_count", `tier="main"`):          28,
			c.series("retryd_lateness_seconds_count", `tier="main"`):                   0,
			c.series("retryd_lateness_seconds_count", `tier="2"`):                      5,
			c.series("retryd_produce_errors_total", `target="dlt"`):                    0,
			c.series("retryd_attempts_in_flight"):                                      0,
			c.series("retryd_endpoint_paused"):                                         0,
			c.series("retryd_relay_ready"):                                             1,
		} {
			if got := metric(t, d, series); got != want {
				t.Errorf("%s is %v, want %v", series, got, want)
			}
		}
		for _, tier := range []string{"main", "1", "2"} {
			for _, state := range []string{"due", "held"} {
				awaitMetric(t, d, c.series("retryd_lag_records", fmt.Sprintf("state=%q", state), fmt.Sprintf("tier=%q", tier)), 0)
			}
		}
		c.settle(t, d)
	})
}

func TestLagTellsHeldFromDue(t *testing.T) {
	eachBroker(t, func(t *testing.T, addrs []string) {
		c := newChain(t, addrs, 2, always(http.StatusServiceUnavailable), time.Hour)
		c.write(t, records("held", 50)...)
		d := c.run(t)
		awaitMetric(t, d, c.series("retryd_lag_records", `state="held"`, `tier="1"`), 50)
		for _, series := range []string{
			c.series("retryd_lag_records", `state="due"`, `tier="1"`),
			c.series("retryd_lag_records", `state="due"`, `tier="main"`),
			c.series("retryd_lag_records", `state="held"`, `tier="main"`),
		} {
			awaitMetric(t, d, series, 0)
		}
		d.Stop(t)
		if n := len(harness.ReadTopic(t, addrs, c.tier(1))); n != 50 {
			t.Errorf("%d records wait in the tier, want 50", n)
		}
		if requests, _ := c.endpoint.Counts(); requests != 50 {
			t.Errorf("%d requests, want 50", requests)
		}
	})
}

// The secrets of TestSecretsReachTheEndpointAlone, each in a form of its own.
const (
	headerSecret   = "hdr-5ecret-Zq81xw"
	bearerSecret   = "brr-5ecret-Yk27vu"
	passwordSecret = "pwd-5ecret-Xj93ts"
)

// TestSecretsReachTheEndpointAlone has an endpoint that answers with what it was
// sent, which is the easiest way for a secret to get into a dead letter.
func TestSecretsReachTheEndpointAlone(t *testing.T) {
	t.Setenv("SCENARIO_HEADER", headerSecret)
	tokenFile := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(tokenFile, []byte(bearerSecret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	// Not eachBroker: a test that sets the environment cannot be parallel.
	t.Run("kafka", func(t *testing.T) { keepSecrets(t, suite.Kafka(t).Addrs(), tokenFile) })
	t.Run("embedded", func(t *testing.T) { keepSecrets(t, embedded(t), tokenFile) })
}

func keepSecrets(t *testing.T, addrs []string, tokenFile string) {
	t.Helper()
	echo := func(r harness.Request) harness.Answer {
		sent := r.Header.Get("Authorization") + " " + r.Header.Get("X-Api-Key")
		return harness.Answer{Status: http.StatusServiceUnavailable, Body: sent, Header: http.Header{"X-Version": {strings.ReplaceAll(sent, " ", "")}}}
	}
	bearer, basic := newChain(t, addrs, 1, echo, 100*time.Millisecond), newChain(t, addrs, 1, echo, 100*time.Millisecond)
	refused := newChain(t, addrs, 1, nil, 100*time.Millisecond)
	if err := refused.endpoint.Down(); err != nil {
		t.Fatal(err)
	}
	chains := []*chain{bearer, basic, refused}
	keys := []string{"start: earliest", "endpoint.app_version_header: X-Version", `endpoint.headers: {X-Api-Key: "${SCENARIO_HEADER}"}`}
	token := fmt.Sprintf("endpoint.bearer_token_file: %q", tokenFile)
	d := suite.Daemon(t, configuration(addrs, "log: {level: debug, format: json}",
		bearer.relay(append(keys, token)...),
		basic.relay(append(keys, fmt.Sprintf("endpoint.basic: {username: scenario, password: %q}", passwordSecret))...),
		refused.relay(append(keys, token)...)))
	seen := ""
	for _, c := range chains {
		c.write(t, records("secret", 2)...)
	}
	for _, c := range chains {
		c.ledger.Close(t, c.endpoint, bound)
	}
	for _, path := range []string{"/metrics", "/readyz", "/healthz"} {
		_, body, err := d.Get(path)
		if err != nil {
			t.Errorf("GET %s: %v", path, err)
		}
		seen += body
	}
	for _, c := range chains {
		c.settle(t, d)
		for _, topic := range c.topics() {
			for _, m := range harness.ReadTopic(t, addrs, topic) {
				seen += spell(m)
			}
		}
	}
	seen += d.Log()
	credentials := base64.StdEncoding.EncodeToString([]byte("scenario:" + passwordSecret))
	for _, secret := range []string{headerSecret, bearerSecret, passwordSecret, credentials} {
		if i := strings.Index(seen, secret); i >= 0 {
			t.Errorf("the secret %s is seen in: %s", secret, seen[max(0, i-200):i+len(secret)])
		}
	}
	checkSent(t, bearer, "Bearer "+bearerSecret)
	checkSent(t, basic, "Basic "+credentials)
	checkLog(t, d.Log())
}

func spell(m *sarama.ConsumerMessage) string {
	var b strings.Builder
	for _, h := range m.Headers {
		fmt.Fprintf(&b, "%s %s=%s\n", m.Topic, h.Key, h.Value)
	}
	return b.String()
}

func checkSent(t *testing.T, c *chain, authorization string) {
	t.Helper()
	for _, call := range c.endpoint.Requests() {
		if got := call.Header.Get("Authorization"); got != authorization {
			t.Errorf("Authorization is %q, want %q", got, authorization)
		}
		if got := call.Header.Get("X-Api-Key"); got != headerSecret {
			t.Errorf("X-Api-Key is %q, want %q", got, headerSecret)
		}
	}
}

// checkLog looks at a log in JSON: every line has the keys of all lines, and those
// of a record's event have the record's.
func checkLog(t *testing.T, log string) {
	t.Helper()
	events := map[string][]string{
		"attempt":     {"status", "class", "error_kind", "error", "duration", "late"},
		"hold":        {"wait", "not_before"},
		"forward":     {"next", "delay", "not_before", "class"},
		"dead-letter": {"next", "dlt_offset", "reason", "class"},
	}
	found := map[string]bool{}
	for line := range strings.Lines(log) {
		var fields map[string]any
		decoder := json.NewDecoder(bytes.NewBufferString(line))
		if err := decoder.Decode(&fields); err != nil || decoder.More() {
			t.Errorf("line of the log that is no JSON object: %s", line)
			continue
		}
		want := []string{"time", "level", "msg"}
		message, _ := fields["msg"].(string)
		if more, ok := events[message]; ok {
			found[message] = true
			want = append(append(want, "relay", "tier", "topic", "partition", "offset", "key", "attempt", "event_id"), more...)
		}
		for _, key := range want {
			if _, ok := fields[key]; !ok {
				t.Errorf("line of the log without %s: %s", key, line)
			}
		}
		if at, _ := fields["time"].(string); at != "" {
			if _, err := time.Parse("2006-01-02T15:04:05.000Z", at); err != nil {
				t.Errorf("time of a line: %v", err)
			}
		}
	}
	for event := range events {
		if !found[event] {
			t.Errorf("the log has no line %q", event)
		}
	}
}
