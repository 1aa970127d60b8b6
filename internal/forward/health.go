package forward

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/valyala/fasthttp"
)

// maxHealth bounds a look at the endpoint's health.
const maxHealth = 5 * time.Second

var errNoHealth = errors.New("endpoint.health is not set")

// health is where the endpoint says whether it is well.
type health struct {
	target target
	dial   func(context.Context) (*conn, *failure)
	fixed  []fixedHeader // the endpoint's own, if this is the same server
	shown  string        // the URL, without its query
}

// newHealth returns nil without a URL. A server that is not the endpoint's gets none of
// its credentials, neither headers nor the client certificate.
func newHealth(c Config, endpoint route, fixed []fixedHeader) (*health, error) {
	if c.Health == "" {
		return nil, nil
	}
	t, err := parseTarget(c.Health)
	if err != nil {
		return nil, fmt.Errorf("health: %w", err)
	}
	h := &health{target: t, shown: WithoutQuery(c.Health)}
	way := route{target: t}
	if t.network != "unix" {
		way.proxy = endpoint.proxy
	}
	switch {
	case t.sameServer(endpoint.target):
		h.fixed, way.tls = fixed, endpoint.tls
	case t.tlsName != "":
		way.tls, err = newTLSFiles(TLS{CAFile: c.TLS.CAFile}, t.tlsName)
	}
	h.dial = way.dial
	return h, err
}

// sameServer reports whether two URLs have scheme, host and port in common.
func (t target) sameServer(other target) bool {
	if t.network == "unix" {
		return other.network == "unix" && t.address == other.address
	}
	return other.network == t.network && (t.tlsName == "") == (other.tlsName == "") && strings.EqualFold(t.address, other.address)
}

// Healthy makes one GET of endpoint.health, on a connection of its own, and returns nil
// if the answer is a 2xx. Redirects are not followed. It returns within endpoint.timeout
// or 5 s, whichever is shorter, or when ctx ends. An error is one line without
// credentials.
func (c *Client) Healthy(ctx context.Context) error {
	if c.health == nil {
		return errNoHealth
	}
	limit := min(c.timeout, maxHealth)
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	status, f := c.health.get(bounded, c.agent, limit)
	switch {
	case ctx.Err() != nil:
		f = stopped()
	case f == nil && status >= 200 && status <= 299:
		return nil
	case f == nil:
		return fmt.Errorf("GET %s: %s", c.health.shown, statusError(status))
	}
	return fmt.Errorf("GET %s: %s", c.health.shown, f.text)
}

// get returns the status of the answer. ctx has a deadline, which is limit away.
func (h *health) get(ctx context.Context, agent string, limit time.Duration) (status int, f *failure) {
	cn, f := h.dial(ctx)
	if f != nil {
		return 0, f
	}
	defer func() { _ = cn.Close() }()
	cn.watch(ctx)
	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(resp)
	h.build(req, agent)
	if _, err := cn.exchange(req, resp); err != nil {
		return 0, exchangeFailure(err, cn.readErr, limit)
	}
	cn.drain(resp, 0)
	return resp.StatusCode(), nil
}

func (h *health) build(req *fasthttp.Request, agent string) {
	req.Header.DisableNormalizing()
	req.SetRequestURI(h.target.uri)
	req.Header.SetHost(h.target.host)
	req.Header.SetUserAgent(agent)
	req.Header.SetConnectionClose()
	for _, f := range h.fixed {
		req.Header.Add(f.name, f.value)
	}
}
