package forward

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
)

// target is where the requests go.
type target struct {
	network string // tcp or unix
	address string // host:port, or the path of the socket; it has no credentials and may be shown
	tlsName string // the name that the certificate must carry; empty without TLS
	host    string // the header Host
	uri     string // the request target: path and query
}

// errURL never quotes the URL: it may have a password in it.
var errURL = errors.New("not a valid URL")

// maxSocketPath is what Linux has room for in sockaddr_un, without the final zero.
const maxSocketPath = 107

// parseTarget reads an endpoint's URL. No error quotes it; each shows how one looks.
func parseTarget(raw string) (target, error) {
	t, err := parseURL(raw)
	if err != nil {
		return target{}, fmt.Errorf("%w; want http://host:port/path, https://... or unix:///path.sock:/http/path", err)
	}
	return t, nil
}

func parseURL(raw string) (target, error) {
	if raw == "" {
		return target{}, errors.New("is required")
	}
	if rest, ok := strings.CutPrefix(raw, "unix://"); ok {
		return parseUnix(rest)
	}
	u, err := url.Parse(raw)
	if err != nil {
		return target{}, errURL
	}
	switch u.Scheme {
	case "http", "https":
		return parseHTTP(u, strings.Contains(raw, "#"))
	case "unix": // with fewer slashes than it needs
		return target{}, errURL
	}
	return target{}, errors.New("scheme must be http, https or unix")
}

func parseHTTP(u *url.URL, fragment bool) (target, error) {
	port, err := portOf(u)
	switch {
	case u.User != nil:
		return target{}, errors.New("must not have a user or password in it (use basic.username and basic.password)")
	case fragment:
		return target{}, errors.New("must not have a fragment (#...)")
	case u.Hostname() == "":
		return target{}, errors.New("has no host")
	case err != nil:
		return target{}, err
	case !isHost(u.Host):
		return target{}, errors.New("host must be plain ASCII (an international name in its xn-- form, an IPv6 address without a zone)")
	case !isRequestTarget(u.RequestURI()):
		return target{}, errors.New("path and query must be percent-encoded")
	}
	t := target{network: "tcp", address: net.JoinHostPort(u.Hostname(), port), host: u.Host, uri: u.RequestURI()}
	if u.Scheme == "https" {
		t.tlsName = u.Hostname()
	}
	return t, nil
}

func portOf(u *url.URL) (string, error) {
	port := u.Port()
	switch {
	case strings.HasSuffix(u.Host, ":"):
		return "", errors.New("has a colon after the host but no port")
	case port == "" && u.Scheme == "https":
		return "443", nil
	case port == "":
		return "80", nil
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return "", errors.New("port must be 1 to 65535")
	}
	return port, nil
}

// parseUnix reads what follows unix://, that is /path.sock:/http/path. The second
// path may be left out.
func parseUnix(rest string) (target, error) {
	socket, path, _ := strings.Cut(rest, ":")
	if path == "" {
		path = "/"
	}
	if len(socket) < 2 || socket[0] != '/' || path[0] != '/' {
		return target{}, errURL
	}
	if len(socket) > maxSocketPath {
		return target{}, errors.New("path of the socket must have at most 107 bytes")
	}
	u, err := url.Parse("http://localhost" + path)
	if err != nil {
		return target{}, errURL
	}
	t, err := parseHTTP(u, strings.Contains(rest, "#"))
	t.network, t.address = "unix", socket
	return t, err
}

func isHost(host string) bool {
	return isFieldValue(host) && !strings.ContainsAny(host, " \t%,/\\")
}

// isRequestTarget reports whether uri keeps the request line in three parts.
func isRequestTarget(uri string) bool {
	for i := range len(uri) {
		if !isVisible(uri[i]) {
			return false
		}
	}
	return true
}
