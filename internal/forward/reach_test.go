package forward

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// serveSilently counts the bytes that clients send, and answers nothing.
func serveSilently(t *testing.T, network, address string) (string, <-chan int64) {
	t.Helper()
	listener, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	received := make(chan int64, 1)
	go func() {
		defer close(received)
		nc, err := listener.Accept()
		if err != nil {
			return
		}
		defer nc.Close()
		n, _ := io.Copy(io.Discard, nc)
		received <- n
	}()
	t.Cleanup(func() {
		listener.Close()
		for range received {
		}
	})
	return listener.Addr().String(), received
}

func TestReachSendsNothing(t *testing.T) {
	address, fromTCP := serveSilently(t, "tcp", "127.0.0.1:0")
	socket, fromUnix := serveSilently(t, "unix", filepath.Join(t.TempDir(), "app.sock"))
	for url, received := range map[string]<-chan int64{
		"http://" + address + "/loans":     fromTCP,
		"unix://" + socket + ":/loans?a=b": fromUnix,
	} {
		if err := newClient(t, url).Reach(t.Context()); err != nil {
			t.Errorf("%s: %v", url, err)
		}
		if n := <-received; n != 0 {
			t.Errorf("%s: %d bytes were sent", url, n)
		}
	}
}

func TestReachDoesTheHandshakeAndNoRequest(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("a request was made")
	}))
	t.Cleanup(server.Close)
	c := newClient(t, server.URL)
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	trusting(c, &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12})
	if err := c.Reach(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestReachSaysWhatToLookAt(t *testing.T) {
	untrusted := httptest.NewUnstartedServer(http.NotFoundHandler())
	untrusted.Config.ErrorLog = log.New(io.Discard, "", 0)
	untrusted.StartTLS()
	t.Cleanup(untrusted.Close)
	hanging := serveWire(t, func(_ *wireServer, _ net.Conn, r *bufio.Reader) { _, _ = io.Copy(io.Discard, r) })
	closing := serveWire(t, func(_ *wireServer, _ net.Conn, r *bufio.Reader) { _, _ = r.ReadByte() })
	plain := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(plain.Close)
	tests := []struct {
		name, url, want string
	}{
		{"plain HTTP", "https://" + address(plain.URL), "tls handshake with " + address(plain.URL) + ": the answer is not TLS; does the port of endpoint.url speak TLS? For plain HTTP the URL must begin with http:"},
		{"refused", "http://127.0.0.1:1/", "connect 127.0.0.1:1: connection refused; is the application running, and is endpoint.url right?"},
		{"no socket", "unix:///nowhere/app.sock", "connect /nowhere/app.sock: no such file or directory; is the application running, and is endpoint.url right?"},
		{"no such host", "http://retryd.invalid/", "; correct the host in endpoint.url, or this host's name resolution"},
		{"unknown authority", untrusted.URL, "tls handshake with " + address(untrusted.URL) + ": tls: failed to verify certificate: x509: certificate signed by unknown authority; " +
			"the certificate must be valid for the host of endpoint.url (or endpoint.tls.server_name) and come from an authority that this host (or endpoint.tls.ca_file) trusts"},
		{"hanging handshake", "https://" + address(hanging.url), "tls handshake with " + address(hanging.url) + ": no answer in time; " +
			"is endpoint.url right, does a firewall drop the connection, or is the application too busy to accept it?"},
		{"closed in the handshake", "https://" + address(closing.url), "tls handshake with " + address(closing.url) + ": connection closed; does the port of endpoint.url speak TLS?"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			limit := time.Minute
			if tt.name == "hanging handshake" {
				limit = 50 * time.Millisecond
			}
			err := newClient(t, tt.url, timeout(limit)).Reach(t.Context())
			if err == nil || !strings.HasSuffix(err.Error(), tt.want) {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
		})
	}
}

// x-error has room for 256 bytes, a person for more.
func TestReachTellsALongReasonWhole(t *testing.T) {
	reason := "certificate is valid for" + strings.Repeat(" branch.library.example,", 20) + " not endpoint.example"
	c := newClient(t, "https://127.0.0.1/")
	c.dial = func(context.Context) (*conn, *failure) { return nil, tlsFailure("127.0.0.1:443", errors.New(reason)) }
	if err := c.Reach(t.Context()); err == nil || !strings.Contains(err.Error(), reason+"; the certificate must be valid") {
		t.Errorf("got %v", err)
	}
	if got := post(t, c, nil).Error; len(got) > maxError || !strings.HasSuffix(got, "branch.library.example, ...") {
		t.Errorf("x-error would be %q", got)
	}
}

func TestClientsOfOnePeerReachTheSame(t *testing.T) {
	peer := func(url string) Peer { return newClient(t, url).Peer() }
	first := peer("https://library.example.com/loans?a=b")
	if other := peer("https://library.example.com:443/returns"); other != first {
		t.Errorf("%v and %v differ", first, other)
	}
	for _, other := range []Peer{
		peer("http://library.example.com:443/loans"),
		peer("https://library.example.com:8443/loans"),
		peer("unix:///library:/loans"),
		newClient(t, "https://library.example.com/loans", timeout(time.Second)).Peer(),
	} {
		if other == first {
			t.Errorf("%v is that of another URL", other)
		}
	}
}

func TestReachEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	hanging := serveWire(t, func(_ *wireServer, _ net.Conn, r *bufio.Reader) {
		_, _ = r.ReadByte()
		cancel()
		_, _ = io.Copy(io.Discard, r)
	})
	if err := newClient(t, "https://"+address(hanging.url), timeout(time.Hour)).Reach(ctx); err == nil {
		t.Error("a handshake without an answer succeeded")
	}
}

func address(url string) string {
	_, rest, _ := strings.Cut(url, "//")
	return strings.TrimSuffix(rest, "/")
}
