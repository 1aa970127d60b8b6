package forward

import (
	"bufio"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/retryd/retryd/internal/policy"
)

// corked sends what was written to it when its owner waits for the peer, so that
// several TLS records arrive at once.
type corked struct {
	net.Conn
	held []byte
}

func (c *corked) Write(p []byte) (int, error) {
	c.held = append(c.held, p...)
	return len(p), nil
}

func (c *corked) Read(p []byte) (int, error) {
	held := c.held
	c.held = nil
	if _, err := c.Conn.Write(held); err != nil {
		return 0, err
	}
	return c.Conn.Read(p)
}

// SetWriteDeadline does nothing: close_notify sets one that ends all writing.
func (c *corked) SetWriteDeadline(time.Time) error { return nil }

// serveTLS is serveWire over one version of TLS. It also returns a client that
// trusts the server. The connection that handle gets is a tls.Conn over a corked.
func serveTLS(t testing.TB, version uint16, handle func(*wireServer, net.Conn, *bufio.Reader)) (*wireServer, *Client) {
	t.Helper()
	certified := httptest.NewTLSServer(nil)
	t.Cleanup(certified.Close)
	config := &tls.Config{Certificates: certified.TLS.Certificates, MinVersion: version, MaxVersion: version,
		DynamicRecordSizingDisabled: true}
	s := serveWire(t, func(s *wireServer, nc net.Conn, _ *bufio.Reader) {
		session := tls.Server(&corked{Conn: nc}, config)
		handle(s, session, bufio.NewReader(session))
	})
	c := newClient(t, s.url, useTLS, func(c *Config) { c.IdleTimeout = time.Hour })
	trusting(c, certified.Client().Transport.(*http.Transport).TLSClientConfig)
	return s, c
}

var versionsOfTLS = map[string]uint16{"TLS 1.2": tls.VersionTLS12, "TLS 1.3": tls.VersionTLS13}

func TestConnectionOverTLSIsUsedAgain(t *testing.T) {
	for name, version := range versionsOfTLS {
		t.Run(name, func(t *testing.T) {
			s, c := serveTLS(t, version, answering(ok))
			for range 10 {
				if got := post(t, c, []byte("value")); !got.Delivered() {
					t.Fatalf("outcome %+v", got)
				}
			}
			if connections, requests := s.seen(); connections != 1 || requests != 10 {
				t.Errorf("%d requests on %d connections, want 10 on 1", requests, connections)
			}
		})
	}
}

// What came behind a response, in the same segment, says nothing about the next
// record: its request goes out on a new connection and gets an answer of its own.
func TestBytesBehindAResponseOverTLSAnswerNothing(t *testing.T) {
	write := func(nc net.Conn, texts ...string) {
		for _, text := range texts {
			_, _ = io.WriteString(nc, text)
		}
	}
	// So much that the second record does not fit beside the first one, by just the
	// 100 bytes that follow the response in it.
	padded := "HTTP/1.1 200 OK\r\nX-Pad: " + strings.Repeat("x", 100)
	rest := "\r\nContent-Length: 15000\r\n\r\n" + strings.Repeat("x", 15000)
	rest = strings.Replace(rest, "\r\n", strings.Repeat("x", maxHeader-len(padded)-len(rest))+"\r\n", 1)
	for name, answer := range map[string]func(nc net.Conn){
		"a second response": func(nc net.Conn) { write(nc, ok, ok) },
		"a 408":             func(nc net.Conn) { write(nc, ok, "HTTP/1.1 408 X\r\nContent-Length: 0\r\n\r\n") },
		"a body of a 204":   func(nc net.Conn) { write(nc, "HTTP/1.1 204 X\r\n\r\n", ok) },
		"close_notify": func(nc net.Conn) {
			write(nc, ok)
			_ = nc.(*tls.Conn).CloseWrite()
		},
		"close_notify behind no body": func(nc net.Conn) {
			write(nc, "HTTP/1.1 204 X\r\n\r\n")
			_ = nc.(*tls.Conn).CloseWrite()
		},
		"the start of a record": func(nc net.Conn) {
			write(nc, ok, ok)
			cork := nc.(*tls.Conn).NetConn().(*corked)
			cork.held = cork.held[:len(cork.held)-len(ok)]
		},
		"the start of a record's header": func(nc net.Conn) {
			write(nc, ok)
			cork := nc.(*tls.Conn).NetConn().(*corked)
			cork.held = append(cork.held, 0x17, 0x03)
		},
		"the rest of a record": func(nc net.Conn) { write(nc, padded, rest+ok+strings.Repeat(" ", 100-len(ok))) },
	} {
		for version, number := range versionsOfTLS {
			t.Run(name+" over "+version, func(t *testing.T) {
				s, c := serveTLS(t, number, func(s *wireServer, nc net.Conn, r *bufio.Reader) {
					for s.read(r) {
						if _, requests := s.seen(); requests == 1 {
							answer(nc)
							continue
						}
						write(nc, "HTTP/1.1 422 X\r\nContent-Length: 0\r\n\r\n")
					}
				})
				if got := post(t, c, []byte("one")); !got.Delivered() {
					t.Fatalf("outcome %+v", got)
				}
				if got := post(t, c, []byte("two")); got.Status != 422 || got.Kind != policy.KindStatus {
					t.Errorf("outcome %+v, want the second record's own 422", got)
				}
				if connections, requests := s.seen(); connections != 2 || requests != 2 {
					t.Errorf("%d requests on %d connections, want 2 on 2", requests, connections)
				}
			})
		}
	}
}
