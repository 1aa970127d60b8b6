package forward

import (
	"context"
	"errors"

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
		return errors.New(f.text + remedy(f.kind))
	}
	_ = opened.Close() // nothing was written that could be lost
	return nil
}

// remedy says where the cause of a failed connection is to be looked for.
func remedy(k policy.Kind) string {
	switch k {
	case policy.KindDNS:
		return "; correct the host in endpoint.url, or this host's name resolution"
	case policy.KindRefused:
		return "; is the application running, and is endpoint.url right?"
	case policy.KindTimeout:
		return "; is endpoint.url right, does a firewall drop the connection, or is the application too busy to accept it?"
	case policy.KindReset:
		return "; does the port of endpoint.url speak TLS?"
	case policy.KindTLS:
		return "; the certificate must be valid for the host of endpoint.url and come from an authority that this host trusts"
	}
	return ""
}
