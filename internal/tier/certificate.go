package tier

import (
	"time"

	"go.uber.org/zap"
)

// fieldNotAfter is when a certificate expires.
const fieldNotAfter = "not_after"

// certificateRead makes known what became of the files of endpoint.tls, at start and
// when they change. notAfter is zero without a client certificate.
func (r *Relay) certificateRead(notAfter time.Time, err error) {
	expiry := zap.Skip()
	if !notAfter.IsZero() {
		r.metrics.SetCertificateNotAfter(notAfter)
		expiry = zap.Time(fieldNotAfter, notAfter)
	}
	if err == nil {
		r.log.Info("certificates of the endpoint are read", expiry)
		return
	}
	r.metrics.CertificateReloadError()
	r.log.Warn("changed certificates of the endpoint cannot be used: those in use stay", zap.Error(err), expiry)
}
