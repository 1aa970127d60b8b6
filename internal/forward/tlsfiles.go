package forward

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// TLS is what an https endpoint is trusted by and what retryd shows of itself. Files
// are in PEM. They are read at start and again when they have changed.
type TLS struct {
	CAFile     string `mapstructure:"ca_file"`     // authorities that are trusted instead of the system's
	CertFile   string `mapstructure:"cert_file"`   // client certificate, followed by its chain
	KeyFile    string `mapstructure:"key_file"`    // its private key, unencrypted
	ServerName string `mapstructure:"server_name"` // the name in the endpoint's certificate; empty: the URL's host
}

// lookInterval is how often at most the files are looked at. A connection is used for
// so long after a change at most.
const lookInterval = time.Second

// tlsFiles is the TLS configuration of an endpoint. It follows its files: whoever is
// about to connect looks at them. Connections are bound to the configuration that
// they were made with. It is safe for concurrent use.
type tlsFiles struct {
	files   TLS
	name    string                     // that the endpoint's certificate must carry
	current atomic.Pointer[tls.Config] // replaced as a whole, never changed

	mu     sync.Mutex // held while the files are looked at; nobody waits for that
	looked time.Time
	stamps [3]stamp
	failed string                              // why they could not be used when they were read last; "": they could
	watch  func(notAfter time.Time, err error) // may be nil
}

// stamp tells one state of a file from another. It is zero for none.
type stamp struct {
	modified time.Time
	size     int64
}

// newTLSFiles reads the files. An error begins with the key and names the path.
func newTLSFiles(files TLS, host string) (*tlsFiles, error) {
	f := &tlsFiles{files: files, name: host, looked: time.Now()}
	if files.ServerName != "" {
		f.name = files.ServerName
	}
	f.stamps = files.stamps()
	config, err := files.load(f.name)
	if err != nil {
		return nil, err
	}
	f.current.Store(config)
	return f, nil
}

// at returns the configuration for what connects now, nil without TLS.
func (f *tlsFiles) at(now time.Time) *tls.Config {
	if f == nil {
		return nil
	}
	if f.files.any() && f.mu.TryLock() {
		if now.Sub(f.looked) >= lookInterval {
			f.looked = now
			f.look()
		}
		f.mu.Unlock()
	}
	return f.current.Load()
}

// look reads the files again if they have changed, or could not be used: not everything
// that mends them shows. What cannot be used is told once, and the configuration stays what
// it is. The caller holds mu.
func (f *tlsFiles) look() {
	stamps := f.files.stamps() // before they are read: a later change shows the next time
	if stamps == f.stamps && f.failed == "" {
		return
	}
	f.stamps = stamps
	config, err := f.files.load(f.name)
	switch {
	case err == nil:
		f.current.Store(config)
		f.failed = ""
	case err.Error() == f.failed: // it was told
		return
	default:
		f.failed = err.Error()
	}
	f.tell(err)
}

func (f *tlsFiles) tell(err error) {
	if f.watch != nil {
		f.watch(notAfter(f.current.Load()), err)
	}
}

// WatchCertificate has told called, one call at a time, when the files of endpoint.tls
// are taken: now, and after each change. notAfter is when the client certificate in
// use expires, zero if there is none. err says why changed files cannot be used, once for
// each reason in a row; what was in use stays. Without such files there is no call. told must not call the client.
func (c *Client) WatchCertificate(told func(notAfter time.Time, err error)) {
	f := c.route.tls
	if f == nil || !f.files.any() {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.watch = told
	f.tell(nil)
}

func notAfter(config *tls.Config) time.Time {
	if len(config.Certificates) == 0 {
		return time.Time{}
	}
	return config.Certificates[0].Leaf.NotAfter
}

func (t TLS) any() bool { return t.CAFile != "" || t.CertFile != "" }

func (t TLS) stamps() [3]stamp {
	var stamps [3]stamp
	for i, path := range []string{t.CAFile, t.CertFile, t.KeyFile} {
		if path == "" {
			continue
		}
		if info, err := os.Stat(path); err == nil {
			stamps[i] = stamp{info.ModTime(), info.Size()}
		}
	}
	return stamps
}

func (t TLS) load(name string) (*tls.Config, error) {
	config := &tls.Config{ServerName: name, MinVersion: tls.VersionTLS12}
	if t.CAFile != "" {
		content, err := os.ReadFile(t.CAFile)
		if err != nil {
			return nil, fmt.Errorf("tls.ca_file: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(content) {
			return nil, fmt.Errorf("tls.ca_file: %s holds no certificate in PEM", t.CAFile)
		}
	}
	if t.CertFile == "" {
		return config, nil
	}
	certificate, err := t.certificate()
	config.Certificates = []tls.Certificate{certificate}
	return config, err
}

func (t TLS) certificate() (tls.Certificate, error) {
	chain, err := os.ReadFile(t.CertFile)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("tls.cert_file: %w", err)
	}
	key, err := os.ReadFile(t.KeyFile)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("tls.key_file: %w", err)
	}
	pair, err := tls.X509KeyPair(chain, key)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("tls.cert_file: %s with tls.key_file %s: %w", t.CertFile, t.KeyFile, err)
	}
	return pair, nil
}

// errors checks what shows without the files. secure tells whether the URL is https;
// it is true for one that is wrong, which is a problem of its own.
func (t TLS) errors(secure bool) []error {
	var errs []error
	for _, key := range []struct{ name, value string }{
		{"ca_file", t.CAFile}, {"cert_file", t.CertFile}, {"key_file", t.KeyFile}, {"server_name", t.ServerName},
	} {
		if key.value != "" && !secure {
			errs = append(errs, fmt.Errorf("tls.%s: needs an https url; correct url, or remove this key", key.name))
		}
	}
	switch {
	case t.CertFile != "" && t.KeyFile == "":
		errs = append(errs, errors.New("tls.cert_file: needs tls.key_file beside it"))
	case t.CertFile == "" && t.KeyFile != "":
		errs = append(errs, errors.New("tls.key_file: needs tls.cert_file beside it"))
	}
	if t.ServerName != "" && !isHost(t.ServerName) {
		errs = append(errs, errors.New("tls.server_name: must be a host name in plain ASCII"))
	}
	return errs
}
