package forward

import (
	"context"
	"encoding/base64"
	"errors"
	"net"
	"net/url"
	"strings"

	"github.com/valyala/fasthttp"

	"github.com/retryd/retryd/internal/policy"
)

// proxy is an HTTP proxy that opens connections to the endpoint by CONNECT (RFC 9110,
// section 9.3.6), for http and https alike.
type proxy struct {
	address       string // host:port; it may be shown
	authorization string // value of Proxy-Authorization, or empty
	password      string
}

// errProxy never quotes the proxy's URL, which may have a password in it.
var errProxy = errors.New("must be http://host:port or http://user:password@host:port, percent-encoded; the proxy itself is spoken to without TLS")

// parseProxy returns nil for none.
func parseProxy(raw string) (*proxy, error) {
	if raw == "" {
		return nil, nil
	}
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "http" || u.Hostname() == "" || !isHost(u.Host) ||
		strings.ContainsAny(raw, "?#") || strings.Trim(u.Path, "/") != "" {
		return nil, errProxy
	}
	port, err := portOf(u)
	if err != nil {
		return nil, errProxy
	}
	p := &proxy{address: net.JoinHostPort(u.Hostname(), port)}
	if u.User == nil {
		return p, nil
	}
	p.password, _ = u.User.Password()
	if u.User.Username() == "" || strings.Contains(u.User.Username(), ":") {
		return nil, errProxy
	}
	p.authorization = "Basic " + base64.StdEncoding.EncodeToString([]byte(u.User.Username()+":"+p.password))
	return p, nil
}

// secrets returns what must not be shown.
func (p *proxy) secrets() []string {
	if p == nil {
		return nil
	}
	return []string{p.password, p.authorization, strings.TrimPrefix(p.authorization, "Basic ")}
}

// tunnel asks the proxy on c for a connection to address. Afterwards c is that
// connection, with nothing of the proxy's answer left on it. As with dialFailure, what
// keeps it from being made counts as refused, apart from time and a broken connection.
func (p *proxy) tunnel(ctx context.Context, c *conn, address string) *failure {
	stop := context.AfterFunc(ctx, c.interrupt)
	status, err := c.connect(address, p.authorization)
	if !stop() { // the connection is interrupted, or about to be
		return p.failed(policy.KindTimeout, "no answer in time")
	}
	switch {
	case err != nil:
		return p.broken(err, c.readErr)
	case status == fasthttp.StatusProxyAuthRequired:
		f := p.failed(policy.KindStatus, "status 407: it wants other credentials than endpoint.proxy has")
		f.status = status
		return f
	case status < 200 || status > 299:
		return p.failed(policy.KindRefused, "refuses a connection to %s: status %d", address, status)
	case c.r.Buffered() > 0:
		return p.failed(policy.KindRefused, "more came than the answer to CONNECT")
	}
	return nil
}

func (p *proxy) broken(err, read error) *failure {
	switch {
	case isTimeout(err) || isTimeout(read):
		return p.failed(policy.KindTimeout, "no answer in time")
	case read != nil || isReset(err):
		return p.failed(policy.KindReset, "connection closed before an answer")
	}
	return p.failed(policy.KindRefused, "the answer is not valid HTTP/1.1")
}

func (p *proxy) failed(kind policy.Kind, format string, args ...any) *failure {
	f := failed(kind, "proxy "+p.address+": "+format, args...)
	f.atProxy = true
	return f
}

// connect makes a CONNECT request and returns the status of the answer, whose header
// has maxHeader bytes at most. A body would belong to the connection that was refused.
func (c *conn) connect(address, authorization string) (status int, err error) {
	request := "CONNECT " + address + " HTTP/1.1\r\nHost: " + address + "\r\n"
	if authorization != "" {
		request += "Proxy-Authorization: " + authorization + "\r\n"
	}
	if _, err := c.wire.Write([]byte(request + "\r\n")); err != nil {
		return 0, err
	}
	var header fasthttp.ResponseHeader
	err = header.Read(c.r)
	return header.StatusCode(), err
}
