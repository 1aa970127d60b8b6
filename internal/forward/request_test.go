package forward

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/valyala/fasthttp"

	"github.com/retryd/retryd/internal/record"
)

func header(key, value string) record.Header {
	return record.Header{Key: []byte(key), Value: []byte(value)}
}

// fullRequest is a record on its third attempt, with everything that it may carry.
func fullRequest() Request {
	return Request{
		Record: &record.Record{
			Topic: "library.loan.overdue.retry.2", Partition: 4, Offset: 7,
			Timestamp: time.UnixMilli(1_700_000_009_000),
			Key:       []byte("loan-17"), Value: []byte("{\"a\":\x00\xff}\r\n"),
			Headers: []record.Header{
				header("Content-TYPE", "application/json"),
				header("traceparent", "00-abc-def-01"),
				header("ce_id", "c-1"),
				header("CE_Source", "/library"),
				header("x-foreign", "not listed"),
				header("x-replay-count", "2"),
			},
		},
		State: &record.State{
			Attempt: 2, EventID: "library.loan.overdue/4/42@1700000000123",
			FirstFailure: time.UnixMilli(1_700_000_001_500),
			Origin: record.Position{Topic: "library.loan.overdue", Partition: 4, Offset: 42,
				Timestamp: time.UnixMilli(1_700_000_000_123)},
		},
	}
}

// recorder is a connection that notes what is written to it.
type recorder struct {
	net.Conn
	out    bytes.Buffer
	writes int
}

func (r *recorder) Write(p []byte) (int, error) {
	r.writes++
	return r.out.Write(p)
}

// bytesOf returns what is written for a request: the same as by fasthttp itself,
// which would copy the body.
func bytesOf(t testing.TB, c *Client, r Request) string {
	t.Helper()
	req := fasthttp.AcquireRequest()
	defer fasthttp.ReleaseRequest(req)
	c.build(req, r, time.Now())
	var out recorder
	if err := newConn(&out).write(&req.Header, req.Body()); err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	if _, err := req.WriteTo(&want); err != nil {
		t.Fatal(err)
	}
	if got := out.out.String(); got != want.String() {
		t.Fatalf("request %q, want %q", got, want.String())
	}
	return out.out.String()
}

func TestRequestOnTheWire(t *testing.T) {
	tests := []struct {
		name    string
		config  Config
		request Request
		want    string
	}{
		{
			name: "minimal", config: Config{URL: "http://127.0.0.1:8080"},
			request: Request{
				Record: &record.Record{Value: []byte("v")},
				State:  &record.State{EventID: "e", Origin: record.Position{Topic: "t"}}, // a time that nobody can believe is absent
			},
			want: "POST / HTTP/1.1\r\nUser-Agent: retryd/1.2.3 (library)\r\nHost: 127.0.0.1:8080\r\n" +
				"Content-Type: application/octet-stream\r\nContent-Length: 1\r\n" +
				"Idempotency-Key: e\r\nRetryd-Attempt: 1\r\nRetryd-Topic: t\r\nRetryd-Partition: 0\r\n" +
				"Retryd-Offset: 0\r\n\r\nv",
		},
		{
			name: "full",
			config: Config{URL: "https://Example.com/loans/a%2Fb//c?x=%20y", BearerToken: "tok",
				Headers: map[string]Secret{"x-api-key": "k1", "a-first": "k0"}},
			request: fullRequest(),
			want: "POST /loans/a%2Fb//c?x=%20y HTTP/1.1\r\nUser-Agent: retryd/1.2.3 (library)\r\nHost: Example.com\r\n" +
				"Content-Type: application/json\r\nContent-Length: 10\r\n" +
				"Idempotency-Key: library.loan.overdue/4/42@1700000000123\r\nRetryd-Attempt: 3\r\n" +
				"Retryd-Topic: library.loan.overdue\r\nRetryd-Partition: 4\r\nRetryd-Offset: 42\r\n" +
				"Retryd-Timestamp: 1700000000123\r\nRetryd-First-Failure-At: 1700000001500\r\n" +
				"Retryd-Key: loan-17\r\nRetryd-Replay-Count: 2\r\n" +
				"traceparent: 00-abc-def-01\r\nce-id: c-1\r\nce-Source: /library\r\n" +
				"A-First: k0\r\nX-Api-Key: k1\r\nAuthorization: Bearer tok\r\n\r\n" +
				"{\"a\":\x00\xff}\r\n",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := newClient(t, tt.config.URL, func(c *Config) { c.BearerToken, c.Headers = tt.config.BearerToken, tt.config.Headers })
			if diff := cmp.Diff(tt.want, bytesOf(t, c, tt.request)); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
		})
	}
}

// A pooled request must carry nothing over, and the wire must show what build made.
func TestRequestsLeaveNothingForTheNextOne(t *testing.T) {
	var seen []string
	s := serveWire(t, func(_ *wireServer, nc net.Conn, r *bufio.Reader) {
		for {
			req, err := http.ReadRequest(r)
			if err != nil {
				return
			}
			body, _ := io.ReadAll(req.Body)
			seen = append(seen, req.Header.Get("Retryd-Key")+"|"+req.Header.Get("Content-Length")+"|"+
				req.Header.Get("Retryd-Tombstone")+"|"+req.Header.Get("Ce-Id")+"|"+string(body))
			_, _ = io.WriteString(nc, ok)
		}
	})
	c := newClient(t, s.url)
	c.Attempt(t.Context(), fullRequest())
	for _, value := range [][]byte{nil, {}, []byte("x")} {
		post(t, c, value)
	}
	want := []string{"loan-17|10||c-1|{\"a\":\x00\xff}\r\n", "|0|true||", "|0|||", "|1|||x"}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestKeyTravelsUnchanged(t *testing.T) {
	tests := []struct {
		name     string
		key      []byte
		want     []string
		encoding string
	}{
		{"null", nil, nil, ""},
		{"empty", []byte{}, []string{""}, ""},
		{"plain", []byte("loan 17/a:b"), []string{"loan 17/a:b"}, ""},
		{"blank at the end", []byte("a "), []string{"YSA="}, "base64"},
		{"line break", []byte("a\r\nX: y"), []string{"YQ0KWDogeQ=="}, "base64"},
		{"binary", []byte{0, 1, 0xff}, []string{"AAH/"}, "base64"},
		{"utf-8", []byte("ü"), []string{"w7w="}, "base64"},
	}
	c := newClient(t, "http://127.0.0.1/")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := fullRequest()
			r.Record.Key = tt.key
			got := parse(t, bytesOf(t, c, r)).Header
			if diff := cmp.Diff(tt.want, got["Retryd-Key"]); diff != "" || got.Get("Retryd-Key-Encoding") != tt.encoding {
				t.Errorf("Retryd-Key %q, encoding %q", got["Retryd-Key"], got.Get("Retryd-Key-Encoding"))
			}
		})
	}
}

func TestForwardedHeaders(t *testing.T) {
	all := []string{"*"}
	tests := []struct {
		name     string
		patterns []string
		header   record.Header
		want     string // name: value; empty if it is not sent
	}{
		{"listed", []string{"x-tenant"}, header("X-Tenant", "a"), "X-Tenant: a"},
		{"not listed", []string{"x-tenant"}, header("x-tenants", "a"), ""},
		{"prefix", []string{"x-*"}, header("x-tenant", "a"), "x-tenant: a"},
		{"prefix alone", []string{"x-*"}, header("x-", "a"), "x-: a"},
		{"empty value", all, header("x", ""), "x: "},
		{"null value", all, record.Header{Key: []byte("x")}, ""},
		{"cloud event", []string{"ce_*"}, header("ce_time", "a"), "ce-time: a"},
		{"value with a line break", all, header("x", "a\r\nHost: b"), ""},
		{"value with a nul", all, header("x", "a\x00"), ""},
		{"value in utf-8", all, header("x", "ü"), ""},
		{"name with a line break", all, header("x\r\nHost", "b"), ""},
		{"name with a colon", all, header("x: y", "b"), ""},
		{"no name", all, header("", "b"), ""},
		{"hop by hop", all, header("connection", "x-api-key"), ""},
		{"framing", all, header("Transfer-Encoding", "chunked"), ""},
		{"trailer", all, header("Trailer", "x"), ""},
		{"host", all, header("hOST", "evil"), ""},
		{"length", all, header("content_length", "0"), ""},
		{"cookie", all, header("cookie", "a=b"), ""},
		{"authorization", all, header("Authorization", "Basic x"), ""},
		{"expect", all, header("expect", "100-continue"), ""},
		{"of the contract", all, header("retryd-attempt", "1"), ""},
		{"of the contract, as cgi spells it", all, header("RETRYD_ATTEMPT", "1"), ""},
		{"of a signature", all, header("Webhook-Signature", "v1,x"), ""},
		{"of a signature, as cgi spells it", all, header("WEBHOOK_ID", "x"), ""},
		{"idempotency key", all, header("idempotency-key", "x"), ""},
		{"user agent", all, header("user-agent", "x"), ""},
		{"a credential", all, header("x_api_key", "forged"), ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := newClient(t, "http://127.0.0.1/", func(c *Config) {
				c.ForwardHeaders, c.Headers = tt.patterns, map[string]Secret{"X-Api-Key": "k"}
			})
			r := fullRequest()
			r.Record.Headers = nil
			without := bytesOf(t, c, r)
			r.Record.Headers = []record.Header{tt.header}
			want := without
			if tt.want != "" {
				want = strings.Replace(without, "X-Api-Key", tt.want+"\r\nX-Api-Key", 1)
			}
			if diff := cmp.Diff(want, bytesOf(t, c, r)); diff != "" {
				t.Errorf("request (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRepeatedHeadersAreAllForwarded(t *testing.T) {
	c := newClient(t, "http://127.0.0.1/", func(c *Config) { c.ForwardHeaders = []string{"x"} })
	r := fullRequest()
	r.Record.Headers = []record.Header{header("x", "1"), header("x", "2"), header("x", "1")}
	if got := parse(t, bytesOf(t, c, r)).Header["X"]; !cmp.Equal(got, []string{"1", "2", "1"}) {
		t.Errorf("x: %q", got)
	}
}

func TestContentTypeOfTheRecordWins(t *testing.T) {
	c := newClient(t, "http://127.0.0.1/", func(c *Config) { c.ContentType = "text/plain" })
	tests := []struct {
		name    string
		headers []record.Header
		want    string
	}{
		{"none", nil, "text/plain"},
		{"one", []record.Header{header("CONTENT-TYPE", "a/b; c=d")}, "a/b; c=d"},
		{"two", []record.Header{header("content-type", "a/b"), header("content-type", "c/d")}, "c/d"},
		{"empty", []record.Header{header("content-type", "")}, "text/plain"},
		{"unsafe", []record.Header{header("content-type", "a/b\nX: y")}, "text/plain"},
	}
	for _, tt := range tests {
		r := fullRequest()
		r.Record.Headers = tt.headers
		if got := parse(t, bytesOf(t, c, r)).Header["Content-Type"]; !cmp.Equal(got, []string{tt.want}) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestReplayCount(t *testing.T) {
	for value, want := range map[string]int64{"1": 1, "1000000": 1_000_000, "0": 0, "-1": 0, "1000001": 0, "9999999999": 0, "x": 0, "": 0} {
		if got := replayCount([]record.Header{header("x-replay-count", value)}); got != want {
			t.Errorf("%q: %d, want %d", value, got, want)
		}
	}
}

func TestCredentialsAreSent(t *testing.T) {
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte("from-file\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	basic := func(password string) string {
		return "Basic " + base64.StdEncoding.EncodeToString([]byte("u:"+password))
	}
	for want, change := range map[string]func(*Config){
		"Bearer tok":       func(c *Config) { c.BearerToken = "tok" },
		"Bearer from-file": func(c *Config) { c.BearerTokenFile = file },
		basic("p:ü"):       func(c *Config) { c.Basic = Basic{Username: "u", Password: "p:ü"} },
		basic("from-file"): func(c *Config) { c.Basic = Basic{Username: "u", PasswordFile: file} },
		"Own scheme":       func(c *Config) { c.Headers = map[string]Secret{"authorization": "Own scheme"} },
	} {
		c := newClient(t, "http://127.0.0.1/", change)
		if got := parse(t, bytesOf(t, c, fullRequest())).Header["Authorization"]; !cmp.Equal(got, []string{want}) {
			t.Errorf("Authorization: %q, want %q", got, want)
		}
	}
}

func TestUserAgentHoldsAnyName(t *testing.T) {
	if got, want := userAgent("a (b)\\\r\nX: ü", "1 2"), "retryd/1_2 (a__b____X:__)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestRequestIsBuiltWithoutAllocation(t *testing.T) {
	c := newClient(t, "http://127.0.0.1/", func(c *Config) { c.BearerToken = "tok" })
	r := fullRequest()
	var req fasthttp.Request
	allocs := testing.AllocsPerRun(100, func() {
		req.Reset()
		c.build(&req, r, time.Now())
	})
	if allocs != 0 {
		t.Errorf("%v allocations to build a request, want 0", allocs)
	}
}

func parse(t testing.TB, wire string) *http.Request {
	t.Helper()
	req, err := http.ReadRequest(bufio.NewReader(strings.NewReader(wire)))
	if err != nil {
		t.Fatalf("not a request: %v\n%q", err, wire)
	}
	return req
}

// FuzzRequestCannotBeInjectedInto reads a request back with another parser: no key,
// id, topic or record header may add a header or change the body.
func FuzzRequestCannotBeInjectedInto(f *testing.F) {
	f.Add([]byte("k"), "id", "topic", []byte("traceparent"), []byte("00-a-b-01"), []byte("value"))
	f.Add([]byte("k\r\nX: y"), "id\nX: y", "t\rX: y", []byte("x\r\nX"), []byte("\r\n\r\nGET /"), []byte("\r\n"))
	f.Add([]byte{0xff}, "", " ", []byte("Transfer-Encoding"), []byte("chunked"), []byte("0\r\n\r\n"))
	f.Add([]byte{}, "a", "b", []byte("ce_x"), []byte("\x7f"), []byte{})
	f.Add([]byte{}, "a", "b", []byte("Trailer"), []byte("X-Sum"), []byte("value"))
	f.Add([]byte{}, "a", "b", []byte("Expect"), []byte("100-continue"), bytes.Repeat([]byte("x"), minApart))
	f.Add([]byte{}, "a", "b", []byte("Connection"), []byte("close"), []byte("value"))
	c := newClient(f, "http://127.0.0.1/", func(c *Config) { c.ForwardHeaders = []string{"*"} })
	f.Fuzz(func(t *testing.T, key []byte, id, topic string, name, value, body []byte) {
		r := fullRequest()
		r.Record.Key, r.Record.Value = key, body
		r.Record.Headers = []record.Header{{Key: name, Value: value}}
		r.State.EventID, r.State.Origin.Topic = id, topic
		wire := bytesOf(t, c, r)
		req := parse(t, wire)
		if got, err := io.ReadAll(req.Body); err != nil || !bytes.Equal(got, body) {
			t.Fatalf("body %q, %v; want %q\n%q", got, err, body, wire)
		}
		if got, want := len(lines(wire)), 9+len(optional(req, key, id, topic, name, value)); got > want || req.Host != "127.0.0.1" {
			t.Errorf("%d header lines, want at most %d\n%q", got, want, wire)
		}
		if got := req.Header.Get("Idempotency-Key"); got != "" && got != id {
			t.Errorf("Idempotency-Key %q, want %q", got, id)
		}
	})
}

// lines returns the header lines of a request.
func lines(wire string) []string {
	head, _, _ := strings.Cut(wire, "\r\n\r\n")
	return strings.FieldsFunc(head, func(r rune) bool { return r == '\r' || r == '\n' })[1:]
}

// optional returns the names of the headers that foreign bytes may have led to.
func optional(req *http.Request, key []byte, id, topic string, name, value []byte) []string {
	var names []string
	if isFieldValue(id) && id != "" {
		names = append(names, "Idempotency-Key")
	}
	if isFieldValue(topic) && topic != "" {
		names = append(names, "Retryd-Topic")
	}
	if key != nil {
		names = append(names, "Retryd-Key")
	}
	if !isFieldValue(key) {
		names = append(names, "Retryd-Key-Encoding")
	}
	if isToken(name) && isFieldValue(value) && value != nil {
		names = append(names, string(name))
	}
	if req.Header.Get("Retryd-Tombstone") != "" {
		names = append(names, "Retryd-Tombstone")
	}
	return names
}
