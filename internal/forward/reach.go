package forward

import (
	"context"
	"errors"
	"time"

	"github.com/retryd/retryd/internal/policy"
)

// Reach opens a connection as an attempt does, with the TLS handshake, and closes
// it again: not one byte of a request is sent, so that the endpoint handles
// nothing. It returns within the configured timeout, or when ctx ends. An error
// says what keeps every attempt from a response, and what to look at.
func (c *Client) Reach(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	opened, f := c.dial(ctx)
	if f != nil {
		return errors.New(f.text + remedy(f))
	}
	_ = opened.Close() // nothing was written that could be lost
	return nil
}

// Peer is what Reach connects to, how, and for how long it tries. Where those of two
// clients are equal, what one of them reaches the other does, too.
type Peer struct {
	network, address, tlsName string
	tls                       TLS
	Proxy                     Secret // exported to stay hidden
	timeout                   time.Duration
}

// Peer returns what the client connects to.
func (c *Client) Peer() Peer { return c.peer }

// remedy says where the cause of a failed connection is to be looked for.
func remedy(f *failure) string {
	if f.notTLS {
		return "; does the port of endpoint.url speak TLS? For plain HTTP the URL must begin with http:"
	}
	if f.atProxy {
		return "; is endpoint.proxy right, does the proxy run, and may it connect to the endpoint?"
	}
	switch f.kind {
	case policy.KindDNS:
		return "; correct the host in endpoint.url, or this host's name resolution"
	case policy.KindRefused:
		return "; is the application running, and is endpoint.url right?"
	case policy.KindTimeout:
		return "; is endpoint.url right, does a firewall drop the connection, or is the application too busy to accept it?"
	case policy.KindReset:
		return "; does the port of endpoint.url speak TLS?"
	case policy.KindTLS:
		return "; the certificate must be valid for the host of endpoint.url (or endpoint.tls.server_name) and come from an authority that this host (or endpoint.tls.ca_file) trusts"
	}
	return ""
}
