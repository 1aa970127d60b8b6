package forward

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"time"

	"github.com/valyala/fasthttp"
)

const (
	maxHeader = 16 << 10 // bytes of a response's header
	maxBody   = 64 << 10 // bytes read of a body so that its connection can be used again
	maxJoined = 16 << 10 // bytes of a request that TLS, which has to copy them, gets as one
	minApart  = 1 << 10  // bytes of a body from which writing it from where it is costs less than a copy
)

// errStale means that a kept connection was closed by the endpoint before this
// request began.
var errStale = errors.New("connection closed while it was idle")

// conn is one connection to the endpoint. One attempt at a time uses it.
type conn struct {
	net.Conn          // what the request is written to: TLS, or the wire itself
	wire     *wire    // what TLS, if any, writes to
	records  *records // between the two; nil without TLS
	alive    func() error
	r        *bufio.Reader
	head     []byte      // of a request, and a small body behind it
	parts    [2][]byte   // head and body, as they are written
	rest     net.Buffers // of parts
	readErr  error       // of the last read in this exchange
	filled   bool        // the last read took all that it had room for: TLS may hold more
	kept     bool        // it has carried a request before
	config   *tls.Config // that it was made with; nil without TLS
	until    time.Time   // while idle: when it has to be closed
	scratch  [1024]byte

	watched context.Context // whose end interrupts; it outlives the exchange, since the next one mostly has the same
	unwatch func() bool
}

// Read remembers why reading ended. fasthttp reports most causes as EOF, and
// quotes the response in others.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.readErr, c.filled = err, n == len(p)
	return n, err
}

func newConn(nc net.Conn) *conn {
	w := &wire{Conn: nc}
	c := &conn{Conn: w, wire: w, alive: livenessOf(nc)}
	c.r = bufio.NewReaderSize(c, maxHeader)
	return c
}

// exchange writes one request and reads the header of its response, whose body is
// left to be read. sent tells whether any byte of the request left this process.
func (c *conn) exchange(req *fasthttp.Request, resp *fasthttp.Response) (sent bool, err error) {
	before := c.wire.written
	c.readErr = nil
	if c.kept && c.alive() != nil {
		return false, errStale
	}
	err = c.write(&req.Header, req.Body())
	sent = c.wire.written > before
	if err != nil && (!sent || isTimeout(err)) {
		return sent, err
	}
	resp.StreamBody = true
	resp.Header.SetNoDefaultContentType(true) // rules are about what the endpoint said; a Reset forgets it
	if readErr := resp.ReadLimitBody(c.r, 0); readErr != nil {
		return sent, errors.Join(err, readErr)
	}
	if err != nil {
		// The endpoint answered and closed without reading all of the request,
		// like a 413. Its answer counts, its connection is of no more use.
		resp.SetConnectionClose()
	}
	return sent, nil
}

// write writes a request. Most are one system call.
func (c *conn) write(h *fasthttp.RequestHeader, body []byte) error {
	h.SetContentLength(len(body))
	c.head = h.AppendBytes(c.head[:0])
	plain := c.Conn == net.Conn(c.wire)
	if len(body) < minApart || !plain && len(c.head)+len(body) <= maxJoined {
		c.head = append(c.head, body...)
		_, err := c.Conn.Write(c.head)
		return err
	}
	c.rest = append(c.parts[:0], c.head, body)
	if plain {
		return c.wire.writeParts(&c.rest)
	}
	_, err := c.rest.WriteTo(c.Conn)
	return err
}

// drain reads the body, at most maxBody bytes of it, and returns its first keep
// bytes. whole tells whether that was all of it.
func (c *conn) drain(resp *fasthttp.Response, keep int) (head []byte, whole bool) {
	body := resp.BodyStream()
	if body == nil {
		return nil, true
	}
	defer func() { _ = resp.CloseBodyStream() }()
	for total := 0; total <= maxBody; {
		n, err := body.Read(c.scratch[:])
		total += n
		head = append(head, c.scratch[:min(n, keep-len(head))]...)
		if err != nil {
			return head, errors.Is(err, io.EOF)
		}
	}
	return head, false
}

// quiet reports whether nothing that came behind the response has been read: another
// one, or TLS's close_notify. What the kernel still holds, alive sees.
func (c *conn) quiet() bool {
	return c.readErr == nil && !c.filled && c.r.Buffered() == 0 &&
		(c.records == nil || c.records.ahead.Buffered() == 0)
}

// watch has the end of ctx interrupt what runs on the connection. It returns false if
// the end of another one has, or is about to: the connection is of no more use.
func (c *conn) watch(ctx context.Context) bool {
	if c.watched == ctx {
		return true
	}
	if c.unwatch != nil && !c.unwatch() {
		return false
	}
	c.watched, c.unwatch = ctx, context.AfterFunc(ctx, c.interrupt)
	return true
}

// interrupt ends what runs on the connection.
func (c *conn) interrupt() { _ = c.SetDeadline(time.Unix(1, 0)) }

// Close closes without TLS's close_notify, which may wait 5 s for a peer that does
// not read (crypto/tls, Conn.Close) and which tells a server nothing new.
func (c *conn) Close() error {
	if c.unwatch != nil {
		c.unwatch()
	}
	return c.wire.Close()
}
