package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// endpoint answers every POST alike and passes on what it was sent.
type endpoint struct {
	*httptest.Server
	posts chan post
}

type post struct {
	header http.Header
	body   string
}

func startEndpoint(t *testing.T, status int, answer string) *endpoint {
	t.Helper()
	e := &endpoint{posts: make(chan post, 1)}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		e.posts <- post{r.Header, string(body)}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(e.Close)
	return e
}

// loansFile is a configuration whose endpoint is at url, and which holds a secret.
func loansFile(t *testing.T, url string) string {
	t.Helper()
	return writeFile(t, fmt.Sprintf(`
relays:
  - topic: library.loan.overdue
    name: loans
    endpoint:
      url: %s/loans/overdue?key=hidden-in-the-query
      content_type: application/json
      bearer_token: hidden-in-a-header
    tiers: [5s, 30s, 5m]
`, url))
}

// settle replaces what is different in each run: ports, times and durations.
func settle(text string) string {
	text = regexp.MustCompile(`127\.0\.0\.1:\d+`).ReplaceAllString(text, "127.0.0.1:8080")
	text = regexp.MustCompile(`@\d{13}`).ReplaceAllString(text, "@1769846400000")
	return regexp.MustCompile(` in (\d[0-9.ms]*|under 1ms)\n`).ReplaceAllString(text, " in 12ms\n")
}

func TestSendShowsAnswerAndWhatComesNext(t *testing.T) {
	tests := []struct {
		name   string
		status int
		answer string
		args   []string
		code   int
	}{
		{"accepted", 204, "", nil, 0},
		{"transient", 503, "busy,\ntry again\n", nil, 1},
		{"last-attempt", 503, "", []string{"--attempt", "4"}, 1},
		{"rejected", 422, `{"error":"loan is missing"}`, nil, 1},
		{"conflict", 409, "", nil, 1},
		{"unknown", 500, "hidden-in-a-header is what you sent\x1b[2J", nil, 1},
		{"throttled", 429, "", nil, 1},
		{"endpoint", 404, "no such page", nil, 1},
		{"ignored-header", 204, "", []string{"--header", "x-attempt=3"}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := startEndpoint(t, tt.status, tt.answer)
			args := append([]string{"send", "--config", loansFile(t, e.URL), "--value", `{"loan":1}`}, tt.args...)
			out := execute(t, nil, nil, args...)
			if out.Code != tt.code || out.Stderr != "" {
				t.Errorf("exit %d, standard error %q", out.Code, out.Stderr)
			}
			if strings.Contains(out.Stdout, "hidden") {
				t.Error("a secret is shown")
			}
			golden(t, "send/"+tt.name+".txt", settle(out.Stdout))
			if tt.name == "transient" {
				documented(t, settle(out.Stdout))
			}
		})
	}
}

func TestSendTellsTheRuleAndTheEndpointsOwnWord(t *testing.T) {
	tests := []struct {
		name   string
		status int
		header map[string]string
		want   []string
	}{
		{"a rule", 409, nil, []string{"rule     endpoint.rules[0]: retry"}},
		{"a rule with a header", 200, map[string]string{"X-Quota": "exhausted", "Retry-After": "90"},
			[]string{"rule     endpoint.rules[1]: throttle", "wait     the endpoint asks for 1m30s at least", "written to loans.retry.1, the same attempt is made again"}},
		{"a rule that stops", 503, nil, []string{"rule     endpoint.rules[2]: stop", "the relay stops until an operator resumes it"}},
		{"success", 202, nil, []string{"rule     endpoint.success: limited"}},
		{"its own word", 400, map[string]string{"Retryd-Action": "retry", "Retryd-Delay": "999999"},
			[]string{"rule     the endpoint's own word (Retryd-Action): retry", "wait     the endpoint asks for 24h at least"}},
		{"words that make no sense", 400, map[string]string{"Retryd-Action": "drop", "Retryd-Delay": "-1", "Retry-After": "soon"},
			[]string{"rule     default table: dead_letter", "ignored  Retry-After, Retryd-Delay, Retryd-Action: the value makes no sense"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				for name, value := range tt.header {
					w.Header().Set(name, value)
				}
				w.WriteHeader(tt.status)
			}))
			t.Cleanup(server.Close)
			path := writeFile(t, fmt.Sprintf(`
relays:
  - topic: loans
    tiers: [5s]
    endpoint:
      url: %s
      success: [200]
      rules:
        - {status: 409, action: retry}
        - {status: 200, header: {x-quota: exhausted}, action: throttle}
        - {status: 503, action: stop}
`, server.URL))
			out := execute(t, nil, nil, "send", "--config", path, "--value", "x")
			for _, want := range tt.want {
				if !strings.Contains(out.Stdout, want) {
					t.Errorf("%q is not in\n%s", want, out.Stdout)
				}
			}
		})
	}
}

func TestSendTellsOfPOSTsInPlace(t *testing.T) {
	const again = "next      in_place: POSTed again after 200ms, in the same attempt, of 3 POSTs at most\n"
	tests := []struct {
		name   string
		status int
		args   []string
		want   string
	}{
		{"a hiccup", 503, nil, again},
		{"an answer of the third kind", 500, nil, again},
		{"a rejection", 422, nil, "next      dead letter (rejected)"},
		{"a later attempt", 503, []string{"--attempt", "2"}, "next      tier 2"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := startEndpoint(t, tt.status, "busy")
			path := writeFile(t, fmt.Sprintf("relays: [{topic: a, endpoint: {url: %q}, tiers: [5s, 30s], in_place: {attempts: 3}}]\n", e.URL))
			args := append([]string{"send", "--config", path, "--value", "x"}, tt.args...)
			if out := execute(t, nil, nil, args...); !strings.Contains(out.Stdout, tt.want) {
				t.Errorf("%q is not in\n%s", tt.want, out.Stdout)
			}
			if <-e.posts; tt.want != again {
				return
			}
			var got struct{ Next map[string]any }
			if err := json.Unmarshal([]byte(execute(t, nil, nil, append(args, "-o", "json")...).Stdout), &got); err != nil {
				t.Fatal(err)
			}
			want := map[string]any{"action": "hold", "topic": "", "reason": "", "delay_seconds": 0.2}
			if diff := cmp.Diff(want, got.Next); diff != "" {
				t.Errorf("next (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSendNamesTheReviewTopic(t *testing.T) {
	e := startEndpoint(t, http.StatusConflict, "")
	path := writeFile(t, fmt.Sprintf("relays: [{topic: a, endpoint: {url: %q}, tiers: [5s], review: {enabled: true}}]\n", e.URL))
	out := execute(t, nil, nil, "send", "--config", path, "--value", "x")
	if want := "dead letter (conflict): written to a.review, since"; out.Code != 1 || !strings.Contains(out.Stdout, want) {
		t.Errorf("exit %d, want %q in\n%s", out.Code, want, out.Stdout)
	}
}

func TestSendWithoutAnAnswer(t *testing.T) {
	out := execute(t, nil, nil, "send", "--config", loansFile(t, "http://"+nobody(t)), "--value", "x")
	if out.Code != 1 || out.Stderr != "" {
		t.Errorf("exit %d, standard error %q", out.Code, out.Stderr)
	}
	golden(t, "send/refused.txt", settle(out.Stdout))
}

func TestSendPostsWhatTheDaemonWould(t *testing.T) {
	file := filepath.Join(t.TempDir(), "value")
	if err := os.WriteFile(file, []byte("\x00\xff\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	is := func(value string) []string { return []string{value} }
	tests := []struct {
		name   string
		args   []string
		body   string
		header map[string][]string // nil is absent
	}{
		{"text", []string{"--value", "text"}, "text", map[string][]string{
			"Authorization": is("Bearer hidden-in-a-header"), "Content-Type": is("application/json"), "User-Agent": is("retryd/dev (loans)"),
			"Retryd-Topic": is("library.loan.overdue"), "Retryd-Partition": is("0"), "Retryd-Offset": is("0"), "Retryd-Attempt": is("1"),
			"Retryd-Key": nil, "Retryd-Tombstone": nil, "Retryd-First-Failure-At": nil,
		}},
		{"bytes of a file", []string{"--value", "@" + file}, "\x00\xff\n", nil},
		{"standard input", []string{"--value", "@-"}, "from a pipe", nil},
		{"empty value", []string{"--value", ""}, "", map[string][]string{"Retryd-Tombstone": nil}},
		{"tombstone", []string{"--tombstone"}, "", map[string][]string{"Retryd-Tombstone": is("true")}},
		{"key", []string{"--value", "x", "--key", "loan-1"}, "x", map[string][]string{"Retryd-Key": is("loan-1")}},
		{"empty key", []string{"--value", "x", "--key", ""}, "x", map[string][]string{"Retryd-Key": is("")}},
		{
			"headers", []string{"--value", "x", "--header", "event-id=e=1", "--header", "traceparent=00-1", "--header", "other=1", "--header", "content-type=text/plain"}, "x",
			map[string][]string{"Idempotency-Key": is("e=1"), "Traceparent": is("00-1"), "Other": nil, "Content-Type": is("text/plain")},
		},
		{
			"a later attempt", []string{"--value", "x", "--attempt", "3"}, "x",
			map[string][]string{"Retryd-Attempt": is("3"), "Retryd-Topic": is("library.loan.overdue")},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := startEndpoint(t, 204, "")
			var stdout, stderr bytes.Buffer
			p := program{stdin: strings.NewReader("from a pipe"), stdout: &stdout, stderr: &stderr}
			if code := p.run(append([]string{"send", "--config", loansFile(t, e.URL)}, tt.args...)); code != 0 {
				t.Fatalf("exit %d: %s%s", code, &stdout, &stderr)
			}
			got := <-e.posts
			if got.body != tt.body {
				t.Errorf("body %q, want %q", got.body, tt.body)
			}
			for name, want := range tt.header {
				if diff := cmp.Diff(want, got.header.Values(name)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", name, diff)
				}
			}
		})
	}
}

func TestSendSignsAsTheDaemonDoes(t *testing.T) {
	const secret = "whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIz"
	e := startEndpoint(t, 401, "I know no "+secret)
	out := execute(t, nil, nil, "send", "--config", writeFile(t, fmt.Sprintf(`
relays:
  - topic: loans
    endpoint: {url: %q, signing: {secrets: [%s]}}
    tiers: []
`, e.URL, secret)), "--value", "x")
	got := <-e.posts
	webhook, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	if err := webhook.Verify([]byte(got.body), got.header); err != nil {
		t.Error(err)
	}
	if strings.Contains(out.Stdout+out.Stderr, secret) || out.Code != 1 {
		t.Errorf("exit %d, %s%s", out.Code, out.Stdout, out.Stderr)
	}
}

func TestSendOfALaterAttemptSaysWhenItFailedFirst(t *testing.T) {
	e := startEndpoint(t, 204, "")
	before := time.Now()
	execute(t, nil, nil, "send", "--config", loansFile(t, e.URL), "--value", "x", "--attempt", "3")
	after := time.Now()
	header := (<-e.posts).header
	const waits = 35 * time.Second // in tier 1 and in tier 2
	for _, name := range []string{"Retryd-First-Failure-At", "Retryd-Timestamp"} {
		millis, err := strconv.ParseInt(header.Get(name), 10, 64)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if at := time.UnixMilli(millis); at.Before(before.Add(-waits-time.Millisecond)) || at.After(after.Add(-waits)) {
			t.Errorf("%s: %v is not %v before the attempt, between %v and %v", name, at, waits, before, after)
		}
	}
}

// nextOfSend posts one record and returns what the daemon would do next.
func nextOfSend(t *testing.T, status int, args ...string) map[string]any {
	t.Helper()
	e := startEndpoint(t, status, "")
	out := execute(t, nil, nil, append([]string{"send", "--config", loansFile(t, e.URL), "--value", "x", "--output", "json"}, args...)...)
	var got struct{ Next map[string]any }
	if err := json.Unmarshal([]byte(out.Stdout), &got); err != nil {
		t.Fatal(err)
	}
	return got.Next
}

func TestSendTellsProgramsWhatComesNext(t *testing.T) {
	next := func(action, topic, reason string, delay float64) map[string]any {
		return map[string]any{"action": action, "topic": topic, "reason": reason, "delay_seconds": delay}
	}
	tests := []struct {
		status int
		args   []string
		want   map[string]any
	}{
		{204, nil, next("done", "", "", 0)},
		{503, []string{"--attempt", "2"}, next("forward", "library.loan.overdue.retry.2", "", 30)},
		{503, []string{"--attempt", "4"}, next("dead_letter", "library.loan.overdue.DLT", "exhausted", 0)},
		{422, nil, next("dead_letter", "library.loan.overdue.DLT", "rejected", 0)},
		{429, nil, next("move", "library.loan.overdue.retry.1", "", 5)},
		{429, []string{"--attempt", "4"}, next("move", "library.loan.overdue.retry.3", "", 300)},
		{404, nil, next("hold", "", "", 0)},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, nextOfSend(t, tt.status, tt.args...)); diff != "" {
			t.Errorf("%d %v (-want +got):\n%s", tt.status, tt.args, diff)
		}
	}
}

// ownReader is a relay whose main topic the application reads itself.
func ownReader(t *testing.T, url string) string {
	t.Helper()
	return writeFile(t, "relays: [{topic: loans, consume: false, endpoint: {url: '"+url+"/'}, tiers: [5s, 30s]}]")
}

func TestSendBeginsWhereTheDaemonDoes(t *testing.T) {
	const none, given = -1, 0 // of a first failure
	tests := []struct {
		name    string
		args    []string
		attempt string
		failed  time.Duration // how long ago at retryd, the first time
		written time.Duration // how long ago
	}{
		{"as the application writes it", nil, "2", none, 5 * time.Second},
		{"the same", []string{"--attempt", "2"}, "2", none, 5 * time.Second},
		{"after the daemon's first failure", []string{"--attempt", "3"}, "3", 30 * time.Second, 35 * time.Second},
		{"with a header of the application's", []string{"--header", "x-first-failure-at=1000"}, "2", given, 5 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := startEndpoint(t, 204, "")
			before := time.Now().Truncate(time.Millisecond)
			out := execute(t, nil, nil, append([]string{"send", "--config", ownReader(t, e.URL), "--value", "x"}, tt.args...)...)
			after := time.Now()
			if out.Code != 0 || strings.Contains(out.Stdout, "warning") {
				t.Fatalf("exit %d: %s%s", out.Code, out.Stdout, out.Stderr)
			}
			header := (<-e.posts).header
			if topic, attempt := header.Get("Retryd-Topic"), header.Get("Retryd-Attempt"); topic != "loans.retry.1" || attempt != tt.attempt {
				t.Errorf("attempt %s of topic %s", attempt, topic)
			}
			requireAgo := func(name string, ago time.Duration) {
				millis, err := strconv.ParseInt(header.Get(name), 10, 64)
				if at := time.UnixMilli(millis).Add(ago); err != nil || at.Before(before) || at.After(after) {
					t.Errorf("%s: %q is not %v before the attempt", name, header.Get(name), ago)
				}
			}
			requireAgo("Retryd-Timestamp", tt.written)
			switch failed := header.Get("Retryd-First-Failure-At"); {
			case tt.failed > 0:
				requireAgo("Retryd-First-Failure-At", tt.failed)
			case failed != map[time.Duration]string{none: "", given: "1000"}[tt.failed]:
				t.Errorf("Retryd-First-Failure-At: %q", failed)
			}
		})
	}
}

func TestSendWarnsOfAnAttemptThatIsNeverMade(t *testing.T) {
	const warning = "\n  warning: the daemon never makes attempt 3: the budget (10s) ends before; retryd check shows the\n    schedule\n"
	for attempt, want := range map[string]bool{"2": false, "3": true} {
		e := startEndpoint(t, 204, "")
		path := writeFile(t, "relays: [{topic: loans, budget: 10s, endpoint: {url: '"+e.URL+"/'}, tiers: [5s, 30s]}]")
		out := execute(t, nil, nil, "send", "--config", path, "--value", "x", "--attempt", attempt)
		if got := strings.HasSuffix(out.Stdout, warning); got != want || out.Code != 0 {
			t.Errorf("attempt %s: exit %d\n%s", attempt, out.Code, out.Stdout)
		}
	}
	for limit, want := range map[string]string{"lifetime: 4s": "the lifetime (4s) ends before", "expire_after: 4s": "expire_after (4s) ends before"} {
		path := writeFile(t, "relays: [{topic: loans, "+limit+", endpoint: {url: 'http://"+nobody(t)+"/'}, tiers: [5s, 30s]}]")
		if out := execute(t, nil, nil, "send", "--config", path, "--value", "x", "--attempt", "3"); !strings.Contains(out.Stdout, want) {
			t.Errorf("%s: no warning in\n%s", limit, out.Stdout)
		}
	}
}

func TestSendSaysThatARecordExpiresBeforeItsNextAttempt(t *testing.T) {
	e := startEndpoint(t, 503, "")
	path := writeFile(t, "relays: [{topic: loans, expire_after: 20s, endpoint: {url: '"+e.URL+"/'}, tiers: [5s, 30s]}]")
	for attempt, want := range map[string]string{
		"1": "tier 1: written to loans.retry.1, attempted again after about 5s\n",
		"2": "tier 2: written to loans.retry.2, dead-lettered (expired) after about 30s\n",
	} {
		out := execute(t, nil, nil, "send", "--config", path, "--value", "x", "--attempt", attempt)
		if <-e.posts; !strings.HasSuffix(out.Stdout, want) {
			t.Errorf("attempt %s: no line %q in\n%s", attempt, want, out.Stdout)
		}
	}
}

func TestSendAsJSON(t *testing.T) {
	e := startEndpoint(t, 503, "busy")
	out := execute(t, nil, nil, "send", "--config", loansFile(t, e.URL), "--value", "x", "--output", "json")
	var got map[string]any
	if err := json.Unmarshal([]byte(out.Stdout), &got); err != nil {
		t.Fatal(err)
	}
	for _, differs := range []string{"endpoint", "event_id", "duration_seconds"} {
		if got[differs] == nil {
			t.Errorf("%s is missing", differs)
		}
		delete(got, differs)
	}
	want := map[string]any{
		"relay": "loans", "attempt": 1.0, "last_attempt": 4.0, "value_bytes": 1.0, "warnings": []any{},
		"accepted": false, "status": 503.0, "rule": "", "spoken": false, "wait_seconds": 0.0, "ignored": []any{}, "class": "transient", "error_kind": "status", "error": "status 503", "response": "busy",
		"next": map[string]any{"action": "forward", "topic": "library.loan.overdue.retry.1", "reason": "", "delay_seconds": 5.0},
	}
	if diff := cmp.Diff(want, got); diff != "" || out.Code != 1 {
		t.Errorf("exit %d, output (-want +got):\n%s", out.Code, diff)
	}
}

func TestSendRefusesWhatItCannotSend(t *testing.T) {
	one := loansFile(t, "http://127.0.0.1:1")
	two := writeFile(t, `
relays:
  - {topic: loans, endpoint: {url: "http://127.0.0.1:1/"}, tiers: [5s]}
  - {topic: orders, endpoint: {url: "http://127.0.0.1:1/", bearer_token_file: /nowhere/token}, tiers: [5s]}
`)
	own := writeFile(t, "relays: [{topic: loans, consume: false, endpoint: {url: 'http://127.0.0.1:1/'}, tiers: [5s, 30s]}]")
	none := writeFile(t, "relays: [{topic: loans, consume: false, endpoint: {url: 'http://127.0.0.1:1/'}, tiers: []}]")
	see := "\nSee \"retryd send --help\".\n"
	tests := []struct {
		name string
		args []string
		want string
	}{
		{"no value", []string{"-c", one}, "retryd: give either --value or --tombstone" + see},
		{"value and tombstone", []string{"-c", one, "--value", "x", "--tombstone"}, "retryd: give either --value or --tombstone" + see},
		{"no file", []string{"--value", "x"}, "retryd: --config is missing: name the YAML file" + see},
		{"which relay", []string{"-c", two, "--value", "x"}, "retryd: --relay is missing: name one of loans, orders" + see},
		{"no such relay", []string{"-c", two, "--relay", "loan", "--value", "x"}, "retryd: --relay is \"loan\", but the file has loans, orders" + see},
		{"no header", []string{"-c", one, "--value", "x", "--header", "a:b"}, "retryd: --header is \"a:b\": write NAME=VALUE" + see},
		{"too few attempts", []string{"-c", one, "--value", "x", "--attempt", "0"}, "retryd: --attempt is 0: the first attempt is 1" + see},
		{"too many attempts", []string{"-c", one, "--value", "x", "--attempt", "5"}, "retryd: --attempt is 5: relay loans makes 4 attempts" + see},
		{"the application's attempt", []string{"-c", own, "--value", "x", "--attempt", "1"}, "retryd: --attempt is 1: relay loans makes attempts 2 to 3; your application makes those before (consume: false)" + see},
		{"an attempt behind the application's", []string{"-c", own, "--value", "x", "--attempt", "4"}, "retryd: --attempt is 4: relay loans makes attempts 2 to 3; your application makes those before (consume: false)" + see},
		{"no attempts at all", []string{"-c", none, "--value", "x"}, "retryd: relay loans makes no attempts: it has no tiers, and consume is false" + see},
		{"a value without end", []string{"-c", one, "--value", "@/dev/zero"}, "retryd: --value: /dev/zero holds more than 64 MiB, which is no record\n"},
		{"no such value", []string{"-c", one, "--value", "@/nowhere/value"}, "retryd: --value: open /nowhere/value: no such file or directory\n"},
		{"no such secret", []string{"-c", two, "-r", "orders", "--value", "x"}, "retryd: relay orders: endpoint.bearer_token_file: open /nowhere/token: no such file or directory\n"},
		{"no such format", []string{"-c", one, "--value", "x", "-o", "yaml"}, "retryd: invalid argument \"yaml\" for \"-o, --output\" flag: it must be text or json" + see},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want := output{Code: 1, Stderr: tt.want}
			if diff := cmp.Diff(want, execute(t, nil, nil, append([]string{"send"}, tt.args...)...)); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
		})
	}
}
