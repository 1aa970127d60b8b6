package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"
)

// buffer holds a whole request: one write to the socket.
const buffer = 16 << 10

// timeout bounds one request.
const timeout = 10 * time.Second

// agent is as long as the one that retryd sends.
const agent = "retryd/dev (floor.1)"

const contentType = "application/octet-stream"

// exchange is what a request says of its record: the headers of docs/webhook.md.
type exchange struct {
	eventID      string
	attempt      int
	topic        string
	partition    int32
	offset       int64
	timestamp    time.Time
	firstFailure int64 // epoch ms; 0 if there was none
	key, value   []byte
}

// poster POSTs one record at a time.
type poster interface {
	post(x exchange) (status int, err error)
}

// fast POSTs with fasthttp. Its requests and responses are used again and again.
type fast struct {
	client  *fasthttp.HostClient
	uri     string
	req     fasthttp.Request
	resp    fasthttp.Response
	scratch []byte
}

// newFast returns a function that makes posters, which share their connections.
func newFast(o options) (func() poster, error) {
	target, err := url.Parse(o.url)
	if err != nil {
		return nil, err
	}
	client := &fasthttp.HostClient{
		Addr: target.Host, MaxConns: o.concurrency,
		ReadTimeout: timeout, WriteTimeout: timeout, WriteBufferSize: buffer,
		MaxIdemponentCallAttempts: 1, NoDefaultUserAgentHeader: true,
		DisableHeaderNamesNormalizing: true, DisablePathNormalizing: true,
	}
	return func() poster { return &fast{client: client, uri: o.url} }, nil
}

func (f *fast) post(x exchange) (int, error) {
	h := &f.req.Header
	h.Reset()
	h.DisableNormalizing()
	h.SetMethod(fasthttp.MethodPost)
	f.req.SetRequestURI(f.uri)
	h.SetUserAgent(agent)
	h.SetContentType(contentType)
	h.Add("Idempotency-Key", x.eventID)
	f.number("Retryd-Attempt", int64(x.attempt))
	h.Add("Retryd-Topic", x.topic)
	f.number("Retryd-Partition", int64(x.partition))
	f.number("Retryd-Offset", x.offset)
	f.number("Retryd-Timestamp", x.timestamp.UnixMilli())
	if x.firstFailure > 0 {
		f.number("Retryd-First-Failure-At", x.firstFailure)
	}
	h.AddBytesV("Retryd-Key", x.key)
	f.req.SetBodyRaw(x.value)
	if err := f.client.Do(&f.req, &f.resp); err != nil {
		return 0, err
	}
	return f.resp.StatusCode(), nil
}

func (f *fast) number(name string, n int64) {
	f.scratch = strconv.AppendInt(f.scratch[:0], n, 10)
	f.req.Header.AddBytesV(name, f.scratch)
}

// standard POSTs with net/http.
type standard struct {
	client *http.Client
	url    *url.URL
}

func newNet(o options) (func() poster, error) {
	target, err := url.Parse(o.url)
	if err != nil {
		return nil, err
	}
	transport := &http.Transport{
		MaxIdleConns: o.concurrency, MaxIdleConnsPerHost: o.concurrency, MaxConnsPerHost: o.concurrency,
		WriteBufferSize:    buffer,
		DisableCompression: true, // it would send one more header
	}
	s := standard{client: &http.Client{Transport: transport, Timeout: timeout}, url: target}
	return func() poster { return s }, nil
}

func (s standard) post(x exchange) (int, error) {
	number := func(n int64) []string { return []string{strconv.FormatInt(n, 10)} }
	h := http.Header{
		"User-Agent":       {agent},
		"Content-Type":     {contentType},
		"Idempotency-Key":  {x.eventID},
		"Retryd-Attempt":   number(int64(x.attempt)),
		"Retryd-Topic":     {x.topic},
		"Retryd-Partition": number(int64(x.partition)),
		"Retryd-Offset":    number(x.offset),
		"Retryd-Timestamp": number(x.timestamp.UnixMilli()),
		"Retryd-Key":       {string(x.key)},
	}
	request := &http.Request{
		Method: http.MethodPost, URL: s.url, Host: s.url.Host, Header: h,
		Body: io.NopCloser(bytes.NewReader(x.value)), ContentLength: int64(len(x.value)),
	}
	response, err := s.client.Do(request)
	if err != nil {
		return 0, err
	}
	defer func() { _ = response.Body.Close() }()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		return 0, fmt.Errorf("read the response: %w", err)
	}
	return response.StatusCode, nil
}
