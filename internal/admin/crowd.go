package admin

import (
	"net"
	"net/http"
	"sync"
	"sync/atomic"

	"golang.org/x/net/netutil"
)

// The connections at a time. Those over loopback have a share that nobody elsewhere
// can take: the commands and the supervisor's health check come that way.
const (
	maxConnections = 128 // further ones wait in the kernel's backlog
	maxRemote      = 96  // from elsewhere; further ones are closed at once
)

// crowd counts the connections.
type crowd struct{ all, remote atomic.Int32 }

// isDense reports whether the next ones may find no room.
func (c *crowd) isDense() bool {
	return c.all.Load() > maxConnections*3/4 || c.remote.Load() > maxRemote*3/4
}

// passing lets a connection carry one answer only while the crowd is dense: clients
// that keep theirs busy must not keep the others out.
func (c *crowd) passing(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c.isDense() {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

// admit returns ln with the bounds above.
func (c *crowd) admit(ln net.Listener) net.Listener {
	return entrance{netutil.LimitListener(ln, maxConnections), c}
}

type entrance struct {
	net.Listener
	crowd *crowd
}

// Accept returns the next connection that there is room for.
func (e entrance) Accept() (net.Conn, error) {
	for {
		conn, err := e.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if guest := e.crowd.enter(conn); guest != nil {
			return guest, nil
		}
		_ = conn.Close() // nothing was written
	}
}

// enter counts a connection until it is closed. It returns nil for one too many.
func (c *crowd) enter(conn net.Conn) net.Conn {
	if onLoopback(conn.LocalAddr().String(), conn.RemoteAddr().String()) {
		c.all.Add(1)
		return &guest{Conn: conn, leave: func() { c.all.Add(-1) }}
	}
	if c.remote.Add(1) > maxRemote {
		c.remote.Add(-1)
		return nil
	}
	c.all.Add(1)
	return &guest{Conn: conn, leave: func() { c.all.Add(-1); c.remote.Add(-1) }}
}

// guest is a connection that is counted.
type guest struct {
	net.Conn
	once  sync.Once // net/http may close it twice
	leave func()
}

// Close makes room.
func (g *guest) Close() error {
	err := g.Conn.Close()
	g.once.Do(g.leave)
	return err
}
