package tier

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/retryd/retryd/internal/metrics"
	"github.com/retryd/retryd/internal/policy"
	"github.com/retryd/retryd/internal/window"
)

// certificateFiles writes a certificate and its key, and tells when it expires.
func certificateFiles(t *testing.T) (cert, key string, notAfter time.Time) {
	t.Helper()
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	der, err := x509.MarshalPKCS8PrivateKey(server.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, kind string, der []byte) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return write("cert", "CERTIFICATE", server.Certificate().Raw), write("key", "PRIVATE KEY", der), server.Certificate().NotAfter
}

func TestCertificateIsMeasuredAndItsReloadTold(t *testing.T) {
	core, logs := observer.New(zapcore.InfoLevel)
	reg := prometheus.NewRegistry()
	c := DefaultConfig()
	c.Topic, c.Endpoint.URL, c.Policy.Tiers.List = "orders", "https://h/", []policy.Tier{}
	cert, key, notAfter := certificateFiles(t)
	c.Endpoint.TLS.CertFile, c.Endpoint.TLS.KeyFile = cert, key
	c.Resolve()
	deps := Deps{Metrics: metrics.New(reg, "test"), Log: zap.New(core), Budget: window.NewBudget(1 << 20)}
	r, err := New(c, deps)
	if err != nil {
		t.Fatal(err)
	}
	r.certificateRead(notAfter, errors.New("torn"))
	requireMessages(t, logs, "info certificates of the endpoint are read", "warn changed certificates of the endpoint cannot be used: those in use stay")
	got := map[string]float64{}
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		switch m := f.GetMetric()[0]; f.GetName() {
		case "retryd_endpoint_certificate_not_after_seconds":
			got["expires"] = m.GetGauge().GetValue()
		case "retryd_certificate_reload_errors_total":
			got["errors"] = m.GetCounter().GetValue()
		}
	}
	if diff := cmp.Diff(map[string]float64{"expires": float64(notAfter.Unix()), "errors": 1}, got); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}
