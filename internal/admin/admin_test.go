package admin

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func ready() (bool, []Problem) { return true, nil }

// serve runs s until the test ends, and checks that Run then returns nil.
func serve(t *testing.T, s *Server) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	return func() {
		t.Helper()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	}
}

func listening(t *testing.T, addr string) *Server {
	t.Helper()
	s := New(Config{Listen: addr}, prometheus.NewRegistry(), ready, zap.NewNop())
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestListenRefusesAnAddressInUse(t *testing.T) {
	first := listening(t, "127.0.0.1:0")
	defer serve(t, first)()
	err := New(Config{Listen: first.Addr()}, prometheus.NewRegistry(), ready, zap.NewNop()).Listen()
	want := "admin.listen: listen tcp " + first.Addr() +
		": bind: address already in use: stop what listens there, or set another address"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestListenNamesTheKeyOfABadAddress(t *testing.T) {
	err := New(Config{Listen: "127.0.0.1"}, prometheus.NewRegistry(), ready, zap.NewNop()).Listen()
	if want := "admin.listen: listen tcp: address 127.0.0.1: missing port in address"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestWithoutAnAddressNothingListens(t *testing.T) {
	s := listening(t, "")
	if got := s.Addr(); got != "" {
		t.Errorf("bound %s", got)
	}
	serve(t, s)()
}

func TestStopFreesTheAddressEvenIfNothingWasServed(t *testing.T) {
	s := listening(t, "127.0.0.1:0")
	addr := s.Addr()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := s.Run(ctx); err != nil {
		t.Fatal(err)
	}
	serve(t, listening(t, addr))()
}

func TestRunReportsABrokenListener(t *testing.T) {
	s := listening(t, "127.0.0.1:0")
	if err := s.ln.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Run(context.Background()); !errors.Is(err, net.ErrClosed) {
		t.Errorf("got %v", err)
	}
}

// pipes is a listener of in-memory connections, which runs in fake time.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func newPipes() *pipes { return &pipes{make(chan net.Conn), make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { close(p.closed); return nil }
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p *pipes) dial() net.Conn {
	client, server := net.Pipe()
	p.conns <- server
	return client
}

func TestSlowClientIsDropped(t *testing.T) {
	tests := []struct {
		name   string
		client func(net.Conn)
		after  time.Duration
	}{
		{"sends nothing", func(net.Conn) {}, readHeaderTimeout},
		{"stops within its headers", func(c net.Conn) { send(c, "GET /healthz HTTP/1.1\r\nHost: x\r\n") }, readHeaderTimeout},
		{"sends a header every second", func(c net.Conn) {
			for send(c, "GET /healthz HTTP/1.1\r\n"); send(c, "X-A: b\r\n") == nil; {
				time.Sleep(time.Second) // fake time
			}
		}, readHeaderTimeout},
		{"does not read its answer", func(c net.Conn) { send(c, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n") }, writeTimeout},
		{"stays idle", func(c net.Conn) {
			send(c, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
			discard(c)
		}, idleTimeout},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ln := newPipes()
				s := New(Config{}, prometheus.NewRegistry(), ready, zap.NewNop())
				gone := make(chan struct{}, 1)
				s.http.ConnState = func(_ net.Conn, state http.ConnState) {
					if state == http.StateClosed {
						gone <- struct{}{}
					}
				}
				s.ln = ln
				defer serve(t, s)()
				start := time.Now()
				c := ln.dial()
				var client sync.WaitGroup
				client.Go(func() { tt.client(c) })
				defer client.Wait()
				defer c.Close()
				<-gone
				if took := time.Since(start); took != tt.after {
					t.Errorf("dropped after %v, want %v", took, tt.after)
				}
			})
		})
	}
}

func TestConnectionsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Config{}, prometheus.NewRegistry(), ready, zap.NewNop())
		ln := newPipes()
		s.ln = ln
		defer serve(t, s)()
		var conns []net.Conn
		for range maxConnections {
			conns = append(conns, ln.dial())
		}
		accepted := make(chan net.Conn, 1)
		go func() { accepted <- ln.dial() }()
		synctest.Wait()
		if len(accepted) != 0 {
			t.Errorf("connection %d was accepted", maxConnections+1)
		}
		conns[0].Close()
		for _, c := range append(conns, <-accepted) {
			c.Close()
		}
	})
}

func send(c net.Conn, text string) error {
	_, err := io.WriteString(c, text)
	return err
}

func discard(c net.Conn) { _, _ = io.Copy(io.Discard, c) }

func TestStopLetsAnAnswerFinish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, release := make(chan struct{}), make(chan struct{})
		s := New(Config{}, prometheus.NewRegistry(), func() (bool, []Problem) {
			close(asked)
			<-release
			return true, nil
		}, zap.NewNop())
		ln := newPipes()
		s.ln = ln
		stop := serve(t, s)
		c := ln.dial()
		go send(c, "GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n")
		<-asked
		go func() {
			time.Sleep(shutdownTimeout / 2) // fake time
			close(release)
		}()
		stopped := make(chan struct{})
		go func() {
			stop()
			close(stopped)
		}()
		res, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatal(err)
		}
		if body, err := io.ReadAll(res.Body); string(body) != "ok\n" || err != nil {
			t.Errorf("%q, %v", body, err)
		}
		<-stopped
	})
}

func TestStopCutsOffAHangingClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		core, logs := observer.New(zapcore.WarnLevel)
		s := New(Config{}, prometheus.NewRegistry(), ready, zap.New(core))
		ln := newPipes()
		s.ln = ln
		stop := serve(t, s)
		c := ln.dial()
		defer c.Close()
		send(c, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
		synctest.Wait()
		start := time.Now()
		stop()
		if took := time.Since(start); took != shutdownTimeout {
			t.Errorf("stopped after %v, want %v", took, shutdownTimeout)
		}
		if rest, err := io.ReadAll(c); len(rest) > 0 || err != nil {
			t.Errorf("the connection is still open: read %q, %v", rest, err)
		}
		if n := logs.FilterMessage("admin clients cut off").Len(); n != 1 {
			t.Errorf("%d warnings", n)
		}
	})
}

func TestLargeHeadersAreRefused(t *testing.T) {
	for size, want := range map[int]int{8 << 10: 200, 64 << 10: 431} {
		synctest.Test(t, func(t *testing.T) {
			s := New(Config{}, prometheus.NewRegistry(), ready, zap.NewNop())
			ln := newPipes()
			s.ln = ln
			defer serve(t, s)()
			c := ln.dial()
			defer c.Close()
			go send(c, "GET /healthz HTTP/1.1\r\nHost: x\r\nX-Long: "+strings.Repeat("x", size)+"\r\n\r\n")
			res, err := http.ReadResponse(bufio.NewReader(c), nil)
			if err != nil {
				t.Fatal(err)
			}
			if res.StatusCode != want {
				t.Errorf("%d bytes: %d, want %d", size, res.StatusCode, want)
			}
		})
	}
}
