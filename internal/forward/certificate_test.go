package forward

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// authority issues certificates for a test.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	dir         string
	issued      int64
	written     time.Time // of the last file: each one shows that it is another
}

func newAuthority(t testing.TB) *authority {
	t.Helper()
	a := &authority{key: newKey(t), dir: t.TempDir(), written: time.Now()}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "library authority"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	a.certificate = a.sign(t, template, template, &a.key.PublicKey)
	return a
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func (a *authority) sign(t testing.TB, template, parent *x509.Certificate, public any) *x509.Certificate {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, a.key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return certificate
}

// issue returns a new certificate of 127.0.0.1 and the names, for both sides.
func (a *authority) issue(t testing.TB, notAfter time.Time, names ...string) tls.Certificate {
	t.Helper()
	a.issued++
	key := newKey(t)
	leaf := a.sign(t, &x509.Certificate{SerialNumber: big.NewInt(100 + a.issued), DNSNames: names,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore:   time.Now().Add(-time.Hour), NotAfter: notAfter}, a.certificate, &key.PublicKey)
	return tls.Certificate{Certificate: [][]byte{leaf.Raw}, PrivateKey: key, Leaf: leaf}
}

// write writes a file of the test and returns its path.
func (a *authority) write(t testing.TB, name, content string) string {
	t.Helper()
	path := filepath.Join(a.dir, name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	a.written = a.written.Add(time.Second)
	if err := os.Chtimes(path, time.Time{}, a.written); err != nil {
		t.Fatal(err)
	}
	return path
}

// files writes what a client needs: the authority and one of its certificates.
func (a *authority) files(t testing.TB, client tls.Certificate) TLS {
	t.Helper()
	return TLS{
		CAFile:   a.caFile(t),
		CertFile: a.write(t, "client.pem", pemOf("CERTIFICATE", client.Certificate[0])),
		KeyFile:  a.write(t, "client.key", keyPEM(t, client)),
	}
}

func (a *authority) caFile(t testing.TB) string {
	return a.write(t, "ca.pem", pemOf("CERTIFICATE", a.certificate.Raw))
}

func keyPEM(t testing.TB, c tls.Certificate) string {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(c.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	return pemOf("PRIVATE KEY", der)
}

func pemOf(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

func (a *authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.certificate)
	return pool
}
