// Package forward makes one HTTP attempt for one record, and guards the endpoint
// with a gate.
//
// It holds, orders and commits nothing, and it never retries: an attempt is one
// request, whose outcome package policy judges.
//
// Requests and responses are fasthttp's, its client is not: that one reports a
// request that was answered before it was read to its end (a 413) as a broken
// connection, keeps every connection equally long whatever the server announces,
// cannot be interrupted by a context, and leaves a goroutine behind when it is
// closed (v1.78.0, client.go).
package forward

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/retryd/retryd/internal/policy"
	"github.com/retryd/retryd/internal/record"
	"github.com/retryd/retryd/internal/redact"
)

// Request is what one attempt sends. It is only read.
type Request struct {
	Record *record.Record
	State  *record.State
}

// Client makes the attempts of one relay. It is safe for concurrent use. It opens
// as many connections as there are attempts at a time: bounding them is the
// caller's part.
type Client struct {
	route       route
	peer        Peer
	dial        func(context.Context) (*conn, *failure) // of route
	idle        pool
	timeout     time.Duration
	idleTimeout time.Duration

	agent       string
	contentType string
	forward     forwarding
	fixed       []fixedHeader
	signer      signer
	health      *health // nil: endpoint.health is not set

	table      *policy.Table
	maxWait    time.Duration
	capture    bool
	appVersion string
	secrets    redactor
	hide       redact.Rules
}

// New returns the client of one relay. relay and version make the User-Agent, and hide
// says what is kept of no answer. It reads the files of secrets and certificates; an
// error says with key and path what is wrong.
func New(c Config, relay, version string, hide redact.Rules) (*Client, error) {
	if errs := c.Validate(); len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	creds, err := credentialsOf(c)
	if err != nil {
		return nil, err
	}
	signer, hidden, err := signerOf(c.Signing)
	if err != nil {
		return nil, err
	}
	way, err := routeOf(c)
	if err != nil {
		return nil, err
	}
	health, err := newHealth(c, way, creds.headers)
	if err != nil {
		return nil, err
	}
	hidden = slices.Concat(hidden, creds.secrets, way.proxy.secrets(), querySecrets(way.target.uri))
	return &Client{
		route:       way,
		peer:        Peer{way.target.network, way.target.address, way.target.tlsName, c.TLS, c.Proxy, c.Timeout},
		dial:        way.dial,
		timeout:     c.Timeout,
		idleTimeout: c.IdleTimeout,
		agent:       userAgent(relay, version),
		contentType: c.ContentType,
		forward:     newForwarding(c.ForwardHeaders, namesOf(creds.headers)),
		fixed:       creds.headers,
		table:       c.Table(),
		maxWait:     c.MaxRetryAfter,
		signer:      signer,
		health:      health,
		capture:     c.CaptureResponse,
		appVersion:  c.AppVersionHeader,
		secrets:     newRedactor(hidden),
		hide:        hide,
	}, nil
}

// Attempt posts the record once and reports what came of it. It returns within the
// configured timeout, which covers resolving, connecting, TLS, the request and the
// response, or as soon as ctx ends: then the connection is dropped, and the outcome
// says nothing about the endpoint, which may or may not have taken the record.
//
// The endpoint sees one request at most. Only a kept connection that turns out to
// be closed before one byte of the request was written is replaced by a new one.
func (c *Client) Attempt(ctx context.Context, r Request) policy.Outcome {
	start := time.Now()
	req, resp := fasthttp.AcquireRequest(), fasthttp.AcquireResponse()
	defer fasthttp.ReleaseRequest(req)
	defer fasthttp.ReleaseResponse(resp)
	c.build(req, r, start)
	o, f := c.send(ctx, start, req, resp)
	switch {
	case f == nil:
	case ctx.Err() != nil:
		o = failureOf(stopped(), policy.VerdictOf(policy.ClassTransient)) // no rule is about this
	default:
		o = failureOf(f, c.failureVerdict(f))
	}
	o.Duration = time.Since(start)
	return o
}

// send makes the request on a kept connection, or on a new one.
func (c *Client) send(ctx context.Context, start time.Time, req *fasthttp.Request, resp *fasthttp.Response) (policy.Outcome, *failure) {
	if ctx.Err() != nil {
		return policy.Outcome{}, stopped()
	}
	deadline := start.Add(c.timeout)
	if kept := c.idle.get(start, c.route.tls.at(start)); kept != nil {
		o, sent, f := c.sendOn(ctx, kept, deadline, req, resp)
		if f == nil || sent || f.kind == policy.KindTimeout {
			return o, f
		}
	}
	dialCtx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	fresh, f := c.dial(dialCtx)
	if f != nil {
		f.unreached = true
		return policy.Outcome{}, f
	}
	o, _, f := c.sendOn(ctx, fresh, deadline, req, resp)
	return o, f
}

// sendOn makes the request on cn, and then keeps or closes it. sent tells whether
// any byte of the request left this process.
func (c *Client) sendOn(ctx context.Context, cn *conn, deadline time.Time, req *fasthttp.Request, resp *fasthttp.Response) (o policy.Outcome, sent bool, f *failure) {
	keep := time.Duration(0)
	defer func() { c.idle.put(cn, keep) }()
	_ = cn.SetDeadline(deadline) // fails only on a closed connection, as does what follows
	if !cn.watch(ctx) {
		return o, false, exchangeFailure(errStale, nil, c.timeout)
	}
	if ctx.Err() != nil { // perhaps before the deadline was set: nothing ends the exchange
		return o, false, stopped()
	}
	sent, err := cn.exchange(req, resp)
	if err != nil {
		f = exchangeFailure(err, cn.readErr, c.timeout)
		f.sent = sent
		f.unreached = f.kind == policy.KindReset || f.kind == policy.KindTLS
	} else {
		o = c.outcomeOf(resp) // before the body, whose trailer says nothing to us
		head, whole := cn.drain(resp, c.headBytes(o))
		o.Response = c.clean(head)
		if whole && cn.quiet() {
			keep = c.keepFor(resp)
		}
	}
	if ctx.Err() != nil {
		keep = 0 // interrupt has run, or is about to
	}
	return o, sent, f
}

// Close drops the idle connections; those in use are closed after their attempt.
func (c *Client) Close() { c.idle.close() }

// userAgent returns "retryd/<version> (<relay>)". A comment in a header is closed
// by a parenthesis.
func userAgent(relay, version string) string {
	plain := func(r rune) rune {
		if r > '~' || !isVisible(byte(r)) || strings.ContainsRune(`()\`, r) {
			return '_'
		}
		return r
	}
	return "retryd/" + strings.Map(plain, version) + " (" + strings.Map(plain, relay) + ")"
}

func namesOf(headers []fixedHeader) []string {
	var names []string
	for _, h := range headers {
		names = append(names, h.name)
	}
	return names
}
