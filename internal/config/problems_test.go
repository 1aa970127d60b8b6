package config

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// relay is a relay without problems, to be completed by a test.
const relay = "relays:\n  - topic: orders\n    endpoint: {url: 'http://127.0.0.1:8080/'}\n    tiers: [5s]\n"

func TestProblems(t *testing.T) {
	tests := []struct {
		name string
		file string
		want []string
	}{
		{"none", relay, nil},
		{"nothing that is required", "relays: [{}]\n", []string{
			`f:1: relays[0].endpoint.url: is required; want http://host:port/path, https://... or unix:///path.sock:/http/path`,
			`f:1: relays[0].tiers: missing; list the delays (tiers: [5s, 30s, 5m]), generate them with backoff, or write tiers: [] to dead-letter a record at its first failure`,
			`f:1: relays[0].topic: missing: name the main topic`,
		}},
		{"no relays", "admin: {listen: ''}\n", []string{
			`f:1: relays: missing: a relay names a topic and the endpoint that handles its records`,
		}},
		{"relays that are none", "relays:\n  - orders\n  -\n", []string{
			`f:2: relays[0]: is text, must be a mapping of keys`,
			`f:3: relays[1]: is empty; remove the entry or give it a value`,
		}},
		{"relays as a mapping", "relays: {topic: orders}\n", []string{
			`f:1: relays: is a mapping, must be a list`,
		}},
		{"misspelled keys", `
relays:
  - topik: orders
    endpont: {url: 'http://x/'}
    Tiers: [5s]
    timeout: 5s
    dlq: {topic: x}
    nonsense: 1
admin: {lisen: ':1'}
kafka: {session-timeout: 6s, broker: [a:1]}
stopTimeout: 1m
`, []string{
			`f:3: relays[0].topik: unknown key, did you mean "topic"?`,
			`f:4: relays[0].endpont: unknown key, did you mean "endpoint"?`,
			`f:5: relays[0].Tiers: unknown key, did you mean "tiers"?`,
			`f:6: relays[0].timeout: unknown key, did you mean "endpoint.timeout"?`,
			`f:7: relays[0].dlq: unknown key, did you mean "dlt"?`,
			`f:8: relays[0].nonsense: unknown key`,
			`f:9: admin.lisen: unknown key, did you mean "listen"?`,
			`f:10: kafka.broker: unknown key, did you mean "brokers"?`,
			`f:10: kafka.session-timeout: unknown key, did you mean "session_timeout"?`,
			`f:11: stopTimeout: unknown key, did you mean "stop_timeout"?`,
		}},
		{"a misspelled key in a list's entry", relay + "    x: 1\n  - topic: b\n    endpoint: {url: 'http://x/'}\n    tiers: [{delai: 5s}]\n", []string{
			`f:5: relays[0].x: unknown key`,
			`f:8: relays[1].tiers[0].delai: unknown key, did you mean "delay"?`,
		}},
		{"what is to be redacted", relay + "redact:\n  headers: [authorization, 'x-*-y', '${Y}']\n  json_paths: ['$.card.number', \"$['a b'][*]\", card.number, '$..*']\n", []string{
			`f:6: redact.headers[1]: "x-*-y": only the last character may be *`,
			`f:6: redact.headers[2]: environment variable Y is not set`,
			`f:7: redact.json_paths[2]: "card.number" does not begin with $, as in $.card.number`,
			`f:7: redact.json_paths[3]: "$..*" has .*; write [*]`,
		}},
		{"duplicate keys", "relays:\n  - topic: orders\n    endpoint: {url: 'http://x/', headers: {X-A: a, x-a: b}}\n    tiers: [5s]\n    topic: others\n", []string{
			`f:3: relays[0].endpoint.headers.x-a: duplicate key, already on line 3`,
			`f:5: relays[0].topic: duplicate key, already on line 2`,
		}},
		{"numbers without a unit", `
relays:
  - topic: orders
    endpoint: {url: 'http://x/', timeout: 30}
    tiers: [5, {delay: 10}, 1.5]
    budget: "600"
    expire_after: 0
window: {bytes: 64, horizon: 5}
stop_timeout: 60
`, []string{
			`f:4: relays[0].endpoint.timeout: 30 has no unit; write 30s, or use ms, m or h`,
			`f:5: relays[0].tiers[0]: 5 has no unit; write 5s, or use ms, m or h`,
			`f:5: relays[0].tiers[1].delay: 10 has no unit; write 10s, or use ms, m or h`,
			`f:5: relays[0].tiers[2]: 1.5 has no unit; write 1.5s, or use ms, m or h`,
			`f:6: relays[0].budget: 600 has no unit; write 600s, or use ms, m or h`,
			`f:7: relays[0].expire_after: 0 has no unit; write 0s, or use ms, m or h`,
			`f:8: window.bytes: 64 has no unit; write 64MiB, or use KiB or GiB`,
			`f:8: window.horizon: 5 has no unit; write 5s, or use ms, m or h`,
			`f:9: stop_timeout: 60 has no unit; write 60s, or use ms, m or h`,
		}},
		{"wrong types", `
kafka: {brokers: {a: b}, session_timeout: true, client_id: 5}
relays:
  - topic: 4711
    consume: yes
    event_id_headers: [a, 5]
    endpoint:
      url: [a]
      max_in_flight: 1.5
      limited_attempts: three
      success: [200, ok]
      headers: [a]
      breaker: true
    tiers: soon
    jitter: much
    lifetime: 3d
    backoff: 5s
topics: yes
window: {bytes: 64XB, records: 99999999999999999999}
state_dir: /var/lib/retryd
`, []string{
			`f:2: kafka.brokers: is a mapping, must be a list`,
			`f:2: kafka.client_id: is a number; put it in quotes to make it text`,
			`f:2: kafka.session_timeout: is true or false, must be a duration such as 30s or 1m30s`,
			`f:4: relays[0].topic: is a number; put it in quotes to make it text`,
			`f:5: relays[0].consume: is "yes", must be true or false`,
			`f:6: relays[0].event_id_headers[1]: is a number; put it in quotes to make it text`,
			`f:8: relays[0].endpoint.url: is a list, must be text`,
			`f:9: relays[0].endpoint.max_in_flight: is 1.5, must be a whole number`,
			`f:10: relays[0].endpoint.limited_attempts: is "three", must be a whole number`,
			`f:11: relays[0].endpoint.success[1]: is "ok", must be a whole number`,
			`f:12: relays[0].endpoint.headers: is a list, must be a mapping of keys`,
			`f:13: relays[0].endpoint.breaker: is true or false, must be a mapping of keys`,
			`f:14: relays[0].tiers: is "soon", must be auto or a list such as [5s, 30s, 5m]`,
			`f:15: relays[0].jitter: is "much", must be a number such as 0.2 or 1`,
			`f:16: relays[0].lifetime: "3d" is not a duration; use numbers with ms, s, m or h, such as 30s or 1m30s`,
			`f:17: relays[0].backoff: is text, must be a mapping of keys`,
			`f:18: topics: is text, must be a mapping of keys`,
			`f:19: window.bytes: size "64XB" does not begin with a whole number: write it like 64MiB`,
			`f:19: window.records: is 1e+20, must be a whole number`,
			`f:20: state_dir: must be empty: this version keeps nothing on disk`,
		}},
		{"values that YAML takes for something else", `
relays:
  - topic: !order orders
    endpoint: {url: 'http://x/', max_in_flight: !!int many, ? [a] : b}
    tiers: [5s]
window: {bytes: [64MiB], records: !!bool 5}
`, []string{
			`f:3: relays[0].topic: has a YAML tag; put a value that begins with ! in quotes`,
			`f:4: relays[0].endpoint: a key must be a plain word`,
			`f:4: relays[0].endpoint.max_in_flight: does not fit its YAML tag !!int`,
			`f:6: window.bytes: is a list, must be a size such as 64MiB`,
			`f:6: window.records: does not fit its YAML tag !!bool`,
		}},
		{"values out of range", `
kafka: {brokers: [kafka1], session_timeout: 31m}
relays:
  - topic: orders
    endpoint: {url: 'ftp://x/', timeout: 0s, max_in_flight: 0}
    tiers: [-1s]
    jitter: 2
    lifetime: 0s
window: {records: 0}
admin: {listen: here}
log: {level: loud, format: xml}
`, []string{
			`f:2: kafka.brokers[0]: "kafka1" is not host:port, as in kafka1.example.com:9092`,
			`f:2: kafka.session_timeout: must be 1s to 30m, not 31m0s`,
			`f:5: relays[0].endpoint.max_in_flight: is 0, must be 1 to 10000`,
			`f:5: relays[0].endpoint.timeout: is 0s, must be positive`,
			`f:5: relays[0].endpoint.url: scheme must be http, https or unix; want http://host:port/path, https://... or unix:///path.sock:/http/path`,
			`f:6: relays[0].tiers[0]: -1s is negative; 0s means at once`,
			`f:7: relays[0].jitter: 2 is outside 0 to 1; it is the share of the delay that a wait may be shorter or longer`,
			`f:8: relays[0].lifetime: 0s is not positive; the default is 72h0m0s`,
			`f:9: window.records: must be at least 1, is 0`,
			`f:10: admin.listen: "here" is not host:port, as in 127.0.0.1:9464`,
			`f:11: log.format: "xml" is no log format, use auto, console or json`,
			`f:11: log.level: "loud" is no log level, use debug, info, warn or error`,
		}},
		{"names", `
relays:
  - topic: loan overdue
    name: a/b
    group: "a b"
    prefix: ..
    start: tomorrow
    ordering: key
    event_id_headers: [x-id, "<a>"]
    endpoint: {url: 'http://x/'}
    tiers: [{delay: 5s, topic: "a:b"}]
    dlt: {topic: "x!"}
  - topic: orders
    consume: false
    start: earliest
    ordering: strict
    endpoint: {url: 'http://x/'}
    tiers: [5s]
`, []string{
			`f:3: relays[0].topic: "loan overdue" is not a topic name: Kafka allows letters, digits, ".", "_" and "-", at least one`,
			`f:4: relays[0].name: "a/b" must be letters, digits, ".", "_" and "-", at least one`,
			`f:5: relays[0].group: "a b" must be 1 to 249 visible ASCII characters`,
			`f:6: relays[0].prefix: ".." is not a topic name: Kafka reserves it`,
			`f:7: relays[0].start: "tomorrow" is not earliest, latest or an RFC 3339 time, as in 2026-01-31T08:00:00Z`,
			`f:8: relays[0].ordering: key is not available in this version; use none`,
			`f:9: relays[0].event_id_headers[1]: event id source "<a>" is neither a header name nor two as <first>/<second>`,
			`f:11: relays[0].tiers[0].topic: "a:b" is not a topic name: Kafka allows letters, digits, ".", "_" and "-", at least one`,
			`f:12: relays[0].dlt.topic: "x!" is not a topic name: Kafka allows letters, digits, ".", "_" and "-", at least one`,
			`f:15: relays[1].start: has no meaning with consume: false, which has no group on the main topic; remove one of the two`,
			`f:16: relays[1].ordering: "strict" is no kind of ordering; use none`,
		}},
		{"park topics", `
defaults: {endpoint: {url: 'http://x/'}, tiers: [5s]}
relays:
  - topic: a
    park:
      - 24h
      - {delay: 1h, topic: "a:b", jitter: 0.1}
      - 30s
      - {topic: ''}
      - 1h
  - topic: b
    park: 1d
  - topic: c
    parks: [1h]
`, []string{
			`f:7: relays[0].park[1].jitter: unknown key`,
			`f:7: relays[0].park[1].topic: "a:b" is not a topic name: Kafka allows letters, digits, ".", "_" and "-", at least one`,
			`f:8: relays[0].park[2]: 30s is too short; a park topic is for waits of at least 1m0s`,
			`f:9: relays[0].park[3].delay: 0s is too short; a park topic is for waits of at least 1m0s`,
			`f:9: relays[0].park[3].topic: is empty; leave the key out for its default`,
			`f:10: relays[0].park[4]: 1h0m0s is the delay of park[1] too; one topic for each delay is enough`,
			`f:12: relays[1].park: "1d" is not a duration; use numbers with ms, s, m or h, such as 30s or 1m30s`,
			`f:14: relays[2].parks: unknown key, did you mean "park"?`,
		}},
		{"review topics", `
defaults: {endpoint: {url: 'http://x/'}, tiers: [5s]}
relays:
  - topic: a
    review: {topic: b}
  - topic: b
    review: {enabled: true, topic: "x!"}
  - topic: c
    review: {enabled: true, topic: ''}
  - topic: d
    review: {enabled: false, topic: ''}
  - topic: e
    review: e.review
  - topic: f
    review: {enable: true}
`, []string{
			`f:5: relays[0].review.topic: nothing is written there without review.enabled: true; set that, or remove this key`,
			`f:7: relays[1].review.topic: "x!" is not a topic name: Kafka allows letters, digits, ".", "_" and "-", at least one`,
			`f:9: relays[2].review.topic: is empty; leave the key out for its default`,
			`f:13: relays[4].review: is text, must be a mapping of keys`,
			`f:15: relays[5].review.enable: unknown key, did you mean "enabled"?`,
		}},
		{"quarantine topics", `
defaults: {endpoint: {url: 'http://x/'}, tiers: [5s]}
relays:
  - topic: a
    endpoint:
      rules:
        - {status: 415, action: dead_letter, dlt: "x!"}
        - {status: 422, action: dead_letter, dlt: ''}
`, []string{
			`f:7: relays[0].endpoint.rules[0].dlt: "x!" is not a topic name: Kafka allows letters, digits, ".", "_" and "-", at least one`,
			`f:8: relays[0].endpoint.rules[1].dlt: is empty; leave the key out for its default`,
		}},
		{"names that are too long", "relays:\n  - topic: a\n    name: " + strings.Repeat("n", 250) + "\n    endpoint: {url: 'http://x/'}\n    tiers: [5s]\n", []string{
			`f:3: relays[0].name: has 250 characters; a name has at most 249`,
		}},
		{"the longest names", "relays:\n  - topic: a\n    name: " + strings.Repeat("n", 249) + "\n    endpoint: {url: 'http://x/'}\n    tiers: [5s]\n", nil},
		{"a topic that is too long is no name besides", "relays:\n  - topic: " + strings.Repeat("n", 250) + "\n    prefix: a\n    endpoint: {url: 'http://x/'}\n    tiers: [5s]\n", []string{
			`f:2: relays[0].topic: "` + strings.Repeat("n", 40) + `"... is not a topic name: Kafka allows 249 characters, not 250`,
		}},
		{"every wrong status", "relays:\n  - topic: a\n    endpoint: {url: 'http://x/', success: [99, 200, 600, ok]}\n    tiers: [5s]\n", []string{
			`f:3: relays[0].endpoint.success[0]: 99 is no final HTTP status, must be 200 to 599`,
			`f:3: relays[0].endpoint.success[2]: 600 is no final HTTP status, must be 200 to 599`,
			`f:3: relays[0].endpoint.success[3]: is "ok", must be a whole number`,
		}},
		{"two ways to authenticate", "relays:\n  - topic: a\n    endpoint: {url: 'http://x/', bearer_token: hunter2, headers: {Authorization: hunter2}}\n    tiers: [5s]\n", []string{
			`f:3: relays[0].endpoint.headers.Authorization: only one of bearer_token, headers.Authorization may be set`,
		}},
		{"half a backoff", "relays:\n  - topic: a\n    endpoint: {url: 'http://x/'}\n    backoff: {base: 1s}\n", []string{
			`f:4: relays[0].backoff.attempts: missing: give the number of attempts; the one on the main topic counts`,
			`f:4: relays[0].backoff.factor: missing: give a number of at least 1; 1 makes all delays equal`,
			`f:4: relays[0].backoff.max: missing: give the longest delay`,
		}},
		{"names that are empty", "relays:\n  - topic: ''\n    name: ''\n    group: ''\n    prefix: ''\n    dlt: {topic: ''}\n    endpoint: {url: 'http://x/'}\n    tiers: [{delay: 5s, topic: ''}]\n", []string{
			`f:2: relays[0].topic: missing: name the main topic`,
			`f:3: relays[0].name: is empty; leave the key out for its default`,
			`f:4: relays[0].group: is empty; leave the key out for its default`,
			`f:5: relays[0].prefix: is empty; leave the key out for its default`,
			`f:6: relays[0].dlt.topic: is empty; leave the key out for its default`,
			`f:8: relays[0].tiers[0].topic: is empty; leave the key out for its default`,
		}},
		{"stop_timeout as written", "stop_timeout: 15s\n" + relay, []string{
			`f:1: stop_timeout: is 15s, must be more than 25s: the endpoint timeout of relay orders (10s) and 15s to forward and commit`,
		}},
		{"stop_timeout by default", "relays:\n  - topic: a\n    endpoint: {url: 'http://x/', timeout: 30s}\n    tiers: [5s]\n  - topic: b\n    endpoint:\n      url: http://x/\n      timeout: 40s\n    tiers: [5s]\n", []string{
			`f:8: relays[1].endpoint.timeout: stop_timeout (30s) must be more than 55s: the endpoint timeout of relay b (40s) and 15s to forward and commit; raise stop_timeout or lower this`,
		}},
		{"undefined variable", "relays:\n  - topic: ${TOPIC}\n    endpoint: {url: '${SCHEME}://x/'}\n    tiers: [5s, '${LAST']\n", []string{
			`f:2: relays[0].topic: environment variable TOPIC is not set`,
			`f:3: relays[0].endpoint.url: environment variable SCHEME is not set`,
			`f:4: relays[0].tiers[1]: has ${ without }; write $${ for the characters themselves`,
		}},
		{"defaults, each once and at its place", `
defaults:
  endpoint:
    url: http://x/
    timeout: 5
    max_in_flight: 0
  tiers: [1s, soon]
  groop: a
  jitter: much
relays:
  - topic: a
  - topic: b
    jitter: 0.1
`, []string{
			`f:5: defaults.endpoint.timeout: 5 has no unit; write 5s, or use ms, m or h`,
			`f:6: defaults.endpoint.max_in_flight: is 0, must be 1 to 10000`,
			`f:7: defaults.tiers[1]: "soon" is not a duration; use numbers with ms, s, m or h, such as 30s or 1m30s`,
			`f:8: defaults.groop: unknown key, did you mean "group"?`,
			`f:9: defaults.jitter: is "much", must be a number such as 0.2 or 1`,
		}},
		{"what is missing is missing in the relay", "defaults:\n  endpoint: {timeout: 1s}\n  tiers: [5s]\nrelays:\n  - topic: a\n", []string{
			`f:5: relays[0].endpoint.url: is required; want http://host:port/path, https://... or unix:///path.sock:/http/path`,
		}},
		{"defaults that are overridden are checked too", "defaults: {jitter: much, endpoint: 5}\n" + relay + "    jitter: 0.1\n", []string{
			`f:1: defaults.endpoint: is a number, must be a mapping of keys`,
			`f:1: defaults.jitter: is "much", must be a number such as 0.2 or 1`,
		}},
		{"defaults of a wrong type", "defaults: 5\n" + relay + "    budget: -1s\n", []string{
			`f:1: defaults: is a number, must be a mapping of keys`,
			`f:6: relays[0].budget: -1s is negative; leave it out for the sum of the waits and timeouts`,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, problems(t, tt.file, nil)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSharing(t *testing.T) {
	const defaults = "defaults: {endpoint: {url: 'http://x/'}, tiers: [1s, 2s]}\nrelays:\n"
	tests := []struct {
		name   string
		relays string
		want   []string
	}{
		{"nothing", "  - topic: a\n  - topic: b\n", nil},
		{"the main topic, and what derives from it, once", "  - topic: a\n  - topic: a\n", []string{
			`f:4: relays[1].topic: topic "a" belongs to relay a (main) and to relay a (relays[0], main); relays must not share a topic`,
		}},
		{"the name", "  - topic: a\n  - topic: b\n    name: a\n    group: g\n", []string{
			`f:5: relays[1].name: relays[0] is named "a" too; give each relay a name of its own`,
		}},
		{"the group", "  - topic: a\n    group: g\n  - topic: b\n    group: g\n", []string{
			`f:6: relays[1].group: group "g" belongs to relay b (main) and to relay a (relays[0], main); relays must not share a group`,
		}},
		{"a main group and a tier's", "  - topic: a\n    group: g\n  - topic: b\n    group: g-retry-a.retry.2\n", []string{
			`f:6: relays[1].group: group "g-retry-a.retry.2" belongs to relay b (main) and to relay a (relays[0], tier 2); relays must not share a group`,
		}},
		{"the prefix", "  - topic: a\n  - topic: b\n    prefix: a\n", []string{
			`f:5: relays[1].prefix: topic "a.retry.1" belongs to relay b (tier 1) and to relay a (relays[0], tier 1); relays must not share a topic`,
		}},
		{"a tier's topic", "  - topic: a\n  - topic: b\n    tiers: [{delay: 1s, topic: a.retry.2}]\n", []string{
			`f:5: relays[1].tiers[0].topic: topic "a.retry.2" belongs to relay b (tier 1) and to relay a (relays[0], tier 2); relays must not share a topic`,
		}},
		{"a tier's topic that is a main topic", "  - topic: a\n  - topic: a.retry.1\n", []string{
			`f:4: relays[1].topic: topic "a.retry.1" belongs to relay a.retry.1 (main) and to relay a (relays[0], tier 1); relays must not share a topic`,
		}},
		{"a park topic", "  - topic: a\n    park: [1h]\n  - topic: b\n    park: [{delay: 2h, topic: a.park.1h}]\n", []string{
			`f:6: relays[1].park[0].topic: topic "a.park.1h" belongs to relay b (park-2h) and to relay a (relays[0], park-1h); relays must not share a topic`,
		}},
		{"a park topic's group", "  - topic: a\n    group: g\n    park: [24h, 1h]\n  - topic: b\n    group: g-retry-a.park.24h\n", []string{
			`f:7: relays[1].group: group "g-retry-a.park.24h" belongs to relay b (main) and to relay a (relays[0], park-24h); relays must not share a group`,
		}},
		{"a park topic and a tier's within a relay", "  - topic: a\n    park: [24h, {delay: 1h, topic: a.retry.2}]\n", []string{
			`f:4: relays[0].park[1].topic: this relay uses topic "a.retry.2" twice (tier 2 and park-1h); give each a topic of its own`,
		}},
		{"a park topic that another relay would take for a retired tier", "  - topic: a\n  - topic: b\n    park: [{delay: 1h, topic: a.retry.9}]\n", []string{
			`f:5: relays[1].park[0].topic: topic "a.retry.9" (park-1h of relay b) is named like a tier of relay a (relays[0]), which would consume it as one; choose another name`,
		}},
		{"the dead-letter topic", "  - topic: a\n    dlt: {topic: dead}\n  - topic: b\n    dlt: {topic: dead}\n", []string{
			`f:6: relays[1].dlt.topic: topic "dead" belongs to relay b (dead letter) and to relay a (relays[0], dead letter); relays must not share a topic`,
		}},
		{"a dead-letter topic that is a main topic", "  - topic: a\n  - topic: a.DLT\n", []string{
			`f:4: relays[1].topic: topic "a.DLT" belongs to relay a.DLT (main) and to relay a (relays[0], dead letter); relays must not share a topic`,
		}},
		{"the review topic", "  - topic: a\n    review: {enabled: true}\n  - topic: b\n    review: {enabled: true, topic: a.review}\n", []string{
			`f:6: relays[1].review.topic: topic "a.review" belongs to relay b (review) and to relay a (relays[0], review); relays must not share a topic`,
		}},
		{"a review topic that is a main topic", "  - topic: a.review\n  - topic: a\n    review: {enabled: true}\n", []string{
			`f:4: relays[1].topic: topic "a.review" belongs to relay a (review) and to relay a.review (relays[0], main); relays must not share a topic`,
		}},
		{"a review topic that is not enabled", "  - topic: a.review\n  - topic: a\n", nil},
		{"a review topic and a dead-letter topic, a tier's, a park topic, or main", "  - topic: a\n    review: {enabled: true, topic: a.DLT}\n" +
			"  - topic: b\n    review: {enabled: true, topic: b.retry.2}\n" +
			"  - topic: c\n    park: [1h]\n    review: {enabled: true, topic: c.park.1h}\n" +
			"  - topic: d\n    review: {enabled: true, topic: d}\n", []string{
			`f:4: relays[0].review.topic: this relay uses topic "a.DLT" twice (dead letter and review); give each a topic of its own`,
			`f:6: relays[1].review.topic: this relay uses topic "b.retry.2" twice (tier 2 and review); give each a topic of its own`,
			`f:9: relays[2].review.topic: this relay uses topic "c.park.1h" twice (park-1h and review); give each a topic of its own`,
			`f:11: relays[3].review.topic: this relay uses topic "d" twice (main and review); give each a topic of its own`,
		}},
		{"a review topic that another relay would take for a retired tier", "  - topic: a\n  - topic: b\n    review: {enabled: true, topic: a.retry.9}\n", []string{
			`f:5: relays[1].review.topic: topic "a.retry.9" (review of relay b) is named like a tier of relay a (relays[0]), which would consume it as one; choose another name`,
		}},
		{"a quarantine topic that several rules name", "  - topic: a\n    endpoint: {rules: [{status: 415, action: dead_letter, dlt: q}, {status: 422, action: dead_letter, dlt: q}]}\n", nil},
		{"a quarantine topic", "  - topic: a\n    endpoint: {rules: [{status: 415, action: dead_letter, dlt: q}]}\n" +
			"  - topic: b\n    endpoint: {rules: [{status: 409, action: done}, {status: 415, action: dead_letter, dlt: q}]}\n", []string{
			`f:6: relays[1].endpoint.rules[1].dlt: topic "q" belongs to relay b (quarantine) and to relay a (relays[0], quarantine); relays must not share a topic`,
		}},
		{"a quarantine topic and another one within a relay", "  - topic: a\n    review: {enabled: true}\n    endpoint:\n      rules:\n" +
			"        - {status: 410, action: dead_letter, dlt: a.DLT}\n        - {status: 415, action: dead_letter, dlt: a.review}\n" +
			"        - {status: 422, action: dead_letter, dlt: a.retry.1}\n", []string{
			`f:7: relays[0].endpoint.rules[0].dlt: this relay uses topic "a.DLT" twice (dead letter and quarantine); give each a topic of its own`,
			`f:8: relays[0].endpoint.rules[1].dlt: this relay uses topic "a.review" twice (review and quarantine); give each a topic of its own`,
			`f:9: relays[0].endpoint.rules[2].dlt: this relay uses topic "a.retry.1" twice (tier 1 and quarantine); give each a topic of its own`,
		}},
		{"a quarantine topic that another relay would take for a retired tier", "  - topic: a\n  - topic: b\n    endpoint: {rules: [{status: 415, action: dead_letter, dlt: a.retry.9}]}\n", []string{
			`f:5: relays[1].endpoint.rules[0].dlt: topic "a.retry.9" (quarantine of relay b) is named like a tier of relay a (relays[0]), which would consume it as one; choose another name`,
		}},
		{"the control topic", "  - topic: a\n    dlt: {topic: retryd.control}\n  - topic: b\n    park: [{delay: 1h, topic: retryd.control}]\n", []string{
			`f:4: relays[0].dlt.topic: topic "retryd.control" (dead letter of relay a) is topics.control, which says what relays are paused; choose another name`,
			`f:6: relays[1].park[0].topic: topic "retryd.control" (park-1h of relay b) is topics.control, which says what relays are paused; choose another name`,
			`f:6: relays[1].park[0].topic: topic "retryd.control" belongs to relay b (park-1h) and to relay a (relays[0], dead letter); relays must not share a topic`,
		}},
		{"by the defaults", "  - topic: a\n  - topic: b\n", nil},
		{"what counts as a retired tier", "  - topic: a\n  - topic: b\n    tiers: [{delay: 1s, topic: a.retry.3}]\n  - topic: a.retry.14\n", []string{
			`f:5: relays[1].tiers[0].topic: topic "a.retry.3" (tier 1 of relay b) is named like a tier of relay a (relays[0]), which would consume it as one; choose another name`,
			`f:6: relays[2].topic: topic "a.retry.14" (main of relay a.retry.14) is named like a tier of relay a (relays[0]), which would consume it as one; choose another name`,
		}},
		{"a name that a tier could have had", "  - topic: a\n    tiers: [{delay: 1s, topic: mine}]\n  - topic: b\n    dlt: {topic: a.retry.1}\n", []string{
			`f:6: relays[1].dlt.topic: topic "a.retry.1" (dead letter of relay b) is named like a tier of relay a (relays[0]), which would consume it as one; choose another name`,
		}},
		{"what counts as a retired tier of a later relay", "  - topic: b\n    dlt: {topic: a.retry.3}\n  - topic: a\n", []string{
			`f:4: relays[0].dlt.topic: topic "a.retry.3" (dead letter of relay b) is named like a tier of relay a (relays[1]), which would consume it as one; choose another name`,
		}},
		{"what is no retired tier", "  - topic: a\n    tiers: [{delay: 1s, topic: a.retry.5}]\n  - topic: a.retry.15\n", nil},
		{"a shared prefix is said once", "  - topic: a\n  - topic: b\n    prefix: a\n    tiers: [1s, 2s, 3s]\n", []string{
			`f:5: relays[1].prefix: topic "a.retry.1" belongs to relay b (tier 1) and to relay a (relays[0], tier 1); relays must not share a topic`,
		}},
		{"within a relay", "  - topic: a\n    tiers: [{delay: 1s, topic: x}, {delay: 2s, topic: x}]\n    dlt: {topic: a}\n", []string{
			`f:4: relays[0].tiers[1].topic: this relay uses topic "x" twice (tier 1 and tier 2); give each a topic of its own`,
			`f:5: relays[0].dlt.topic: this relay uses topic "a" twice (main and dead letter); give each a topic of its own`,
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, problems(t, defaults+tt.relays, nil)); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestControlTopic(t *testing.T) {
	tests := []struct{ topics, want string }{
		{"{control: ours.control}", ""},
		{"{control: ''}", `f:1: topics.control: is empty; leave the key out for its default`},
		{"{control: 'a b'}", `f:1: topics.control: "a b" is not a topic name: Kafka allows letters, digits, ".", "_" and "-", at least one`},
		{"{control: orders}", `f:3: relays[0].topic: topic "orders" (main of relay orders) is topics.control, which says what relays are paused; choose another name`},
		{"{control: orders.retry.9}", `f:1: topics.control: topic "orders.retry.9" is named like a tier of relay orders (relays[0]), which would consume it as one; choose another name`},
	}
	for _, tt := range tests {
		t.Run(tt.topics, func(t *testing.T) {
			got := strings.Join(problems(t, "topics: "+tt.topics+"\n"+relay, nil), "\n")
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func TestSharingByTheDefaultsIsReportedThere(t *testing.T) {
	got := problems(t, "defaults: {endpoint: {url: 'http://x/'}, tiers: [1s]}\nrelays:\n  - topic: a\n  - topic: b\n", environ(map[string]string{
		"RETRYD_DEFAULTS_GROUP": "g",
	}))
	want := []string{
		`environment RETRYD_DEFAULTS_GROUP: defaults.group: group "g" belongs to relay b (main) and to relay a (relays[0], main); relays must not share a group`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestProblemsNeverShowSecrets(t *testing.T) {
	const secret = "hunter2"
	values := []string{
		"[hunter2]", "{hunter2: x}", "{x: hunter2}", "*hunter2", "!hunter2", "!hunter2 x", "&a [hunter2]", "@hunter2", "%hunter2",
		"`hunter2", "'hunter2", "\"hunter2", "hunter2: x", "{hunter2", "[hunter2", "pa${hunter2", "${hun-hunter2}", "\"\\hunter2\"",
		"!!int hunter2", "!!binary hunter2", "\"hunter2\\n\"", "hunter2\x01", "hunter2\xff", "|hunter2", ">hunter2", "? hunter2",
	}
	keys := []string{"bearer_token: ", "proxy: ", "signing:\n        secrets: ", "signing:\n        secrets:\n          - ", "headers: ", "headers:\n        Authorization: ", "basic:\n        password: "}
	for _, key := range keys {
		for _, value := range values {
			file := "relays:\n  - topic: a\n    tiers: [5s]\n    endpoint:\n      url: http://x/\n      " + key + value + "\n"
			got := strings.Join(problems(t, file, nil), "\n")
			keyed := strings.HasPrefix(key, "headers: ") && strings.HasPrefix(value, "{hunter2") // there it is a header's name
			if strings.Contains(got, secret) && !keyed {
				t.Errorf("%s%s:\n%s", key, value, got)
			}
		}
	}
}
