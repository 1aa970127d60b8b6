package scenarios

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/retryd/retryd/test/harness"
)

// mutual is TLS in front of an endpoint, which takes requests with a client certificate
// alone: any, and notes which was the last.
type mutual struct {
	dir    string
	serial atomic.Int64
}

// behindTLS leads a chain to its endpoint through TLS, and issues its first certificate.
func (c *chain) behindTLS(t *testing.T) *mutual {
	t.Helper()
	m := &mutual{dir: t.TempDir()}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.serial.Store(r.TLS.PeerCertificates[0].SerialNumber.Int64())
		c.endpoint.ServeHTTP(w, r)
	}))
	server.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	server.StartTLS()
	t.Cleanup(server.Close)
	c.url = server.URL + "/records"
	m.write(t, "ca.pem", pemOf("CERTIFICATE", server.Certificate().Raw))
	m.issue(t, 1, time.Now().Add(time.Hour))
	return m
}

// key is the relay's, for chain.relay.
func (m *mutual) key() string {
	return fmt.Sprintf("endpoint.tls: {ca_file: %s, cert_file: %s, key_file: %s}", m.path("ca.pem"), m.path("client.pem"), m.path("client.key"))
}

func (m *mutual) path(name string) string { return filepath.Join(m.dir, name) }

// issue replaces the client's certificate and its key.
func (m *mutual) issue(t *testing.T, serial int64, notAfter time.Time) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(serial), NotBefore: time.Now().Add(-time.Hour), NotAfter: notAfter}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	m.write(t, "client.pem", pemOf("CERTIFICATE", certificate))
	m.write(t, "client.key", pemOf("PRIVATE KEY", private))
}

// write replaces a file, by a rename.
func (m *mutual) write(t *testing.T, name, content string) {
	t.Helper()
	if err := os.WriteFile(m.path("new"), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(m.path("new"), m.path(name)); err != nil {
		t.Fatal(err)
	}
}

func pemOf(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

// The files are looked at with the next request: records are written until one was.
func TestRenewedCertificateThatCannotBeUsedIsTold(t *testing.T) {
	t.Parallel()
	const (
		row   = "A renewed client certificate cannot be used."
		began = "changed certificates of the endpoint cannot be used: those in use stay"
		read  = "certificates of the endpoint are read"
	)
	for _, text := range []string{"`" + began + "`", "`" + read + "`", "200", "`retryd_certificate_reload_errors_total` rises"} {
		if !strings.Contains(manualRow(t, row), text) {
			t.Errorf("docs/operations.md says nothing of %q in the row %q", text, row)
		}
	}
	c := newChain(t, embedded(t), 1, nil, 0)
	m := c.behindTLS(t)
	d := c.run(t, m.key())
	failed, expires := c.series("retryd_certificate_reload_errors_total"), c.series("retryd_endpoint_certificate_not_after_seconds")
	sent := 0
	deliverUntil := func(what string, so func() bool) {
		t.Helper()
		harness.WaitFor(t, bound, what, func() bool {
			c.write(t, records(fmt.Sprintf("r-%d", sent), 1)...)
			sent++
			c.awaitAccepted(t, sent)
			return so()
		})
	}
	old := metric(t, d, expires)

	m.write(t, "client.pem", "no certificate")
	deliverUntil("the reload to fail", func() bool { return metric(t, d, failed) == 1 })
	if got := lines(d, began); got != 1 {
		t.Errorf("%d lines tell of the failure, want one", got)
	}
	for _, l := range logged(t, d) {
		if l.Message == began && !strings.Contains(l.Error, m.path("client.pem")) {
			t.Errorf("the line does not name the file: %+v", l)
		}
	}
	deliverUntil("the old certificate to be shown", func() bool { return m.serial.Load() == 1 })
	if code, body := readyz(t, d); code != http.StatusOK || body != "ok\n" || metric(t, d, expires) != old {
		t.Errorf("/readyz answers %d %q, the certificate in use expires at %v, want %v", code, body, metric(t, d, expires), old)
	}

	renewed := time.Now().Add(48 * time.Hour)
	m.issue(t, 2, renewed)
	deliverUntil("the new certificate to be shown", func() bool { return m.serial.Load() == 2 })
	if got := metric(t, d, expires); got != float64(renewed.Unix()) {
		t.Errorf("%s is %v, want %v", expires, got, renewed.Unix())
	}
	if got := lines(d, read); got != 2 {
		t.Errorf("%d lines tell that certificates were read, want two", got)
	}
	c.settle(t, d)
}
