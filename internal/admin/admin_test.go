package admin

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/retryd/retryd/internal/status"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fine is a process without a problem.
func fine() Source { return tells(status.Process{Ready: true}) }

// tells is a process that is not stalled and says p of itself.
func tells(p status.Process) Source {
	return Source{
		Status:  func() status.Process { return p },
		Stalled: func() string { return "" },
	}
}

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
	s := New(Config{Listen: addr}, prometheus.NewRegistry(), fine(), zap.NewNop())
	if err := s.Listen(); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestListenRefusesAnAddressInUse(t *testing.T) {
	first := listening(t, "127.0.0.1:0")
	defer serve(t, first)()
	err := New(Config{Listen: first.Addr()}, prometheus.NewRegistry(), fine(), zap.NewNop()).Listen()
	want := "admin.listen: listen tcp " + first.Addr() +
		": bind: address already in use: stop what listens there, or set another address"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

func TestListenNamesTheKeyOfABadAddress(t *testing.T) {
	err := New(Config{Listen: "127.0.0.1"}, prometheus.NewRegistry(), fine(), zap.NewNop()).Listen()
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

func TestStopLetsAnAnswerFinish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked, release := make(chan struct{}), make(chan struct{})
		source := fine()
		source.Stalled = func() string {
			close(asked)
			<-release
			return ""
		}
		s := New(Config{}, prometheus.NewRegistry(), source, zap.NewNop())
		ln := newPipes()
		s.ln = ln
		stop := serve(t, s)
		c := ln.dial()
		go send(c, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
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
		s := New(Config{}, prometheus.NewRegistry(), fine(), zap.New(core))
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
