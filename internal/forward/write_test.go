package forward

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/retryd/retryd/internal/policy"
)

// headSize returns how long the head of post's request is before a body of five
// digits' length.
func headSize(t *testing.T, c *Client) int {
	const length = 10_000
	return len(bytesOf(t, c, smallRequest(make([]byte, length)))) - length
}

// All go out on one connection, large and small ones in turn: whatever was too much
// or too little of one would be found in the next.
func TestRequestsOfEverySizeArriveWhole(t *testing.T) {
	type arrived struct {
		length int64
		body   []byte
	}
	requests := make(chan arrived, 100) // more than there are
	handle := func(_ *wireServer, nc net.Conn, r *bufio.Reader) {
		for {
			req, err := http.ReadRequest(r)
			if err != nil {
				return
			}
			body, _ := io.ReadAll(req.Body)
			requests <- arrived{req.ContentLength, body}
			_, _ = io.WriteString(nc, ok)
		}
	}
	plain := func(t *testing.T) (*wireServer, *Client) {
		s := serveWire(t, handle)
		return s, newClient(t, s.url, func(c *Config) { c.IdleTimeout = time.Hour })
	}
	secure := func(t *testing.T) (*wireServer, *Client) { return serveTLS(t, tls.VersionTLS13, handle) }
	for name, start := range map[string]func(*testing.T) (*wireServer, *Client){"plain": plain, "TLS": secure} {
		t.Run(name, func(t *testing.T) {
			s, c := start(t)
			joined := maxJoined - headSize(t, c)
			random := rand.NewChaCha8([32]byte{})
			for _, size := range []int{1 << 20, 0, minApart, 1, joined, minApart - 1, joined + 1, minApart + 1, joined - 1, 1 << 20, 1} {
				value := make([]byte, size)
				_, _ = random.Read(value)
				if got := post(t, c, value); !got.Delivered() {
					t.Fatalf("%d bytes: outcome %+v", size, got)
				}
				if got := <-requests; got.length != int64(size) || !bytes.Equal(got.body, value) {
					t.Fatalf("%d bytes: %d arrived, announced as %d, or not the same", size, len(got.body), got.length)
				}
			}
			if connections, _ := s.seen(); connections != 1 {
				t.Errorf("%d connections, want 1", connections)
			}
		})
	}
}

// A recorder takes what one writev would in two writes.
func TestSmallRequestIsOneWrite(t *testing.T) {
	c := newClient(t, "http://127.0.0.1/")
	joined := maxJoined - headSize(t, c)
	tests := []struct {
		name   string
		tls    bool
		size   int
		writes int
	}{
		{"empty", false, 0, 1},
		{"small", false, minApart - 1, 1},
		{"large", false, minApart, 2},
		{"small over TLS", true, minApart, 1},
		{"as large as is joined over TLS", true, joined, 1},
		{"larger over TLS", true, joined + 1, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var req fasthttp.Request
			c.build(&req, smallRequest(make([]byte, tt.size)), time.Now())
			var out recorder
			cn := newConn(&out)
			if tt.tls {
				cn.Conn = &out
			}
			if err := cn.write(&req.Header, req.Body()); err != nil || out.writes != tt.writes {
				t.Errorf("%d writes, %v; want %d", out.writes, err, tt.writes)
			}
		})
	}
}

func TestRequestIsWrittenWithoutAllocation(t *testing.T) {
	s := serveWire(t, func(_ *wireServer, _ net.Conn, r *bufio.Reader) { _, _ = io.Copy(io.Discard, r) })
	c := newClient(t, s.url)
	for _, size := range []int{10, 100_000} {
		cn, f := c.dial(t.Context())
		if f != nil {
			t.Fatal(f.text)
		}
		var req fasthttp.Request
		c.build(&req, smallRequest(make([]byte, size)), time.Now())
		allocs := testing.AllocsPerRun(100, func() {
			if err := cn.write(&req.Header, req.Body()); err != nil {
				t.Fatal(err)
			}
		})
		if allocs != 0 {
			t.Errorf("%v allocations to write %d bytes, want 0", allocs, size)
		}
		_ = cn.Close()
	}
}

// The server answers after the head and closes: what it did not read breaks the
// connection, but its answer has arrived.
func TestAnswerToARequestThatWasNotReadToItsEndCounts(t *testing.T) {
	s := serveWire(t, func(_ *wireServer, nc net.Conn, r *bufio.Reader) {
		if _, err := http.ReadRequest(r); err == nil {
			_, _ = io.WriteString(nc, "HTTP/1.1 413 X\r\nContent-Length: 0\r\n\r\n")
		}
	})
	c := newClient(t, s.url, func(c *Config) { c.IdleTimeout = time.Hour })
	for range 3 {
		got := post(t, c, make([]byte, 16<<20))
		if got.Status != 413 || got.Class != policy.ClassInvalid || len(c.idle.idle) != 0 {
			t.Errorf("outcome %+v, %d connections kept; want a 413 and none", got, len(c.idle.idle))
		}
	}
	if connections, _ := s.seen(); connections != 3 {
		t.Errorf("%d connections, want one for each attempt", connections)
	}
}
