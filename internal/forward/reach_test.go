package forward

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
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
	tests := []struct {
		name, url, want string
	}{
		{"refused", "http://127.0.0.1:1/", "connect 127.0.0.1:1: connection refused; is the application running, and is endpoint.url right?"},
		{"no socket", "unix:///nowhere/app.sock", "connect /nowhere/app.sock: no such file or directory; is the application running, and is endpoint.url right?"},
		{"no such host", "http://retryd.invalid/", "; correct the host in endpoint.url, or this host's name resolution"},
		{"unknown authority", untrusted.URL, "tls handshake with " + address(untrusted.URL) + ": tls: failed to verify certificate: x509: certificate signed by unknown authority; " +
			"the certificate must be valid for the host of endpoint.url and come from an authority that this host trusts"},
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
