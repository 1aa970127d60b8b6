package admin

import (
	"bufio"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
)

func TestLoopbackNeedsBothEnds(t *testing.T) {
	tests := []struct {
		local, remote string
		want          bool
	}{
		{"127.0.0.1:9464", "127.0.0.1:50000", true},
		{"127.0.0.1:9464", "127.8.9.10:50000", true},
		{"[::1]:9464", "[::1]:50000", true},
		{"[::ffff:127.0.0.1]:9464", "[::ffff:127.0.0.1]:50000", true},
		{"192.168.1.5:9464", "127.0.0.1:50000", false},
		{"127.0.0.1:9464", "192.168.1.5:50000", false},
		{"192.168.1.5:9464", "192.168.1.5:50000", false},
		{"[::ffff:192.168.1.5]:9464", "[::1]:50000", false},
		{"[fe80::1%eth0]:9464", "[fe80::2%eth0]:50000", false},
		{"0.0.0.0:9464", "127.0.0.1:50000", false},
		{"", "", false},
		{"pipe", "pipe", false},
	}
	for _, tt := range tests {
		if got := onLoopback(tt.local, tt.remote); got != tt.want {
			t.Errorf("%q from %q: %v, want %v", tt.local, tt.remote, got, tt.want)
		}
	}
}

func TestHostsOfThisHost(t *testing.T) {
	tests := []struct {
		name, listen, host string
		want               bool
	}{
		{"IPv4", "127.0.0.1:9464", "127.0.0.1:9464", true},
		{"another port, as through a tunnel", "127.0.0.1:9464", "127.0.0.1:8000", true},
		{"without a port", "127.0.0.1:9464", "127.0.0.1", true},
		{"another loopback address", "127.0.0.1:9464", "127.0.0.53:9464", true},
		{"IPv6", "127.0.0.1:9464", "[::1]:9464", true},
		{"IPv6 without a port", "127.0.0.1:9464", "[::1]", true},
		{"IPv6 without brackets", "127.0.0.1:9464", "::1", true},
		{"IPv4 in IPv6", "127.0.0.1:9464", "[::ffff:127.0.0.1]:9464", true},
		{"localhost", "127.0.0.1:9464", "localhost:9464", true},
		{"upper case", "127.0.0.1:9464", "LocalHost:9464", true},
		{"trailing dot", "127.0.0.1:9464", "localhost.:9464", true},
		{"below localhost", "127.0.0.1:9464", "retryd.localhost:9464", true},
		{"none, as in HTTP/1.0", "127.0.0.1:9464", "", true},
		{"the configured name", "Relay.example.:9464", "relay.example:9464", true},
		{"the configured address", "192.168.1.5:9464", "192.168.1.5", true},
		{"every interface", "0.0.0.0:9464", "0.0.0.0:9464", true},

		{"another name", "127.0.0.1:9464", "evil.example:9464", false},
		{"another name, no configured host", ":9464", "evil.example", false},
		{"a port alone", ":9464", ":9464", false},
		{"a dot alone", ":9464", ".", false},
		{"loopback as a label", "127.0.0.1:9464", "127.0.0.1.evil.example", false},
		{"localhost as a label", "127.0.0.1:9464", "localhost.evil.example:9464", false},
		{"ends like localhost", "127.0.0.1:9464", "evillocalhost", false},
		{"another address", "127.0.0.1:9464", "192.168.1.5:9464", false},
		{"unspecified, not configured", "127.0.0.1:9464", "0.0.0.0:9464", false},
		{"behind a bracket", "127.0.0.1:9464", "[::1]evil.example", false},
		{"decimal address", "127.0.0.1:9464", "2130706433", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := newHosts(Config{Listen: tt.listen}).has(tt.host); got != tt.want {
				t.Errorf("%q: %v, want %v", tt.host, got, tt.want)
			}
		})
	}
}

// FuzzHostOfARebindingPage holds against a host that is allowed although a URL
// with it leads elsewhere.
func FuzzHostOfARebindingPage(f *testing.F) {
	for _, seed := range []string{"localhost", "127.0.0.1:1", "[::1]:1", "::1", "x.localhost.", "[::1%25lo]", "evil.example:80", "[", ":", "a:b:c", "LOCALHOST:x"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, header string) {
		if !newHosts(Config{Listen: "127.0.0.1:9464"}).has(header) {
			return
		}
		page, err := url.Parse("http://" + header + "/")
		if err != nil || header == "" {
			return // no page has such a host
		}
		name := strings.TrimSuffix(strings.ToLower(page.Hostname()), ".")
		addr, err := netip.ParseAddr(name)
		loopback := err == nil && addr.Unmap().IsLoopback()
		if name != "localhost" && !strings.HasSuffix(name, ".localhost") && !loopback {
			t.Errorf("%q is allowed and leads to %q", header, name)
		}
	})
}

func TestForeignHostIsRefusedOverLoopback(t *testing.T) {
	s := started(t, fine())
	for _, path := range []string{"/healthz", "/readyz", "/metrics", "/api/v1/relays", "/none"} {
		req, err := http.NewRequest(http.MethodGet, "http://"+s.Addr()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = "evil.example:9464"
		got := do(t, req)
		want := "over loopback the Host header must be localhost, a loopback address or the host of admin.listen, not \"evil.example:9464\"\n"
		if got.status != 421 || got.body != want {
			t.Errorf("%s: got %d %q, want 421 %q", path, got.status, got.body, want)
		}
	}
}

// elsewhere is a listener whose connections are of an interface that others reach.
type elsewhere struct{ net.Listener }

func (l elsewhere) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return outer{c}, nil
}

type outer struct{ net.Conn }

func (outer) LocalAddr() net.Addr  { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 9464} }
func (outer) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 7), Port: 50000} }

func TestOffLoopbackOnlyHealthAndMetricsAreServed(t *testing.T) {
	s := New(Config{Listen: "127.0.0.1:0"}, prometheus.NewRegistry(), fine(), zap.NewNop())
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	s.ln = elsewhere{s.ln}
	defer serve(t, s)()
	refused := "only connections over loopback may read this page, since it has no login.\n" +
		"On the host of retryd ask 127.0.0.1:9464; from elsewhere do so through a tunnel:\n" +
		"ssh -L 9464:127.0.0.1:9464 HOST\n" +
		"admin.listen must include loopback, as 127.0.0.1 and 0.0.0.0 do.\n"
	for path, want := range map[string]reply{
		"/healthz":       {status: 200, body: "ok\n"},
		"/readyz":        {status: 200, body: "ok\n"},
		"/metrics":       {status: 200},
		"/api/v1/relays": {status: 403, body: refused},
	} {
		for _, host := range []string{"retryd.example:9464", "localhost"} {
			req, err := http.NewRequest(http.MethodGet, "http://"+s.Addr()+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Host = host
			if got := do(t, req); got.status != want.status || got.body != want.body {
				t.Errorf("%s as %s: got %d %q, want %d %q", path, host, got.status, got.body, want.status, want.body)
			}
		}
	}
}

func TestProxyOnThisHostIsNotThisHost(t *testing.T) {
	s := started(t, fine())
	for header, value := range map[string]string{"Forwarded": "for=192.0.2.7", "X-Forwarded-For": "192.0.2.7", "Via": "1.1 proxy"} {
		for path, want := range map[string]reply{
			"/healthz": {status: 200, body: "ok\n"},
			"/metrics": {status: 200},
			"/api/v1/relays": {status: 403, body: "a proxy passed this request on, as its header " + header +
				" says, and this page is for this host alone, since it has no login.\n" +
				"On the host of retryd ask without the proxy; from elsewhere do so through a tunnel by ssh -L.\n"},
		} {
			req, err := http.NewRequest(http.MethodGet, "http://"+s.Addr()+path, nil)
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set(header, value)
			if got := do(t, req); got.status != want.status || got.body != want.body {
				t.Errorf("%s with %s: got %d %q, want %d %q", path, header, got.status, got.body, want.status, want.body)
			}
		}
	}
}

func TestOldClientWithoutAHostIsServed(t *testing.T) {
	s := started(t, fine())
	c, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := send(c, "GET /healthz HTTP/1.0\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != http.StatusOK {
		t.Errorf("got %s", res.Status)
	}
}
