package forward

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/retryd/retryd/internal/policy"
	"github.com/retryd/retryd/internal/record"
	"github.com/retryd/retryd/internal/redact"
)

// newClient returns a client of url, with the defaults apart from what change does.
func newClient(t testing.TB, url string, change ...func(*Config)) *Client {
	t.Helper()
	c := DefaultConfig()
	c.URL = url
	for _, f := range change {
		f(&c)
	}
	client, err := New(c, "library", "1.2.3", redact.Rules{})
	if err != nil {
		t.Fatalf("New: %v", err)
	}
	t.Cleanup(client.Close)
	return client
}

func timeout(d time.Duration) func(*Config) { return func(c *Config) { c.Timeout = d } }

// trusting makes a client accept the certificates of a test server.
func trusting(c *Client, config *tls.Config) {
	config.ServerName = "example.com" // httptest's certificate
	c.route.tls.current.Store(config)
}

// post makes one attempt with a value.
func post(t testing.TB, c *Client, value []byte) policy.Outcome {
	t.Helper()
	return c.Attempt(t.Context(), smallRequest(value))
}

// smallRequest is a first attempt with a value and little else.
func smallRequest(value []byte) Request {
	return Request{
		Record: &record.Record{Value: value},
		State:  &record.State{EventID: "id-1", Origin: record.Position{Topic: "loans", Timestamp: time.UnixMilli(0)}},
	}
}

// wireServer is an endpoint that does what a test says with each connection.
type wireServer struct {
	url         string
	mu          sync.Mutex
	connections int
	requests    int
}

// read reads one whole request. It returns false at the end of the connection.
func (s *wireServer) read(r *bufio.Reader) bool {
	req, err := http.ReadRequest(r)
	if err != nil {
		return false
	}
	if _, err := io.Copy(io.Discard, req.Body); err != nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	return true
}

func (s *wireServer) seen() (connections, requests int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.connections, s.requests
}

// serveWire listens until the test ends. handle is called in a goroutine for each
// connection, which is closed after it.
func serveWire(t testing.TB, handle func(s *wireServer, nc net.Conn, r *bufio.Reader)) *wireServer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &wireServer{url: "http://" + listener.Addr().String() + "/"}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		for {
			nc, err := listener.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.connections++
			s.mu.Unlock()
			running.Go(func() {
				defer context.AfterFunc(ctx, func() { _ = nc.Close() })()
				defer func() { _ = nc.Close() }()
				handle(s, nc, bufio.NewReader(nc))
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		cancel()
		running.Wait()
	})
	return s
}

// answering returns a handler that reads each request and answers with the text.
func answering(text string) func(*wireServer, net.Conn, *bufio.Reader) {
	return func(s *wireServer, nc net.Conn, r *bufio.Reader) {
		for s.read(r) {
			if _, err := io.WriteString(nc, text); err != nil {
				return
			}
		}
	}
}

// answerOnce answers one request and closes the connection.
func answerOnce(text string) func(*wireServer, net.Conn, *bufio.Reader) {
	return func(s *wireServer, nc net.Conn, r *bufio.Reader) {
		s.read(r)
		_, _ = io.WriteString(nc, text)
	}
}

const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

// eventually polls for a condition.
func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}
