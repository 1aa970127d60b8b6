package admin

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
)

// pipes is a listener of in-memory connections, which runs in fake time.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func newPipes() *pipes { return &pipes{make(chan net.Conn), make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { close(p.closed); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p *pipes) dial() net.Conn { return p.dialFrom("192.0.2.7:50000") }

// dialFrom connects from an address to the same host's, or else to one that is not
// loopback.
func (p *pipes) dialFrom(remote string) net.Conn {
	client, server := net.Pipe()
	local := "192.0.2.1:9464"
	if isLoopback(remote) {
		local = "127.0.0.1:9464"
	}
	p.conns <- addressed{server, local, remote}
	return client
}

// addressed is a connection that says that it has these ends.
type addressed struct {
	net.Conn
	local, remote string
}

func (c addressed) LocalAddr() net.Addr  { return parsedAddr(c.local) }
func (c addressed) RemoteAddr() net.Addr { return parsedAddr(c.remote) }

func parsedAddr(text string) net.Addr { return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(text)) }

func TestSlowClientIsDropped(t *testing.T) {
	tests := []struct {
		name   string
		client func(net.Conn)
		after  time.Duration
	}{
		{"sends nothing", func(net.Conn) {}, readHeaderTimeout},
		{"stops within its headers", func(c net.Conn) { send(c, "GET /healthz HTTP/1.1\r\nHost: x\r\n") }, readHeaderTimeout},
		{"sends a header every second", func(c net.Conn) {
			for send(c, "GET /healthz HTTP/1.1\r\n"); send(c, "X-A: b\r\n") == nil; {
				time.Sleep(time.Second) // fake time
			}
		}, readHeaderTimeout},
		{"stops within its body", func(c net.Conn) {
			send(c, "POST /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nhalf")
			discard(c)
		}, readTimeout},
		{"sends a chunk of its body every second", func(c net.Conn) {
			go discard(c)
			for send(c, "GET /healthz HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"); send(c, "1\r\nx\r\n") == nil; {
				time.Sleep(time.Second) // fake time
			}
		}, readTimeout},
		{"reads a byte of its answer every second", func(c net.Conn) {
			send(c, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
			for one := make([]byte, 1); ; time.Sleep(time.Second) { // fake time
				if _, err := c.Read(one); err != nil {
					return
				}
			}
		}, writeTimeout},
		{"does not read its answer", func(c net.Conn) { send(c, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n") }, writeTimeout},
		{"stays idle", func(c net.Conn) {
			send(c, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
			discard(c)
		}, idleTimeout},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ln := newPipes()
				s := New(Config{}, prometheus.NewRegistry(), fine(), zap.NewNop())
				gone := make(chan struct{}, 1)
				s.http.ConnState = func(_ net.Conn, state http.ConnState) {
					if state == http.StateClosed {
						gone <- struct{}{}
					}
				}
				s.ln = ln
				defer serve(t, s)()
				start := time.Now()
				c := ln.dial()
				var client sync.WaitGroup
				client.Go(func() { tt.client(c) })
				defer client.Wait()
				defer c.Close()
				<-gone
				if took := time.Since(start); took != tt.after {
					t.Errorf("dropped after %v, want %v", took, tt.after)
				}
			})
		})
	}
}

func send(c net.Conn, text string) error {
	_, err := io.WriteString(c, text)
	return err
}

func discard(c net.Conn) { _, _ = io.Copy(io.Discard, c) }

// talk runs a server for the test, sends it text as far as it reads, and returns
// its answer.
func talk(t *testing.T, text string) (res *http.Response, closed bool) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := New(Config{}, prometheus.NewRegistry(), fine(), zap.NewNop())
		ln := newPipes()
		s.ln = ln
		defer serve(t, s)()
		c := ln.dial()
		defer c.Close()
		go send(c, text)
		answer := bufio.NewReader(c)
		var err error
		if res, err = http.ReadResponse(answer, nil); err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, res.Body)
		start := time.Now()
		_, err = answer.ReadByte()
		closed = err != nil && time.Since(start) < readHeaderTimeout
	})
	return res, closed
}

func TestLargeHeadersAreRefused(t *testing.T) {
	tests := []struct {
		name, text string
		want       int
	}{
		{"a long header", "GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: " + strings.Repeat("x", 8<<10) + "\r\n\r\n", 200},
		{"too long a header", "GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: " + strings.Repeat("x", 64<<10) + "\r\n\r\n", 431},
		{"too many headers", "GET /healthz HTTP/1.1\r\nHost: x\r\n" + strings.Repeat("X: y\r\n", 16<<10) + "\r\n", 431},
		{"a long path", "GET /" + strings.Repeat("x", 8<<10) + " HTTP/1.1\r\nHost: x\r\n\r\n", 404},
		{"too long a path", "GET /" + strings.Repeat("x", 64<<10) + " HTTP/1.1\r\nHost: x\r\n\r\n", 431},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			res, closed := talk(t, tt.text)
			if res.StatusCode != tt.want {
				t.Errorf("got %s, want %d", res.Status, tt.want)
			}
			if tt.want == 431 && !closed {
				t.Error("the connection is kept")
			}
		})
	}
}

func TestLargeBodyIsNotRead(t *testing.T) {
	for name, body := range map[string]string{
		"announced": "Content-Length: 1073741824\r\n\r\n" + strings.Repeat("x", 1<<10),
		"chunked":   "Transfer-Encoding: chunked\r\n\r\n" + strings.Repeat("10000\r\n"+strings.Repeat("x", 1<<16)+"\r\n", 64),
	} {
		t.Run(name, func(t *testing.T) {
			res, closed := talk(t, "GET /healthz HTTP/1.1\r\nHost: x\r\n"+body)
			if res.StatusCode != http.StatusOK || !closed {
				t.Errorf("%s, connection closed: %v; want 200, closed", res.Status, closed)
			}
		})
	}
}
