package forward

import (
	"bytes"
	"slices"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/retryd/retryd/internal/policy"
)

const (
	maxResponse   = 1024 // bytes of Outcome.Response
	maxAppVersion = 64   // bytes of Outcome.AppVersion
)

// accepts reports whether a status means that the endpoint took the record.
func (c *Client) accepts(status int) bool {
	if len(c.success) > 0 {
		return slices.Contains(c.success, status)
	}
	return status >= 200 && status <= 299
}

// outcomeOf judges a response by its status alone. The body is read to keep the
// connection, and for people; one that breaks off changes nothing.
func (c *Client) outcomeOf(resp *fasthttp.Response, head []byte) policy.Outcome {
	o := policy.Outcome{Status: resp.StatusCode()}
	if c.appVersion != "" {
		o.AppVersion = c.visible(resp.Header.Peek(c.appVersion))
	}
	if c.accepts(o.Status) {
		o.Verdict = policy.VerdictOf(policy.ClassNone)
		return o
	}
	o.Kind = policy.KindStatus
	class := policy.Classify(o.Status, o.Kind)
	if class == policy.ClassNone {
		class = policy.ClassUnknown // a 2xx that is not on the list
	}
	o.Verdict = policy.VerdictOf(class)
	o.Error = statusError(o.Status)
	o.Response = c.redact(head)
	return o
}

// statusError formats nothing for what an endpoint says that is down or too busy.
func statusError(status int) string {
	switch status {
	case 500:
		return "status 500"
	case 502:
		return "status 502"
	case 503:
		return "status 503"
	case 504:
		return "status 504"
	}
	return "status " + strconv.Itoa(status)
}

// headBytes is how much of a body is needed: Outcome.Response, and so much more
// that no secret can hide half cut off at its end.
func (c *Client) headBytes(status int) int {
	if !c.capture || c.accepts(status) {
		return 0
	}
	return maxResponse + c.secrets.longest
}

// redact hides the credentials in the start of a body. White space at the end goes:
// most bodies end a line, and this becomes the value of a header.
func (c *Client) redact(head []byte) []byte {
	clean := []byte(c.secrets.replace.Replace(string(head)))
	if clean = bytes.TrimRight(clean[:min(len(clean), maxResponse)], " \t\r\n"); len(clean) == 0 {
		return nil
	}
	return clean
}

// visible returns a header value if it is short visible ASCII, cut to
// maxAppVersion bytes.
func (c *Client) visible(value []byte) string {
	if slices.ContainsFunc(value, func(b byte) bool { return !isVisible(b) }) {
		return ""
	}
	s := c.secrets.replace.Replace(string(value))
	return s[:min(len(s), maxAppVersion)]
}

// keepFor returns how long the connection of a response may be kept: the
// configured time, or three quarters of what the server announces as its own, so
// that ours ends first. 0 means that it must be closed.
func (c *Client) keepFor(resp *fasthttp.Response) time.Duration {
	if resp.ConnectionClose() || resp.StatusCode() < 200 {
		return 0 // below 200: the protocol was switched
	}
	if announced, ok := keepAliveTimeout(resp.Header.Peek("Keep-Alive")); ok {
		return min(c.idleTimeout, announced*3/4)
	}
	return c.idleTimeout
}

// keepAliveTimeout reads the timeout of a header like "timeout=5, max=100"
// (RFC 2068, section 19.7.1.1), in seconds.
func keepAliveTimeout(value []byte) (time.Duration, bool) {
	for parameter := range bytes.SplitSeq(value, []byte(",")) {
		name, number, _ := bytes.Cut(bytes.TrimSpace(parameter), []byte("="))
		if !sameName(bytes.TrimSpace(name), "timeout") {
			continue
		}
		seconds, err := strconv.ParseUint(string(bytes.TrimSpace(number)), 10, 31)
		return time.Duration(seconds) * time.Second, err == nil
	}
	return 0, false
}
