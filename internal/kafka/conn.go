package kafka

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"github.com/IBM/sarama"
)

// dialer opens the connections of one client. They break when ctx ends, whatever
// they wait for, and so do attempts to connect: the client library alone waits
// for its timeouts.
type dialer struct {
	ctx     context.Context
	timeout time.Duration // of one attempt to connect
}

// use makes the dialer the only way of a client to its brokers.
func (d dialer) use(s *sarama.Config) {
	s.Net.Proxy.Enable, s.Net.Proxy.Dialer = true, d
}

// Dial opens one connection.
func (d dialer) Dial(network, addr string) (net.Conn, error) {
	attempt := net.Dialer{Timeout: d.timeout}
	opened, err := attempt.DialContext(d.ctx, network, addr)
	if err != nil {
		return nil, err
	}
	forget := context.AfterFunc(d.ctx, func() { _ = opened.Close() })
	return &conn{Conn: opened, open: d.ctx, forget: forget}, nil
}

// line is a dialer whose open connections can be broken all at once.
type line struct {
	mu   sync.Mutex
	open context.Context
	end  context.CancelFunc
}

func newLine() *line {
	l := &line{}
	l.open, l.end = context.WithCancel(context.Background())
	return l
}

func (l *line) use(s *sarama.Config) { s.Net.Proxy.Enable, s.Net.Proxy.Dialer = true, l }

// Dial opens one connection.
func (l *line) Dial(network, addr string) (net.Conn, error) {
	l.mu.Lock()
	open := l.open
	l.mu.Unlock()
	return dialer{open, dialTimeout}.Dial(network, addr)
}

// hangUp breaks the connections that are open now, and the attempts to open one.
func (l *line) hangUp() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.end()
	l.open, l.end = context.WithCancel(context.Background())
}

// conn is a connection that ends with its context, and that an answer overdue makes
// useless. The client library keeps it open instead (sarama v1.61.1, broker.go:1425
// excepts timeouts), and every later request fails with the same error.
type conn struct {
	net.Conn
	open   context.Context
	forget func() bool
}

// Write sends nothing if it begins after the context has ended: the connection itself is
// closed a little later, by a goroutine.
func (c *conn) Write(b []byte) (int, error) {
	if err := c.open.Err(); err != nil {
		return 0, fmt.Errorf("connection to %s was ended: %w", c.RemoteAddr(), net.ErrClosed)
	}
	return c.Conn.Write(b)
}

// Read says that the connection is closed where the answer did not come in time.
func (c *conn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = fmt.Errorf("no answer from %s in time: %w", c.RemoteAddr(), net.ErrClosed)
	}
	return n, err
}

// Close ends the connection before its context does.
func (c *conn) Close() error {
	c.forget()
	return c.Conn.Close()
}
