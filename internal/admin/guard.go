package admin

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// guarded refuses requests over loopback that name a host which is not this one. A
// page that somebody looks at on this host can point its own name at 127.0.0.1 (DNS
// rebinding), and then counts as of the same origin as the listener: its script could
// read everything. A browser always sends the page's name as Host.
func guarded(allowed hosts, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		h.Set("X-Content-Type-Options", "nosniff")
		if local, remote := ends(r); onLoopback(local, remote) && !allowed.has(r.Host) {
			answer(w, http.StatusMisdirectedRequest, fmt.Sprintf(
				"over loopback the Host header must be localhost, a loopback address or the host of admin.listen, not %q", r.Host))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// thisHostOnly refuses requests from elsewhere, since there is no login. A proxy on
// this host connects over loopback for clients from anywhere.
func thisHostOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		local, remote := ends(r)
		switch header := proxied(r.Header); {
		case header != "":
			answer(w, http.StatusForbidden,
				"a proxy passed this request on, as its header "+header+" says, and this page is for this host alone, since it has no login.",
				"On the host of retryd ask without the proxy; from elsewhere do so through a tunnel by ssh -L.")
		case !onLoopback(local, remote):
			refuseElsewhere(w, local)
		default:
			next.ServeHTTP(w, r)
		}
	})
}

// refuseElsewhere says how to ask from this host. local is the address that was asked,
// host:port.
func refuseElsewhere(w http.ResponseWriter, local string) {
	_, port, err := net.SplitHostPort(local)
	if err != nil {
		port = "9464"
	}
	answer(w, http.StatusForbidden,
		"only connections over loopback may read this page, since it has no login.",
		"On the host of retryd ask 127.0.0.1:"+port+"; from elsewhere do so through a tunnel:",
		"ssh -L "+port+":127.0.0.1:"+port+" HOST",
		"admin.listen must include loopback, as 127.0.0.1 and 0.0.0.0 do.")
}

// proxied returns the header by which a proxy says that it passes a request on, or "":
// Forwarded (RFC 7239), Via (RFC 9110, section 7.6.3), or the usual one from before them.
func proxied(h http.Header) string {
	for _, header := range []string{"Forwarded", "X-Forwarded-For", "Via"} {
		if len(h.Values(header)) > 0 {
			return header
		}
	}
	return ""
}

// ends returns the addresses of a request's connection, host:port.
func ends(r *http.Request) (local, remote string) {
	if addr, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		local = addr.String()
	}
	return local, r.RemoteAddr
}

// onLoopback reports whether a connection never left this host: both ends, host:port,
// are loopback addresses.
func onLoopback(local, remote string) bool {
	return isLoopback(local) && isLoopback(remote)
}

func isLoopback(hostport string) bool {
	addr, err := netip.ParseAddrPort(hostport)
	return err == nil && addr.Addr().Unmap().IsLoopback()
}

// hosts knows by which names this host may be called over loopback.
type hosts struct{ configured string }

func newHosts(c Config) hosts {
	return hosts{hostOf(c.Listen)}
}

// has reports whether a Host header is of this host, whatever its port: localhost
// and what is below it (RFC 6761, section 6.3), a loopback address, or the configured
// host. An absent one, as HTTP/1.0 allows, is of no browser.
func (h hosts) has(header string) bool {
	host := hostOf(header)
	switch {
	case header == "", host == "localhost", strings.HasSuffix(host, ".localhost"):
		return true
	case host != "" && host == h.configured:
		return true
	}
	addr, err := netip.ParseAddr(host)
	return err == nil && addr.Unmap().IsLoopback()
}

// hostOf returns the host of a Host header or an address, in lower case, without
// port, brackets and the dot that may end a name.
func hostOf(hostport string) string {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil { // no port
		host = hostport
		if inner, ok := strings.CutPrefix(host, "["); ok {
			host = strings.TrimSuffix(inner, "]")
		}
	}
	return strings.TrimSuffix(strings.ToLower(host), ".")
}
