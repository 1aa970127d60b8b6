package forward

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"strconv"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
)

// discardServer answers as fast as it can read, and allocates nothing.
func discardServer(b *testing.B) string {
	answer := []byte(ok)
	return serveWire(b, func(_ *wireServer, nc net.Conn, r *bufio.Reader) {
		for {
			length := 0
			for {
				line, err := r.ReadSlice('\n')
				if err != nil {
					return
				}
				if len(line) == 2 {
					break
				}
				if n, found := bytes.CutPrefix(line, []byte("Content-Length: ")); found {
					length, _ = strconv.Atoi(string(bytes.TrimSpace(n)))
				}
			}
			_, _ = r.Discard(length)
			if _, err := nc.Write(answer); err != nil {
				return
			}
		}
	}).url
}

// BenchmarkAttempt is one attempt after the other on one connection.
func BenchmarkAttempt(b *testing.B) {
	c := newClient(b, discardServer(b))
	r := fullRequest()
	b.ReportAllocs()
	for b.Loop() {
		if got := c.Attempt(b.Context(), r); !got.Delivered() {
			b.Fatal(got)
		}
	}
}

// BenchmarkSignedAttempt is the same with two secrets.
func BenchmarkSignedAttempt(b *testing.B) {
	c := newClient(b, discardServer(b), signing(signingSecret(1, 32), signingSecret(2, 32)))
	r := fullRequest()
	b.ReportAllocs()
	for b.Loop() {
		if got := c.Attempt(b.Context(), r); !got.Delivered() {
			b.Fatal(got)
		}
	}
}

// BenchmarkHostClient is the floor: the same request by fasthttp's own client.
func BenchmarkHostClient(b *testing.B) {
	url := discardServer(b)
	c := newClient(b, url)
	r := fullRequest()
	host := &fasthttp.HostClient{Addr: c.route.target.address, MaxIdemponentCallAttempts: 1,
		Dial:                func(address string) (net.Conn, error) { return net.Dial("tcp", address) },
		MaxIdleConnDuration: 10 * time.Millisecond, StreamResponseBody: true}
	b.Cleanup(host.CloseIdleConnections)
	b.ReportAllocs()
	for b.Loop() {
		req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
		c.build(req, r, time.Now())
		if err := host.DoDeadline(req, resp, time.Now().Add(10*time.Second)); err != nil {
			b.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.BodyStream())
		_ = resp.CloseBodyStream()
		fasthttp.ReleaseRequest(req)
		fasthttp.ReleaseResponse(resp)
	}
}
