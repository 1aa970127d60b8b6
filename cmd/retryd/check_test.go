package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/retryd/retryd/internal/inspect"
)

// check runs the command, and gives files and addresses constant names.
func check(t *testing.T, text string, replace []string, args ...string) output {
	t.Helper()
	for i := 0; i < len(replace); i += 2 {
		text = strings.ReplaceAll(text, replace[i+1], replace[i])
	}
	path := writeFile(t, text)
	out := execute(t, nil, nil, append([]string{"check", "--config", path}, args...)...)
	constant := strings.NewReplacer(append(replace, path, "retryd.yaml")...)
	out.Stdout, out.Stderr = constant.Replace(out.Stdout), constant.Replace(out.Stderr)
	return out
}

func requireNarrow(t *testing.T, text string) {
	t.Helper()
	for line := range strings.Lines(text) {
		if utf8.RuneCountInString(strings.TrimRight(line, "\n")) > textWidth {
			t.Errorf("wider than a terminal of %d columns: %q", textWidth, line)
		}
		if strings.TrimRight(line, " \n") != strings.TrimRight(line, "\n") {
			t.Errorf("ends in blanks: %q", line)
		}
	}
}

func TestCheckExplainsTheReference(t *testing.T) {
	out := execute(t, nil, nil, "check", "--config", "../../configs/retryd.yaml")
	if out.Code != 0 || out.Stderr != "" {
		t.Errorf("exit %d, standard error %q", out.Code, out.Stderr)
	}
	golden(t, "check/reference.txt", out.Stdout)
	requireNarrow(t, out.Stdout)
}

// limitsFile has every kind of limit and every way to begin.
const limitsFile = `
defaults: {jitter: 0, endpoint: {url: "https://library.example.com/loans?token=secret"}}
relays:
  - topic: shortened
    start: 2026-01-31T08:00:00Z
    tiers: [5s, 30s, 5m]
    budget: 4m
    expire_after: 1h
  - topic: prevented
    start: latest
    tiers: [5s, 30s, {delay: 1m, jitter: 0.1}]
    budget: 70s
    lifetime: 100s
    endpoint: {url: "unix:///run/app.sock:/loans", timeout: 14s, success: [200, 202], max_in_flight: 1200, limited_attempts: 9}
  - topic: never
    name: own-reader
    consume: false
    tiers: [100ms, 1h, 2h]
    budget: 10m
  - topic: aged
    tiers: [1h, 48h]
    lifetime: 1h
  - topic: expired
    tiers: [5s, 30s, 5m]
    jitter: 0.2
    expire_after: 20s
  - topic: perhaps-expired
    tiers: [5s, 30s, 5m]
    jitter: 0.2
    budget: 5m
    lifetime: 50s
    expire_after: 5m
  - topic: expired-unread
    consume: false
    tiers: [30s, 5m]
    expire_after: 30s
  - topic: at-once
    tiers: []
  - topic: limited
    consume: false
    tiers: [5s, 1.2ms, 1h]
    jitter: 0.2
    endpoint: {limited_attempts: 2}
  - topic: nothing
    consume: false
    tiers: []
`

func TestCheckExplainsLimits(t *testing.T) {
	out := check(t, limitsFile, nil)
	if out.Code != 0 || out.Stderr != "" {
		t.Errorf("exit %d, standard error %q", out.Code, out.Stderr)
	}
	golden(t, "check/limits.txt", out.Stdout)
	requireNarrow(t, out.Stdout)
	if strings.Contains(out.Stdout, "secret") {
		t.Error("the query of the URL is shown")
	}
}

func TestCheckShowsTheTableOfARelayWithRules(t *testing.T) {
	out := check(t, `
relays:
  - topic: loans
    start: earliest
    tiers: [5s]
    endpoint:
      url: http://127.0.0.1:8080/
      rules:
        - {status: 409, action: done}
        - {status: [500, 502-504], header: {x-quota: exhausted, x-tenant: "*"}, action: throttle}
        - {error: [timeout, tls], action: limited}
        - {header: {x-maintenance: "*"}, action: hold}
        - {status: 4xx, action: dead_letter, class: invalid, dlt: loans.quarantine}
        - {error: protocol, action: stop, class: unknown}
`, nil)
	if out.Code != 0 || out.Stderr != "" {
		t.Errorf("exit %d, standard error %q", out.Code, out.Stderr)
	}
	golden(t, "check/rules.txt", out.Stdout)
	requireNarrow(t, out.Stdout)
	_, table, _ := strings.Cut(out.Stdout, "the first line that fits counts:\n")
	table, _, _ = strings.Cut(table, "\n\n")
	documented(t, table)
}

func TestCheckExplainsOtherTopics(t *testing.T) {
	for name, keys := range map[string]string{
		"park":   "    park: [24h, {delay: 1h, topic: loans.later}]\n",
		"review": "    review: {enabled: true}\n",
	} {
		t.Run(name, func(t *testing.T) {
			out := check(t, `
relays:
  - topic: loans
    start: earliest
    endpoint: {url: "http://127.0.0.1:8080/"}
    tiers: [5s, 30s, 5m]
`+keys, nil)
			if out.Code != 0 || out.Stderr != "" {
				t.Errorf("exit %d, standard error %q", out.Code, out.Stderr)
			}
			relay, _, _ := strings.Cut(out.Stdout, "\nWhat an answer")
			golden(t, "check/"+name+".txt", relay)
			requireNarrow(t, relay)
		})
	}
}

func TestCheckExplainsSchedulesWithoutAnEnd(t *testing.T) {
	out := check(t, `
defaults: {start: earliest, endpoint: {url: "http://127.0.0.1:8080/"}, on_exhausted: repeat_last, max_unfinished: 1000}
relays:
  - topic: endless
    tiers: [5s, 30s, 5m]
    in_place: {attempts: 3}
    max_replays: 0
  - topic: exact
    tiers: [5s]
    jitter: 0
    expire_after: 24h
  - topic: own-reader
    consume: false
    start:
    tiers: [5s]
  - topic: expired
    tiers: [5s, 5m]
    expire_after: 1m
`, nil)
	if out.Code != 0 || out.Stderr != "" {
		t.Errorf("exit %d, standard error %q", out.Code, out.Stderr)
	}
	relays, _, _ := strings.Cut(out.Stdout, "\nWhat an answer")
	golden(t, "check/endless.txt", relays)
	requireNarrow(t, relays)
}

func TestCheckRefusesSchedulesWithoutAnEndThatDoNotSaySo(t *testing.T) {
	out := check(t, `relays:
  - topic: loans
    endpoint: {url: "http://127.0.0.1:8080/"}
    tiers: []
    budget: 10m
    lifetime: 1h
    on_exhausted: repeat_last
`, nil)
	want := output{Code: 78, Stderr: `retryd.yaml:2: relays[0].max_unfinished: missing: on_exhausted: repeat_last has no end; say at how many unfinished records of a partition of the last tier the next one that fails there is dead-lettered, 1 to 1000000
retryd.yaml:5: relays[0].budget: 10m0s would end what on_exhausted: repeat_last repeats without an end; remove one of the two
retryd.yaml:6: relays[0].lifetime: 1h0m0s would end what on_exhausted: repeat_last repeats without an end; remove one of the two
retryd.yaml:7: relays[0].on_exhausted: repeat_last has no last tier to repeat with tiers: []; add a tier, or use dead_letter
`}
	if diff := cmp.Diff(want, out); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
}

func TestCheckPrintsJSON(t *testing.T) {
	out := execute(t, nil, nil, "check", "--config", "../../configs/retryd.yaml", "--output", "json")
	if out.Code != 0 || out.Stderr != "" {
		t.Errorf("exit %d, standard error %q", out.Code, out.Stderr)
	}
	golden(t, "check/reference.json", out.Stdout)
}

func TestCheckPrintsEveryProblem(t *testing.T) {
	out := check(t, "relays:\n  - topic: a\n    endpoint: {url: \"ftp://127.0.0.1/\", timeout: 30}\nlog: {level: loud}\n", nil, "--connect")
	want := output{Code: 78, Stderr: `retryd.yaml:2: relays[0].tiers: missing; list the delays (tiers: [5s, 30s, 5m]), generate them with backoff, or write tiers: [] to dead-letter a record at its first failure
retryd.yaml:3: relays[0].endpoint.timeout: 30 has no unit; write 30s, or use ms, m or h
retryd.yaml:3: relays[0].endpoint.url: scheme must be http, https or unix; want http://host:port/path, https://... or unix:///path.sock:/http/path
retryd.yaml:4: log.level: "loud" is no log level, use debug, info, warn or error
`}
	if diff := cmp.Diff(want, out); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
}

const connectFile = `
kafka: {brokers: ["BROKER"]}
relays:
  - {topic: loans, start: earliest, endpoint: {url: "http://ENDPOINT/loans"}, tiers: [5s, 30s]}
`

func TestCheckConnectShowsWhatThereIs(t *testing.T) {
	b := startBroker(t)
	b.create(t, "loans", 3)
	b.fill(t, "loans", 5)
	endpoint := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("something was posted") }))
	t.Cleanup(endpoint.Close)
	replace := []string{b.addr, "BROKER", strings.TrimPrefix(endpoint.URL, "http://"), "ENDPOINT"}

	out := check(t, connectFile, replace, "--connect")
	if out.Code != 0 || out.Stderr != "" {
		t.Errorf("exit %d, standard error %q", out.Code, out.Stderr)
	}
	_, findings, _ := strings.Cut(out.Stdout, "\nKafka and the endpoints\n")
	golden(t, "check/connect.txt", findings)

	out = check(t, connectFile, replace, "--connect", "--output", "json")
	var got checked
	if err := json.Unmarshal([]byte(out.Stdout), &got.Findings); err == nil {
		t.Error("findings are not below a key")
	}
	var keyed struct{ Findings []inspect.Finding }
	if err := json.Unmarshal([]byte(out.Stdout), &keyed); err != nil || len(keyed.Findings) == 0 || keyed.Findings[0].Level != inspect.OK {
		t.Errorf("findings %+v, %v", keyed.Findings, err)
	}
}

func TestCheckConnectFailsWhenSomethingFails(t *testing.T) {
	b := startBroker(t)
	b.create(t, "loans", 1)
	out := check(t, connectFile, []string{b.addr, "BROKER", "127.0.0.1:1", "ENDPOINT"}, "--connect")
	if out.Code != 1 || out.Stderr != "" {
		t.Errorf("exit %d, standard error %q", out.Code, out.Stderr)
	}
	const want = "  FAIL  loans endpoint: connect ENDPOINT: connection refused; is the application running, and is endpoint.url right?\n"
	if !strings.HasSuffix(out.Stdout, want) {
		t.Errorf("no line %q in\n%s", want, out.Stdout)
	}
}

func TestShortDurations(t *testing.T) {
	for want, d := range map[string]time.Duration{
		"0s": 0, "1ns": 1, "800µs": 800 * time.Microsecond, "12µs": 12_345, "1.2ms": 1200 * time.Microsecond, "9.9ms": 9_940_000,
		"10ms": 9_960_000, "83ms": 83_333_333, "250ms": 250 * time.Millisecond, "1.5s": 1500 * time.Millisecond,
		"10s": 10 * time.Second, "1m": time.Minute, "1m10s": 70 * time.Second, "4m28s": 268 * time.Second,
		"1h": time.Hour, "1h0m10s": time.Hour + 10*time.Second, "1h30m": 90 * time.Minute, "72h": 72 * time.Hour,
		"59.9s": 59_940 * time.Millisecond, "2m": 2*time.Minute - 1,
	} {
		if got := short(inspect.Seconds(d)); got != want {
			t.Errorf("%v: got %s, want %s", d, got, want)
		}
	}
}

func TestThousands(t *testing.T) {
	for want, n := range map[string]int{"0": 0, "999": 999, "1,300": 1300, "1,000,000": 1_000_000} {
		if got := thousands(n); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

func TestWrapBreaksBetweenWords(t *testing.T) {
	got := wrap("one  two\nthree incomprehensibilities ü·ü four", 9)
	if diff := cmp.Diff([]string{"one two", "three", "incomprehensibilities", "ü·ü four"}, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{""}, wrap("", 9)); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}
