package config

import (
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// envFile gives every relay key by the defaults, so that a variable that sets one
// of the defaults shows in the relay.
const envFile = `
defaults: {topic: a, endpoint: {url: "http://x/"}}
relays: [{}]
`

func TestEnvironmentSetsEveryKeyOutsideLists(t *testing.T) {
	tests := map[string]struct{ value, want string }{
		"kafka.brokers":                                {"k1:9092, k2:9092", "[k1:9092 k2:9092]"},
		"kafka.session_timeout":                        {"6s", "6s"},
		"kafka.client_id":                              {"other", "other"},
		"kafka.instance_id":                            {"host-1", "host-1"},
		"kafka.partition_assignment":                   {"cooperative-sticky", "cooperative-sticky"},
		"topics.create":                                {"false", "false"},
		"redact.headers":                               {"authorization,x-user-*", "[authorization x-user-*]"},
		"redact.json_paths":                            {"$..password, $.a['b']", "[$..password $.a['b']]"},
		"topics.control":                               {"ours.control", "ours.control"},
		"window.records":                               {"7", "7"},
		"window.bytes":                                 {"3MiB", "3MiB"},
		"window.horizon":                               {"9s", "9s"},
		"state_dir":                                    {"/var/lib/retryd", "/var/lib/retryd"},
		"stop_timeout":                                 {"1h", "1h0m0s"},
		"admin.listen":                                 {":1", ":1"},
		"admin.pprof":                                  {"true", "true"},
		"log.level":                                    {"debug", "debug"},
		"log.format":                                   {"json", "json"},
		"defaults.topic":                               {"b", "b"},
		"defaults.name":                                {"n", "n"},
		"defaults.group":                               {"g", "g"},
		"defaults.prefix":                              {"p", "p"},
		"defaults.start":                               {"2026-01-31T08:00:00Z", "2026-01-31T08:00:00Z"},
		"defaults.consume":                             {"false", "false"},
		"defaults.ordering":                            {"key", "key"},
		"defaults.event_id_headers":                    {"x,<y>/<z>", "[x <y>/<z>]"},
		"defaults.endpoint.url":                        {"http://y/", "http://y/"},
		"defaults.endpoint.content_type":               {"text/plain", "text/plain"},
		"defaults.endpoint.timeout":                    {"3s", "3s"},
		"defaults.endpoint.idle_timeout":               {"2s", "2s"},
		"defaults.endpoint.max_in_flight":              {"3", "3"},
		"defaults.endpoint.limited_attempts":           {"5", "5"},
		"defaults.endpoint.success":                    {"200,404", "[200 404]"},
		"defaults.endpoint.max_retry_after":            {"1h", "1h0m0s"},
		"defaults.endpoint.bearer_token":               {"4711", "4711"},
		"defaults.endpoint.bearer_token_file":          {"/t", "/t"},
		"defaults.endpoint.basic.username":             {"u", "u"},
		"defaults.endpoint.basic.password":             {"true", "true"},
		"defaults.endpoint.basic.password_file":        {"/p", "/p"},
		"defaults.endpoint.forward_headers":            {"h", "[h]"},
		"defaults.endpoint.capture_response":           {"false", "false"},
		"defaults.endpoint.app_version_header":         {"x-v", "x-v"},
		"defaults.endpoint.breaker.enabled":            {"false", "false"},
		"defaults.endpoint.breaker.window":             {"3s", "3s"},
		"defaults.endpoint.breaker.min_calls":          {"3", "3"},
		"defaults.endpoint.breaker.failure_share":      {"0.25", "0.25"},
		"defaults.endpoint.breaker.probe_interval":     {"3s", "3s"},
		"defaults.endpoint.breaker.max_probe_interval": {"3m", "3m0s"},
		"defaults.endpoint.breaker.ramp":               {"3s", "3s"},
		"defaults.endpoint.rate.per_second":            {"2.5", "2.5"},
		"defaults.endpoint.rate.burst":                 {"3", "3"},
		"defaults.endpoint.adaptive":                   {"true", "true"},
		"defaults.endpoint.retry_share":                {"0.25", "0.25"},
		"defaults.tiers":                               {"auto", "{true []}"},
		"defaults.backoff.base":                        {"1s", "1s"},
		"defaults.backoff.factor":                      {"1.5", "1.5"},
		"defaults.backoff.max":                         {"1m", "1m0s"},
		"defaults.backoff.attempts":                    {"4", "4"},
		"defaults.park":                                {"24h, 1h", "[{24h0m0s } {1h0m0s }]"},
		"defaults.jitter":                              {"0.5", "0.5"},
		"defaults.budget":                              {"2m", "2m0s"},
		"defaults.lifetime":                            {"3h", "3h0m0s"},
		"defaults.expire_after":                        {"4h", "4h0m0s"},
		"defaults.review.enabled":                      {"true", "true"},
		"defaults.review.topic":                        {"v", "v"},
		"defaults.in_place.attempts":                   {"3", "3"},
		"defaults.in_place.delay":                      {"2s", "2s"},
		"defaults.on_exhausted":                        {"repeat_last", "repeat_last"},
		"defaults.max_unfinished":                      {"7", "7"},
		"defaults.max_replays":                         {"0", "0"},
		"defaults.dlt.topic":                           {"d", "d"},
		"defaults.endpoint.tls.ca_file":                {"/ca", "/ca"},
		"defaults.endpoint.tls.cert_file":              {"/c", "/c"},
		"defaults.endpoint.tls.key_file":               {"/k", "/k"},
		"defaults.endpoint.tls.server_name":            {"h", "h"},
		"defaults.endpoint.proxy":                      {"http://p:1", "http://p:1"},
		"defaults.endpoint.signing.secrets":            {"whsec_a, whsec_b", "[*** ***]"},
		"defaults.endpoint.signing.secrets_file":       {"/s", "/s"},
		"defaults.endpoint.health":                     {"http://h/", "http://h/"},
	}
	keys := leaves(schema)
	if len(keys) != len(tests) {
		t.Errorf("%d keys, %d tests", len(keys), len(tests))
	}
	for _, key := range keys {
		t.Run(key, func(t *testing.T) {
			tt, ok := tests[key]
			if !ok {
				t.Fatal("no test for this key")
			}
			name := "RETRYD_" + strings.ToUpper(strings.ReplaceAll(key, ".", "_"))
			l := &loader{file: "f", env: newEnvironment([]string{name + "=" + tt.value})}
			cfg := l.load([]byte(envFile))
			if err := l.err(); err != nil {
				t.Fatal(err)
			}
			all := values(reflect.ValueOf(*cfg), "")
			maps.Copy(all, values(reflect.ValueOf(cfg.Relays[0]), "defaults."))
			if all[key] != tt.want {
				t.Errorf("%s=%s gives %s, want %s", name, tt.value, all[key], tt.want)
			}
		})
	}
}

// values prints every field under its key path; a secret shows, as reflection asks
// no method of it.
func values(v reflect.Value, prefix string) map[string]string {
	all := map[string]string{}
	for i := range v.NumField() {
		f, tag := v.Field(i), v.Type().Field(i).Tag.Get("mapstructure")
		switch {
		case tag == ",squash":
			maps.Copy(all, values(f, prefix))
		case nested(f.Type()):
			maps.Copy(all, values(f, prefix+tag+"."))
		case f.Kind() == reflect.String:
			all[prefix+tag] = f.String()
		default:
			all[prefix+tag] = fmt.Sprint(f.Interface())
		}
	}
	return all
}

func TestEnvironmentVariablesOfKeysDiffer(t *testing.T) {
	seen := map[string]string{}
	for _, key := range leaves(schema) {
		if other, taken := seen[variable(key)]; taken {
			t.Errorf("%s sets both %s and %s", variable(key), other, key)
		}
		seen[variable(key)] = key
	}
}

func TestEnvironmentPrecedence(t *testing.T) {
	const text = `
admin: {listen: "127.0.0.1:1"}
defaults: {endpoint: {url: "http://x/", timeout: 1s}, tiers: [5s]}
relays:
  - {topic: a, endpoint: {timeout: 2s}}
  - {topic: b}
`
	cfg := mustParse(t, text, environ(map[string]string{
		"RETRYD_ADMIN_LISTEN":              "127.0.0.1:2",
		"RETRYD_DEFAULTS_ENDPOINT_TIMEOUT": "3s",
		"RETRYD_LOG_LEVEL":                 "", // counts as not set
	}))
	got := []string{cfg.Admin.Listen, cfg.Relays[0].Endpoint.Timeout.String(), cfg.Relays[1].Endpoint.Timeout.String(), cfg.Log.Level}
	want := []string{"127.0.0.1:2", "2s", "3s", "info"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
}

func TestEnvironmentProblemsNameTheVariable(t *testing.T) {
	got := problems(t, "relays: [{topic: a, endpoint: {url: 'http://x/'}, tiers: [5s]}]\n", environ(map[string]string{
		"RETRYD_ADMIN_LISTEN":              "nine",
		"RETRYD_STOP_TIMEOUT":              "30",
		"RETRYD_WINDOW_RECORDS":            "many",
		"RETRYD_RELAYS_0_GROUP":            "g",
		"RETRYD_RELAYS_0_ENDPOINT_TIMEOUT": "5s",
		"RETRYD_RELAYS_1_GROUP":            "there is no such relay",
		"RETRYD_DEFAULTS_EVENT_ID_HEADERS": "x,<y",
	}))
	want := []string{
		`environment RETRYD_ADMIN_LISTEN: admin.listen: "nine" is not host:port, as in 127.0.0.1:9464`,
		`environment RETRYD_DEFAULTS_EVENT_ID_HEADERS: defaults.event_id_headers: event id source "<y" is neither a header name nor two as <first>/<second>`,
		`environment RETRYD_RELAYS_0_ENDPOINT_TIMEOUT: a key in a list cannot be set by environment; write ${SOME_VARIABLE} as its value in the file`,
		`environment RETRYD_RELAYS_0_GROUP: a key in a list cannot be set by environment; write ${SOME_VARIABLE} as its value in the file`,
		`environment RETRYD_RELAYS_1_GROUP: a key in a list cannot be set by environment; write ${SOME_VARIABLE} as its value in the file`,
		`environment RETRYD_STOP_TIMEOUT: stop_timeout: 30 has no unit; write 30s, or use ms, m or h`,
		`environment RETRYD_WINDOW_RECORDS: window.records: is "many", must be a whole number`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestEnvironmentVariableOfNoKeyIsRefused(t *testing.T) {
	got := problems(t, relay+"    name: ${RETRYD_NAME}\n", environ(map[string]string{
		"RETRYD_ADMIN_LISTENS":             ":1",
		"RETRYD_LOGLEVEL":                  "debug",
		"RETRYD_BROKERS":                   "a:1",
		"RETRYD_ENDPOINT_TIMEOUT":          "1s",
		"RETRYD_DEFAULTS_ENDPOINT_HEADERS": "a: b",
		"RETRYD_ADMIN_PORT":                "9464",
		"RETRYD_SOMETHING_ELSE":            "x",
		"RETRYD_":                          "x",
		// These set nothing and are none of ours.
		"RETRYD_NAME":                     "a", // the file refers to it
		"RETRYD_EMPTY":                    "",
		"RETRYD":                          "x",
		"MY_RETRYD_URL":                   "x",
		"RETRYD_SERVICE_HOST":             "10.0.0.1", // Kubernetes, for a service of this name
		"RETRYD_SERVICE_PORT_METRICS":     "9464",
		"RETRYD_PORT":                     "tcp://10.0.0.1:9464",
		"RETRYD_LOANS_SERVICE_HOST":       "10.0.0.1",
		"RETRYD_LOANS_PORT_9464_TCP":      "tcp://10.0.0.1:9464",
		"RETRYD_LOANS_PORT_9464_TCP_ADDR": "10.0.0.1",
	}))
	want := []string{
		`environment RETRYD_: is the variable of no key; unset it, or refer to it in the file`,
		`environment RETRYD_ADMIN_LISTENS: is the variable of no key, did you mean RETRYD_ADMIN_LISTEN?`,
		`environment RETRYD_ADMIN_PORT: is the variable of no key; unset it, or refer to it in the file`,
		`environment RETRYD_BROKERS: is the variable of no key, did you mean RETRYD_KAFKA_BROKERS?`,
		`environment RETRYD_DEFAULTS_ENDPOINT_HEADERS: is the variable of no key; unset it, or refer to it in the file`,
		`environment RETRYD_ENDPOINT_TIMEOUT: is the variable of no key, did you mean RETRYD_DEFAULTS_ENDPOINT_TIMEOUT?`,
		`environment RETRYD_LOGLEVEL: is the variable of no key, did you mean RETRYD_LOG_LEVEL?`,
		`environment RETRYD_SOMETHING_ELSE: is the variable of no key; unset it, or refer to it in the file`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("problems (-want +got):\n%s", diff)
	}
}

func TestExpand(t *testing.T) {
	getenv := newEnvironment(environ(map[string]string{"HOST": "h", "PORT_2": "1", "NESTED": "${HOST}", "EMPTY": ""})).refer
	tests := []struct {
		name    string
		in      string
		want    string
		problem string
	}{
		{"nothing to expand", "a.b", "a.b", ""},
		{"variables", "${HOST}:${PORT_2}", "h:1", ""},
		{"a value is not expanded again", "${NESTED}", "${HOST}", ""},
		{"empty variable", "a${EMPTY}b", "ab", ""},
		{"literal dollar", "$$5 $${HOST} $$$$", "$5 ${HOST} $$", ""},
		{"dollar followed by a variable", "$$${HOST}", "$h", ""},
		{"lonely dollar", "a$b $", "a$b $", ""},
		{"undefined", "${NONE}", "", "environment variable NONE is not set"},
		{"not closed", "a${HOST", "", "has ${ without }; write $${ for the characters themselves"},
		{"no name", "${}", "", "has ${...} around what is no variable name; write $${ for the characters themselves"},
		{"shell default", "${HOST:-x}", "", "has ${...} around what is no variable name; write $${ for the characters themselves"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := expand(tt.in, getenv)
			problem := ""
			if err != nil {
				problem = err.Error()
			}
			if got != tt.want || problem != tt.problem {
				t.Errorf("expand(%q) = %q, %q; want %q, %q", tt.in, got, problem, tt.want, tt.problem)
			}
		})
	}
}

func TestVariablesServeEveryType(t *testing.T) {
	cfg := mustParse(t, `
kafka: {brokers: "${BROKERS}"}
window: {bytes: "${BYTES}"}
topics: {create: "${CREATE}"}
relays:
  - topic: "${TENANT}.orders"
    jitter: ${JITTER}
    endpoint: {url: "http://${HOST}/", max_in_flight: "${N}", timeout: "${TIMEOUT}", bearer_token: "${TOKEN}"}
    tiers: [1s, "${LAST}"]
`, environ(map[string]string{
		"BROKERS": "a:1,b:2", "BYTES": "1GiB", "CREATE": "false", "TENANT": "acme", "JITTER": "0.1",
		"HOST": "h", "N": "3", "TIMEOUT": "4s", "TOKEN": "007", "LAST": "1m",
	}))
	r := cfg.Relays[0]
	got := fmt.Sprintln(cfg.Kafka.Brokers, cfg.Window.Bytes, cfg.Topics.Create, r.Topic, r.Policy.Jitter, r.Endpoint.URL,
		r.Endpoint.MaxInFlight, r.Endpoint.Timeout, r.Policy.Tiers.List[1].Delay, r.Endpoint.BearerToken.Reveal())
	if want := "[a:1 b:2] 1GiB false acme.orders 0.1 http://h/ 3 4s 1m0s 007\n"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
