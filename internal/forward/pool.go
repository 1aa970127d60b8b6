package forward

import (
	"crypto/tls"
	"sync"
	"time"
)

// pool keeps the idle connections of one endpoint. It sets no limit and lets
// nobody wait: there are never more connections than attempts at a time, and the
// caller bounds those.
type pool struct {
	mu     sync.Mutex
	idle   []*conn     // the one used last comes last, and is used first
	reaper *time.Timer // closes what was idle for too long; nil if none is idle
	closed bool
}

// get returns the connection that was used last, or nil if none may be used. Those that
// were made with another TLS configuration are closed.
func (p *pool) get(now time.Time, config *tls.Config) *conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	for n := len(p.idle); n > 0; n = len(p.idle) {
		c := p.idle[n-1]
		p.idle[n-1] = nil
		p.idle = p.idle[:n-1]
		if now.Before(c.until) && c.config == config {
			return c
		}
		_ = c.Close()
	}
	return nil
}

// put keeps a connection for a while, or closes it if that is no time at all.
func (p *pool) put(c *conn, keep time.Duration) {
	if keep <= 0 || !p.add(c, keep) {
		_ = c.Close()
	}
}

func (p *pool) add(c *conn, keep time.Duration) bool {
	c.kept = true
	c.until = time.Now().Add(keep)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	p.idle = append(p.idle, c)
	if p.reaper == nil {
		p.reaper = time.AfterFunc(keep, p.reap)
	}
	return true
}

// reap closes what has been idle for too long, and comes back for the rest.
func (p *pool) reap() {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	var next time.Time
	keep := p.idle[:0]
	for _, c := range p.idle {
		if !now.Before(c.until) {
			_ = c.Close()
			continue
		}
		keep = append(keep, c)
		if next.IsZero() || c.until.Before(next) {
			next = c.until
		}
	}
	clear(p.idle[len(keep):])
	p.idle = keep
	if len(keep) == 0 || p.closed {
		p.reaper = nil
		return
	}
	p.reaper = time.AfterFunc(next.Sub(now), p.reap)
}

// close closes what is idle now, and later every connection that comes back.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, c := range p.idle {
		_ = c.Close()
	}
	p.idle = nil
	if p.reaper != nil {
		p.reaper.Stop()
	}
}
