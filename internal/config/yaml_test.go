package config

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retryd/retryd/internal/forward"
)

func TestSyntaxProblems(t *testing.T) {
	const here = "not valid YAML here or just above: "
	tests := []struct {
		name string
		file string
		want string
	}{
		{"tab", "relays:\n\t- topic: a\n", "f:2: " + here + "found character that cannot start any token; indent with spaces, not tabs, and put values that begin with a special character in quotes"},
		{"indentation", "relays:\n  - topic: a\n   group: b\n    start: latest\n", "f:3: " + here + "did not find expected '-' indicator"},
		{"two values", "relays: a: b\n", "f:1: " + here + "mapping values are not allowed in this context"},
		{"missing colon", "kafka:\n  brokers [a]\n  client_id: x\n", "f:3: " + here + "mapping values are not allowed in this context"},
		{"list that is not closed", "kafka:\n  brokers: [a, b\nrelays:\n  - topic: a\n", "f:2: " + here + "did not find expected ',' or ']'; inside [ ] and { } put values with special characters in quotes, ${VAR} too"},
		{"variable without quotes in a mapping", "kafka:\n  session_timeout: 6s\nadmin: {listen: ${ADDR}}\n", "f:3: " + here + "did not find expected ',' or '}'; inside [ ] and { } put values with special characters in quotes, ${VAR} too"},
		{"quote that is not closed", "a: 1\nrelays:\n  - topic: \"a\n", "f:3: " + here + "found unexpected end of stream"},
		{"unknown anchor", "a: 1\n\nb: *x\n", "f:3: " + here + "a value that begins with * refers to an anchor, and there is none of that name; put the value in quotes"},
		{"list instead of keys", "- topic: a\n", "f:1: must be a mapping of keys such as kafka and relays, not a list"},
		{"text instead of keys", "\nrelays\n", "f:2: must be a mapping of keys such as kafka and relays, not text"},
		{"two documents", relay + "---\n" + relay, "f:5: holds a second YAML document; one file holds one configuration"},
		{"not UTF-8", "a: 1\nb: \xff\n", "f:2: not UTF-8 text; save the file as UTF-8"},
		{"control character", "a: 1\nb: \x00\n", "f:2: a control character (U+0000) is not allowed in YAML"},
		{"aliases that repeat each other", repeated(9), "f: holds more than 100000 values; are there aliases that repeat each other?"},
		{"alias in itself", "kafka: &x [*x]\n" + relay, "f:1: kafka[0][0][0][0][0][0][0][0][0][0][0][0][0][0][0][0]: nested more than 32 levels deep"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := problems(t, tt.file, nil)
			if diff := cmp.Diff([]string{tt.want}, got); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

// repeated returns a file of few bytes and 9 to the power of levels values.
func repeated(levels int) string {
	file := "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
	for i := range levels {
		below := fmt.Sprintf("*a%d", i)
		file += fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.Repeat(below+", ", 9))
	}
	return file
}

func TestSyntaxProblemsOfLargeFilesHaveTheDecodersLine(t *testing.T) {
	file := "relays:\n  - topic: a\n   group: b\n" + strings.Repeat("# a comment\n", 50_000)
	got := problems(t, file, nil)
	if len(got) != 1 || !strings.Contains(got[0], "not valid YAML here or just above: ") {
		t.Errorf("problems: %v", got)
	}
}

func TestAnchorsAndMergeKeys(t *testing.T) {
	cfg := mustParse(t, `
relays:
  - &first
    topic: a
    endpoint: &endpoint {url: http://x/, timeout: 1s}
    tiers: &tiers [5s, 1m]
  - topic: b
    endpoint: {<<: *endpoint, timeout: 2s}
    tiers: *tiers
  - <<: [{topic: c}, *first]
    jitter: 0.5
`, nil)
	var got []string
	for _, r := range cfg.Relays {
		got = append(got, strings.Join([]string{r.Topic, r.Endpoint.URL, r.Endpoint.Timeout.String(), r.Policy.Tiers.List[1].Delay.String()}, " "))
	}
	want := []string{"a http://x/ 1s 1m0s", "b http://x/ 2s 1m0s", "c http://x/ 1s 1m0s"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("relays (-want +got):\n%s", diff)
	}
}

func TestMergeKeyMustReferToMapping(t *testing.T) {
	got := problems(t, "x: &x 5\n"+relay+"    <<: *x\n", nil)
	want := []string{`f:1: x: unknown key`, `f:6: relays[0]: << must refer to a mapping, not to a number`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestTimesAreText(t *testing.T) {
	cfg := mustParse(t, relay+"    start: 2026-01-31T08:00:00Z\n", nil)
	if got := cfg.Relays[0].Start; got != "2026-01-31T08:00:00Z" {
		t.Errorf("start: %s", got)
	}
}

func TestDefaultsMergeDeeply(t *testing.T) {
	cfg := mustParse(t, `
defaults:
  endpoint: {url: http://x/, timeout: 1s, headers: {X-A: "1", X-B: "2"}, success: [200, 201], bearer_token: t}
  tiers: [5s, 1m]
  jitter: 0.1
relays:
  - topic: a
  - topic: b
    endpoint: {timeout: 2s, headers: {x-a: "3"}, success: [204], bearer_token: }
    tiers: [7s]
    jitter:
  - topic: c
    endpoint:
    backoff: {base: 1s, factor: 2, max: 5m, attempts: 3}
`, nil)
	type view struct {
		URL      string
		Timeout  time.Duration
		Headers  map[string]string
		Success  []int
		Token    string
		Tiers    int
		Backoff  int
		Jitter   float64
		Schedule int
	}
	var got []view
	for _, r := range cfg.Relays {
		schedule, _ := r.Schedule()
		got = append(got, view{
			r.Endpoint.URL, r.Endpoint.Timeout, revealed(r.Endpoint.Headers), r.Endpoint.Success, r.Endpoint.BearerToken.Reveal(),
			len(r.Policy.Tiers.List), r.Policy.Backoff.Attempts, r.Policy.Jitter, len(schedule.Steps),
		})
	}
	want := []view{
		{"http://x/", time.Second, map[string]string{"x-a": "1", "x-b": "2"}, []int{200, 201}, "t", 2, 0, 0.1, 2},
		{"http://x/", 2 * time.Second, map[string]string{"x-a": "3", "x-b": "2"}, []int{204}, "", 1, 0, 0.2, 1},
		{"http://x/", time.Second, map[string]string{"x-a": "1", "x-b": "2"}, []int{200, 201}, "t", 0, 3, 0.1, 2},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("relays (-want +got):\n%s", diff)
	}
}

func revealed(headers map[string]forward.Secret) map[string]string {
	all := map[string]string{}
	for name, value := range headers {
		all[name] = value.Reveal()
	}
	return all
}

func TestTiers(t *testing.T) {
	tests := []struct {
		name  string
		tiers string
		want  string
	}{
		{"list", "[5s, 30s]", "5s 0.2 orders.retry.1, 30s 0.2 orders.retry.2"},
		{"mappings", "[{delay: 5s, topic: x}, {delay: 30s, jitter: 0}]", "5s 0.2 x, 30s 0 orders.retry.2"},
		{"text", "5s, 30s", "5s 0.2 orders.retry.1, 30s 0.2 orders.retry.2"},
		{"one", "5s", "5s 0.2 orders.retry.1"},
		{"none", "[]", ""},
		{"auto", "auto", "5s 0.2 orders.retry.1, 30s 0.2 orders.retry.2, 4m25s 0.2 orders.retry.3"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file := "relays: [{topic: orders, endpoint: {url: 'http://x/'}, budget: 5m}]\ndefaults:\n  tiers: " + tt.tiers + "\n"
			r := mustParse(t, file, nil).Relays[0]
			schedule, _ := r.Schedule()
			var got []string
			for i, topic := range r.TierTopics() {
				s := schedule.Steps[i]
				got = append(got, strings.Join([]string{s.Delay.String(), strconv.FormatFloat(s.Jitter, 'g', -1, 64), topic}, " "))
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, ", ")); diff != "" {
				t.Errorf("tiers (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPark(t *testing.T) {
	tests := []struct {
		name string
		park string
		want string
	}{
		{"list", "[24h, 1h, 90m]", "1h0m0s orders.park.1h, 1h30m0s orders.park.1h30m, 24h0m0s orders.park.24h"},
		{"mappings", "[{delay: 24h, topic: x}, {delay: 1h}]", "1h0m0s orders.park.1h, 24h0m0s x"},
		{"text", "1h, 24h", "1h0m0s orders.park.1h, 24h0m0s orders.park.24h"},
		{"none", "[]", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file := "relays: [{topic: orders, endpoint: {url: 'http://x/'}}]\ndefaults:\n  tiers: [5s]\n  park: " + tt.park + "\n"
			var got []string
			for _, topic := range mustParse(t, file, nil).Relays[0].RetryTopics()[1:] {
				got = append(got, topic.Delay.String()+" "+topic.Name)
			}
			if diff := cmp.Diff(tt.want, strings.Join(got, ", ")); diff != "" {
				t.Errorf("park topics (-want +got):\n%s", diff)
			}
		})
	}
}
