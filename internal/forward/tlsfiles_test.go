package forward

import (
	"bytes"
	"crypto/tls"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retryd/retryd/internal/policy"
	"github.com/retryd/retryd/internal/redact"
)

// mutual is an endpoint that takes certificates of an authority alone, and notes them.
type mutual struct {
	url     string
	mu      sync.Mutex
	serials []int64 // of each request
	peers   map[string]bool
}

func (m *mutual) seen() (serials []int64, connections int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.serials, len(m.peers)
}

func serveMutual(t *testing.T, a *authority, own tls.Certificate) *mutual {
	t.Helper()
	m := &mutual{peers: map[string]bool{}}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.serials = append(m.serials, r.TLS.PeerCertificates[0].SerialNumber.Int64())
		m.peers[r.RemoteAddr] = true
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{own}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: a.pool()}
	server.Config.ErrorLog = discardLog
	server.StartTLS()
	t.Cleanup(server.Close)
	m.url = server.URL
	return m
}

func withTLS(files TLS) func(*Config) { return func(c *Config) { c.TLS = files } }

// soon lets the next look at the files be due.
func soon(c *Client) {
	c.route.tls.mu.Lock()
	defer c.route.tls.mu.Unlock()
	c.route.tls.looked = time.Time{}
}

func TestBothSidesShowTheirCertificates(t *testing.T) {
	a, hour := newAuthority(t), time.Now().Add(time.Hour)
	files := a.files(t, a.issue(t, hour))
	m := serveMutual(t, a, a.issue(t, hour, "loans.internal"))
	for name, change := range map[string]func(*TLS){"the URL's host": func(*TLS) {}, "server_name": func(c *TLS) { c.ServerName = "loans.internal" }} {
		used := files
		change(&used)
		if got := post(t, newClient(t, m.url, withTLS(used)), nil); !got.Delivered() {
			t.Errorf("%s: %+v", name, got)
		}
	}
	for name, tt := range map[string]struct {
		change func(*TLS)
		want   string
	}{
		"no client certificate": {func(c *TLS) { c.CertFile, c.KeyFile = "", "" }, "certificate required"},
		"another name":          {func(c *TLS) { c.ServerName = "other.internal" }, "other.internal"},
		"the system's CAs":      {func(c *TLS) { c.CAFile = "" }, "unknown authority"},
	} {
		used := files
		tt.change(&used)
		got := post(t, newClient(t, m.url, withTLS(used)), nil)
		if got.Kind != policy.KindTLS || got.Class != policy.ClassEndpoint || !strings.Contains(got.Error, tt.want) {
			t.Errorf("%s: %+v, want %s", name, got, tt.want)
		}
	}
}

func TestOwnAuthoritiesReplaceTheSystems(t *testing.T) {
	a := newAuthority(t)
	config, err := a.files(t, a.issue(t, time.Now())).load("h")
	if err != nil || !config.RootCAs.Equal(a.pool()) {
		t.Errorf("%v: others are trusted, too", err)
	}
}

func TestRenewedCertificateIsShownOnConnectionsOfItsOwn(t *testing.T) {
	a, hour := newAuthority(t), time.Now().Add(time.Hour)
	m := serveMutual(t, a, a.issue(t, hour))
	old, renewed := a.issue(t, hour), a.issue(t, hour)
	c := newClient(t, m.url, withTLS(a.files(t, old)), func(c *Config) { c.IdleTimeout = time.Hour })
	deliver := func() {
		t.Helper()
		soon(c)
		if got := post(t, c, nil); !got.Delivered() {
			t.Errorf("outcome %+v", got)
		}
	}
	deliver()
	deliver()
	a.files(t, renewed)
	deliver()
	deliver()
	serials, connections := m.seen()
	want := []*big.Int{old.Leaf.SerialNumber, old.Leaf.SerialNumber, renewed.Leaf.SerialNumber, renewed.Leaf.SerialNumber}
	for i, serial := range want {
		if serials[i] != serial.Int64() {
			t.Errorf("serial numbers %v, want %v", serials, want)
		}
	}
	if connections != 2 {
		t.Errorf("%d connections, want one for each certificate", connections)
	}
}

func TestFilesAreLookedAtOnceASecond(t *testing.T) {
	a := newAuthority(t)
	f, err := newTLSFiles(a.files(t, a.issue(t, time.Now())), "h")
	if err != nil {
		t.Fatal(err)
	}
	start, first := f.looked, f.current.Load()
	a.files(t, a.issue(t, time.Now().Add(time.Hour)))
	for _, step := range []struct {
		after   time.Duration
		changed bool
	}{{0, false}, {lookInterval - 1, false}, {lookInterval, true}} {
		if got := f.at(start.Add(step.after)); (got != first) != step.changed {
			t.Errorf("after %s: changed %v", step.after, !step.changed)
		}
	}
}

// told is what WatchCertificate tells.
type told struct {
	notAfter time.Time
	err      string
}

func watchCertificate(c *Client) *[]told {
	var all []told
	c.WatchCertificate(func(notAfter time.Time, err error) {
		one := told{notAfter: notAfter}
		if err != nil {
			one.err = err.Error()
		}
		all = append(all, one)
	})
	return &all
}

func TestBrokenFilesAreToldOnceAndTheOldOnesKept(t *testing.T) {
	a, hour := newAuthority(t), time.Now().Add(time.Hour).Truncate(time.Second).UTC()
	m := serveMutual(t, a, a.issue(t, hour))
	files := a.files(t, a.issue(t, hour))
	c := newClient(t, m.url, withTLS(files))
	all := watchCertificate(c)
	deliver := func() {
		t.Helper()
		c.idle.close() // so that each attempt makes a handshake
		soon(c)
		if got := post(t, c, nil); !got.Delivered() {
			t.Errorf("outcome %+v", got)
		}
	}
	a.write(t, "client.pem", "torn")
	deliver()
	deliver()
	if err := os.Remove(files.CertFile); err != nil {
		t.Fatal(err)
	}
	deliver()
	deliver()
	a.files(t, a.issue(t, hour.Add(time.Minute)))
	deliver()
	deliver()
	want := []told{
		{hour, ""},
		{hour, "tls.cert_file: " + files.CertFile + " with tls.key_file " + files.KeyFile + ": tls: failed to find any PEM data in certificate input"},
		{hour, "tls.cert_file: open " + files.CertFile + ": no such file or directory"},
		{hour.Add(time.Minute), ""},
	}
	if len(*all) != len(want) {
		t.Fatalf("told %+v, want %+v", *all, want)
	}
	for i := range want {
		if (*all)[i].err != want[i].err || !(*all)[i].notAfter.Equal(want[i].notAfter) {
			t.Errorf("told %+v, want %+v", (*all)[i], want[i])
		}
	}
}

// What made files unusable need not change what shows of them from outside: their mode,
// or a write within the time that the file system tells apart.
func TestFilesThatCouldNotBeUsedAreReadUntilTheyCan(t *testing.T) {
	a, hour := newAuthority(t), time.Now().Add(time.Hour).Truncate(time.Second).UTC()
	c := newClient(t, "https://h/", withTLS(a.files(t, a.issue(t, hour))))
	all := watchCertificate(c)
	files := a.files(t, a.issue(t, hour.Add(time.Minute)))
	good, err := os.ReadFile(files.CertFile)
	if err != nil {
		t.Fatal(err)
	}
	look := func(content []byte) {
		t.Helper()
		a.write(t, "client.pem", string(content))
		if err := os.Chtimes(files.CertFile, hour, hour); err != nil {
			t.Fatal(err)
		}
		soon(c)
		c.route.tls.at(time.Now())
	}
	for range 3 {
		look(bytes.Repeat([]byte("-"), len(good)))
	}
	look(good)
	look(good)
	want := []told{
		{hour, ""},
		{hour, "tls.cert_file: " + files.CertFile + " with tls.key_file " + files.KeyFile + ": tls: failed to find any PEM data in certificate input"},
		{hour.Add(time.Minute), ""},
	}
	if diff := cmp.Diff(want, *all, cmp.AllowUnexported(told{})); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

func TestThereIsNothingToWatchWithoutACertificate(t *testing.T) {
	if all := watchCertificate(newClient(t, "http://h/")); len(*all) != 0 {
		t.Errorf("without TLS: told %v", *all)
	}
	if all := watchCertificate(newClient(t, "https://h/")); len(*all) != 0 {
		t.Errorf("without files: told %v", *all)
	}
	files := TLS{CAFile: newAuthority(t).caFile(t)}
	if all := watchCertificate(newClient(t, "https://h/", withTLS(files))); len(*all) != 1 || !(*all)[0].notAfter.IsZero() {
		t.Errorf("with authorities alone: told %v", *all)
	}
}

func TestFilesThatCannotBeReadAtStart(t *testing.T) {
	a := newAuthority(t)
	files := a.files(t, a.issue(t, time.Now()))
	missing, none := a.dir+"/missing", a.write(t, "none", "no PEM")
	other := a.write(t, "other.key", keyPEM(t, a.issue(t, time.Now())))
	for _, tt := range []struct {
		change func(*TLS)
		want   string
	}{
		{func(c *TLS) { c.CAFile = missing }, "tls.ca_file: open " + missing + ": no such file or directory"},
		{func(c *TLS) { c.CAFile = none }, "tls.ca_file: " + none + " holds no certificate in PEM"},
		{func(c *TLS) { c.CertFile = missing }, "tls.cert_file: open " + missing + ": no such file or directory"},
		{func(c *TLS) { c.KeyFile = missing }, "tls.key_file: open " + missing + ": no such file or directory"},
		{func(c *TLS) { c.KeyFile = other }, "tls.cert_file: " + files.CertFile + " with tls.key_file " + other + ": tls: private key does not match public key"},
	} {
		c := DefaultConfig()
		c.URL, c.TLS = "https://h/", files
		tt.change(&c.TLS)
		if _, err := New(c, "r", "v", redact.Rules{}); err == nil || err.Error() != tt.want {
			t.Errorf("got  %v\nwant %s", err, tt.want)
		}
	}
}

func TestOldTLSIsRefused(t *testing.T) {
	a := newAuthority(t)
	own := a.issue(t, time.Now().Add(time.Hour))
	files := a.files(t, own)
	for version, want := range map[uint16]bool{tls.VersionTLS11: false, tls.VersionTLS12: true, tls.VersionTLS13: true} {
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		server.TLS = &tls.Config{Certificates: []tls.Certificate{own}, MinVersion: tls.VersionTLS10, MaxVersion: version}
		server.Config.ErrorLog = discardLog
		server.StartTLS()
		if got := post(t, newClient(t, server.URL, withTLS(files)), nil); got.Delivered() != want {
			t.Errorf("%s: %+v", tls.VersionName(version), got)
		}
		server.Close()
	}
}
