package forward

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"time"
)

// route is the way to a target.
type route struct {
	target target
	proxy  *proxy    // nil: straight, whatever the environment says
	tls    *tlsFiles // nil: no TLS
}

// routeOf returns the way to the endpoint. It reads the files of TLS.
func routeOf(c Config) (route, error) {
	t, err := parseTarget(c.URL)
	if err != nil {
		return route{}, fmt.Errorf("url: %w", err)
	}
	r := route{target: t}
	if r.proxy, err = parseProxy(c.Proxy.Reveal()); err != nil {
		return route{}, fmt.Errorf("proxy: %w", err)
	}
	if t.tlsName != "" {
		r.tls, err = newTLSFiles(c.TLS, t.tlsName)
	}
	return r, err
}

// dial opens a connection: through the proxy and with the TLS handshake, if any.
func (r route) dial(ctx context.Context) (*conn, *failure) {
	c, f := r.connect(ctx)
	if f != nil {
		return nil, f
	}
	if r.proxy != nil {
		f = r.proxy.tunnel(ctx, c, r.target.address)
	}
	if config := r.tls.at(time.Now()); f == nil && config != nil {
		f = c.secure(ctx, config, r.target.address)
	}
	if f != nil {
		_ = c.Close()
		return nil, f
	}
	return c, nil
}

// connect opens the connection that the rest is spoken on.
func (r route) connect(ctx context.Context) (*conn, *failure) {
	network, address := r.target.network, r.target.address
	if r.proxy != nil {
		network, address = "tcp", r.proxy.address
	}
	var dialer net.Dialer
	nc, err := dialer.DialContext(ctx, network, address)
	if err == nil {
		return newConn(nc), nil
	}
	f := dialFailure(address, err)
	if r.proxy != nil {
		f.text, f.atProxy = oneLine("proxy: "+f.text, maxFailure), true
	}
	return nil, f
}

// secure does the TLS handshake.
func (c *conn) secure(ctx context.Context, config *tls.Config, address string) *failure {
	c.config = config
	c.records = newRecords(c.wire)
	session := tls.Client(c.records, config)
	if err := session.HandshakeContext(ctx); err != nil {
		return tlsFailure(address, err)
	}
	c.Conn = session
	return nil
}
