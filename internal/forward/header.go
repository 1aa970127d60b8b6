package forward

import "strings"

// isToken reports whether s can be the name of a header (RFC 9110, section 5.6.2).
func isToken[T ~string | ~[]byte](s T) bool {
	for i := range len(s) {
		c := s[i]
		alphanumeric := '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !alphanumeric && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return len(s) > 0
}

// isFieldValue reports whether s arrives unchanged as the value of a header
// (RFC 9110, section 5.5): visible ASCII, and blanks that are neither first nor
// last, since every parser strips those. Bytes above ASCII are not safe: servers
// read them as Latin-1, as UTF-8 or not at all. The empty value is safe.
func isFieldValue[T ~string | ~[]byte](s T) bool {
	for i := range len(s) {
		c := s[i]
		blank := c == ' ' || c == '\t'
		if blank && (i == 0 || i == len(s)-1) || !blank && !isVisible(c) {
			return false
		}
	}
	return true
}

// isVisible reports whether c is visible ASCII.
func isVisible(c byte) bool { return '!' <= c && c <= '~' }

// sameName reports whether two header names are the same to a server: in any case,
// and with _ for -, because gateways in the tradition of CGI map both to _.
func sameName[T ~string | ~[]byte](a T, b string) bool {
	return len(a) == len(b) && hasNamePrefix(a, b)
}

// hasNamePrefix is sameName for the start of a name.
func hasNamePrefix[T ~string | ~[]byte](name T, prefix string) bool {
	if len(name) < len(prefix) {
		return false
	}
	for i := range len(prefix) {
		if fold(name[i]) != fold(prefix[i]) {
			return false
		}
	}
	return true
}

func fold(c byte) byte {
	switch {
	case 'A' <= c && c <= 'Z':
		return c + 'a' - 'A'
	case c == '_':
		return '-'
	}
	return c
}

// isReserved reports whether a header is retryd's or the connection's own, so that
// neither a record nor the configuration may set it: what frames the message, what
// concerns one hop only (RFC 9110, section 7.6.1), credentials, the headers of the
// webhook contract, and those of Standard Webhooks.
func isReserved[T ~string | ~[]byte](name T) bool {
	for _, r := range reserved {
		if sameName(name, r) {
			return true
		}
	}
	return hasNamePrefix(name, "Retryd-") || hasNamePrefix(name, "webhook-")
}

var reserved = [...]string{
	"Content-Type", "User-Agent", "Idempotency-Key",
	"Host", "Content-Length", "Expect", "Cookie", "Authorization",
	"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization", "Proxy-Connection",
	"TE", "Trailer", "Transfer-Encoding", "Upgrade",
}
