package inspect

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
)

// connectProxy is a proxy that opens every connection that it is asked for.
func connectProxy(t *testing.T) string {
	t.Helper()
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		endpoint, err := net.Dial("tcp", r.RequestURI)
		if r.Method != http.MethodConnect || err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer endpoint.Close()
		w.WriteHeader(http.StatusOK)
		client, buffered, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer client.Close()
		go func() { _, _ = io.Copy(client, endpoint) }()
		_, _ = io.Copy(endpoint, buffered)
	}))
	t.Cleanup(proxy.Close)
	return proxy.Listener.Addr().String()
}

func TestConnectGoesByTheWayOfAnAttempt(t *testing.T) {
	s := startScene(t, kfake.SeedTopics(1, "a", "b", "c", "d", "e"))
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a request was made") }))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	der, err := x509.MarshalPKCS8PrivateKey(server.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, block := range map[string]*pem.Block{"cert": {Type: "CERTIFICATE", Bytes: server.Certificate().Raw}, "key": {Type: "PRIVATE KEY", Bytes: der}} {
		if err := os.WriteFile(filepath.Join(dir, name), pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s.name(server.Listener.Addr().String(), "SECURE")
	s.name(connectProxy(t), "PROXY")
	s.name(dir, "/FILES")
	got := s.connect(t, `
kafka: {brokers: [BROKER]}
defaults: {tiers: [], endpoint: {timeout: 5s, url: "https://SECURE/"}}
relays:
  - {topic: a, endpoint: {tls: {ca_file: /FILES/cert}}}
  - {topic: b, endpoint: {tls: {ca_file: /FILES/cert, cert_file: /FILES/cert, key_file: /FILES/key}, proxy: "http://u:hush@PROXY"}}
  - {topic: c, endpoint: {tls: {ca_file: /FILES/cert}, proxy: "http://u:hush@127.0.0.1:1"}}
  - {topic: d, endpoint: {tls: {ca_file: /FILES/key}}}
  - {topic: e, endpoint: {tls: {ca_file: /FILES/cert, server_name: other.example}}}
`)
	var endpoints bytes.Buffer
	for line := range strings.Lines(got) {
		if strings.Contains(line, " endpoint: ") {
			endpoints.WriteString(line)
		}
	}
	requireText(t, `ok a endpoint: https://SECURE/ takes connections, its certificate is valid; nothing was posted
ok b endpoint: https://SECURE/ takes connections through endpoint.proxy, its certificate is valid (whether it accepts that of endpoint.tls shows at the first request); nothing was posted
fail c endpoint: proxy: connect 127.0.0.1:1: connection refused; is endpoint.proxy right, does the proxy run, and may it connect to the endpoint?
fail d endpoint: endpoint.tls.ca_file: /FILES/key holds no certificate in PEM; check as the user that runs retryd
fail e endpoint: tls handshake with SECURE: tls: failed to verify certificate: x509: certificate is valid for example.com, *.example.com, not other.example; the certificate must be valid for the host of endpoint.url (or endpoint.tls.server_name) and come from an authority that this host (or endpoint.tls.ca_file) trusts
`, endpoints.String())
}

func TestConnectLooksAtEndpointsOfAllKinds(t *testing.T) {
	s := startScene(t, kfake.SeedTopics(1, "a", "b", "c", "d"))
	untrusted := httptest.NewUnstartedServer(http.NotFoundHandler())
	untrusted.Config.ErrorLog = log.New(io.Discard, "", 0)
	untrusted.StartTLS()
	t.Cleanup(untrusted.Close)
	socket, err := net.Listen("unix", filepath.Join(t.TempDir(), "app.sock"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { socket.Close() })
	s.name(strings.TrimPrefix(untrusted.URL, "https://"), "UNTRUSTED")
	s.name(socket.Addr().String(), "/SOCKET")
	got := s.connect(t, `
kafka: {brokers: [BROKER]}
defaults: {tiers: [], endpoint: {timeout: 5s}}
relays:
  - {topic: a, endpoint: {url: "https://UNTRUSTED/"}}
  - {topic: b, endpoint: {url: "http://127.0.0.1:1/"}}
  - {topic: c, endpoint: {url: "unix:///SOCKET:/loans"}}
  - {topic: d, endpoint: {url: "http://ENDPOINT/", bearer_token_file: /nowhere/token}}
`)
	var endpoints bytes.Buffer
	for line := range strings.Lines(got) {
		if strings.Contains(line, " endpoint: ") {
			endpoints.WriteString(line)
		}
	}
	requireText(t, `fail a endpoint: tls handshake with UNTRUSTED: tls: failed to verify certificate: x509: certificate signed by unknown authority; the certificate must be valid for the host of endpoint.url (or endpoint.tls.server_name) and come from an authority that this host (or endpoint.tls.ca_file) trusts
fail b endpoint: connect 127.0.0.1:1: connection refused; is the application running, and is endpoint.url right?
ok c endpoint: unix:///SOCKET:/loans takes connections; nothing was posted
fail d endpoint: endpoint.bearer_token_file: open /nowhere/token: no such file or directory; check as the user that runs retryd
`, endpoints.String())
}
