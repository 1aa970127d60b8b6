package forward

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/retryd/retryd/internal/policy"
)

const (
	maxError   = 256  // bytes of Outcome.Error
	maxFailure = 1024 // bytes of a failure's text: a certificate may have any number of names
)

// failure is why there was no response. Its text, one line, names the address and
// the cause; it never comes from the response, the URL or a header.
type failure struct {
	kind   policy.Kind
	text   string
	status int // of a proxy that wants credentials, else 0

	notTLS  bool // the handshake was answered by something else
	atProxy bool // it is the proxy's, and says nothing of the endpoint

	sent      bool // some of the request left this process
	unreached bool // no connection, or it broke before a response
}

func failed(kind policy.Kind, format string, args ...any) *failure {
	return &failure{kind: kind, text: oneLine(fmt.Sprintf(format, args...), maxFailure)}
}

// stopped is what an attempt ends with when its context has ended.
func stopped() *failure { return failed(policy.KindTimeout, "stopped before a response") }

// failureVerdict takes no rule for the status of a proxy: rules are about the endpoint's
// answers, and one that accepts such a status must not lose a record. Nor must one that
// accepts a timeout, where nothing was sent.
func (c *Client) failureVerdict(f *failure) policy.Verdict {
	v := c.table.Failure(f.kind)
	if f.status != 0 || v.Treatment == policy.TreatDone && !f.sent {
		return policy.VerdictOf(policy.Classify(f.status, f.kind))
	}
	return v
}

func failureOf(f *failure, v policy.Verdict) policy.Outcome {
	return policy.Outcome{Verdict: v, Status: f.status, Kind: f.kind, Unreached: f.unreached, Error: oneLine(f.text, maxError)}
}

// dialFailure explains why there is no connection. Whatever keeps one from being
// made, apart from names and time, counts as refused: also a missing socket file,
// or a network that cannot be reached.
func dialFailure(address string, err error) *failure {
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns):
		return failed(policy.KindDNS, "look up %s: %s", dns.Name, dns.Err)
	case isTimeout(err):
		return failed(policy.KindTimeout, "connect %s: no answer in time", address)
	}
	return failed(policy.KindRefused, "connect %s: %s", address, cause(err))
}

// tlsFailure explains a failed handshake. A connection that breaks during it says
// nothing about certificates, and neither does a port that speaks plain HTTP.
func tlsFailure(address string, err error) *failure {
	var other tls.RecordHeaderError
	switch {
	case errors.As(err, &other):
		f := failed(policy.KindTLS, "tls handshake with %s: the answer is not TLS", address)
		f.notTLS = true
		return f
	case isTimeout(err):
		return failed(policy.KindTimeout, "tls handshake with %s: no answer in time", address)
	case isReset(err):
		return failed(policy.KindReset, "tls handshake with %s: connection closed", address)
	}
	return failed(policy.KindTLS, "tls handshake with %s: %s", address, err)
}

// exchangeFailure explains why there is no response on a connection. read is the
// connection's own account of its last read, which tells more than err.
func exchangeFailure(err, read error, timeout time.Duration) *failure {
	var tooLarge *fasthttp.ErrSmallBuffer
	switch {
	case isTimeout(err) || isTimeout(read):
		return failed(policy.KindTimeout, "no response within %s", timeout)
	case isAlert(read):
		return failed(policy.KindTLS, "tls: %s", read)
	case errors.Is(read, io.EOF):
		return failed(policy.KindReset, "connection closed before a response")
	case read != nil:
		return failed(policy.KindReset, "connection broken before a response: %s", cause(read))
	case isReset(err):
		return failed(policy.KindReset, "connection broken before the request: %s", cause(err))
	case errors.As(err, &tooLarge):
		return failed(policy.KindProtocol, "header of the response exceeds %d bytes", maxHeader)
	}
	return failed(policy.KindProtocol, "response is not valid HTTP/1.1")
}

// isAlert reports whether a TLS connection ended with an alert: a server that wants
// a certificate says so only in answer to the first request (RFC 8446, section
// 4.4.2.4). crypto/tls does not export the type of an alert.
func isAlert(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && (op.Op == "remote error" || op.Op == "local error")
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &t) && t.Timeout()
}

func isReset(err error) bool {
	for _, reset := range []error{io.EOF, io.ErrUnexpectedEOF, io.ErrClosedPipe, net.ErrClosed, syscall.ECONNRESET, syscall.EPIPE} {
		if errors.Is(err, reset) {
			return true
		}
	}
	return false
}

// cause returns what the kernel said, without the addresses that package net puts
// around it.
func cause(err error) string {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno.Error()
	}
	return err.Error()
}

// oneLine makes a text fit a header: printable ASCII, at most limit bytes. What is
// longer ends with "...", behind a word if that is not far.
func oneLine(s string, limit int) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return ' '
		}
		return r
	}, s)
	if len(s) <= limit {
		return s
	}
	s = s[:limit-len("...")]
	if blank := strings.LastIndexByte(s, ' '); blank >= limit/2 {
		s = s[:blank+1]
	}
	return s + "..."
}
