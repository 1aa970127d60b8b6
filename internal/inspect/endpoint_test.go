package inspect

import (
	"bytes"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
)

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
	requireText(t, `fail a endpoint: tls handshake with UNTRUSTED: tls: failed to verify certificate: x509: certificate signed by unknown authority; the certificate must be valid for the host of endpoint.url and come from an authority that this host trusts
fail b endpoint: connect 127.0.0.1:1: connection refused; is the application running, and is endpoint.url right?
ok c endpoint: unix:///SOCKET:/loans takes connections; nothing was posted
fail d endpoint: endpoint.bearer_token_file: open /nowhere/token: no such file or directory; check as the user that runs retryd
`, endpoints.String())
}
