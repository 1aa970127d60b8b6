package forward

import (
	"bytes"
	"slices"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/retryd/retryd/internal/policy"
	"github.com/retryd/retryd/internal/redact"
)

const (
	maxResponse   = 1024 // bytes of Outcome.Response
	maxAppVersion = 64   // bytes of Outcome.AppVersion
)

// headerAction is the header with which an endpoint decides by itself.
const headerAction = "Retryd-Action"

// outcomeOf judges a response by its status and headers. The body is read to keep the
// connection, and for people; one that breaks off changes nothing.
func (c *Client) outcomeOf(resp *fasthttp.Response) policy.Outcome {
	o := policy.Outcome{Status: resp.StatusCode()}
	if c.appVersion != "" {
		o.AppVersion = c.visible(resp.Header.Peek(c.appVersion))
		if o.AppVersion != "" && c.hide.Hides(c.appVersion) {
			o.AppVersion = redact.Mask
		}
	}
	o.Verdict = c.verdict(resp, &o.Ignored)
	if !o.Delivered() {
		o.Kind = policy.KindStatus
		o.Error = failedError(o.Status, o.Verdict)
		o.Wait = min(wait(resp, time.Now(), &o.Ignored), c.maxWait)
	}
	return o
}

// verdict is what the endpoint itself says, else what the rules do.
func (c *Client) verdict(resp *fasthttp.Response, ignored *policy.Words) policy.Verdict {
	if said := resp.Header.Peek(headerAction); len(said) > 0 {
		if treatment, ok := action(said); ok {
			return policy.Verdict{Treatment: treatment, Class: treatment.Class(), Spoken: true}
		}
		*ignored |= policy.WordRetrydAction
	}
	return c.table.Answer(resp.StatusCode(), &resp.Header)
}

// wait returns how long the endpoint asks to wait from now on, 0 if it does not.
// Retryd-Delay outweighs Retry-After.
func wait(resp *fasthttp.Response, now time.Time, ignored *policy.Words) (asked time.Duration) {
	if said := resp.Header.Peek("Retry-After"); len(said) > 0 {
		d, ok := retryAfter(said, resp.Header.Peek("Date"), now)
		if asked = d; !ok {
			*ignored |= policy.WordRetryAfter
		}
	}
	if said := resp.Header.Peek("Retryd-Delay"); len(said) > 0 {
		if d, ok := retrydDelay(said); ok {
			return d
		}
		*ignored |= policy.WordRetrydDelay
	}
	return asked
}

// failedError names the status, and what made a failure of it unless that is the
// default table.
func failedError(status int, v policy.Verdict) string {
	switch {
	case v.Spoken:
		return statusError(status) + ", " + headerAction + ": " + string(v.Treatment)
	case v.Rule != "":
		return statusError(status) + ", " + v.Rule + ": " + string(v.Treatment)
	}
	return statusError(status)
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

// headBytes is how much of a body is needed: Outcome.Response, and so much more that
// a secret which begins in it is whole.
func (c *Client) headBytes(o policy.Outcome) int {
	if !c.capture || o.Delivered() {
		return 0
	}
	return maxResponse + c.secrets.longest
}

// clean hides in the start of a body what is kept of none, the credentials and what
// the rules say. White space at the end goes: most bodies end a line, and this becomes
// the value of a header.
func (c *Client) clean(head []byte) []byte {
	if len(head) == 0 {
		return nil
	}
	if len(head) >= maxResponse+c.secrets.longest { // more may follow
		head = c.secrets.whole(head)
	}
	clean := []byte(c.secrets.replace.Replace(string(c.hide.JSON(head))))
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
	if said := resp.Header.Peek("Keep-Alive"); len(said) > 0 {
		if announced, ok := keepAliveTimeout(said); ok {
			return min(c.idleTimeout, announced*3/4)
		}
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
