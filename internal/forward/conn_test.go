package forward

import (
	"bufio"
	"context"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/retryd/retryd/internal/policy"
)

func TestConnectionsAreUsedAgain(t *testing.T) {
	for name, response := range map[string]string{
		"body":       ok,
		"chunked":    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
		"no body":    "HTTP/1.1 204 No Content\r\n\r\n",
		"failure":    "HTTP/1.1 503 X\r\nContent-Length: 2000\r\n\r\n" + strings.Repeat("x", 2000),
		"keep-alive": "HTTP/1.1 200 OK\r\nKeep-Alive: timeout=600\r\nContent-Length: 0\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			s := serveWire(t, answering(response))
			c := newClient(t, s.url, func(c *Config) { c.IdleTimeout = time.Hour })
			for range 100 {
				post(t, c, []byte("value"))
			}
			if connections, requests := s.seen(); connections != 1 || requests != 100 {
				t.Errorf("%d requests on %d connections, want 100 on 1", requests, connections)
			}
		})
	}
}

func TestConnectionsAreNotUsedAgain(t *testing.T) {
	for name, response := range map[string]string{
		"close":         "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
		"http/1.0":      "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n",
		"timeout=0":     "HTTP/1.1 200 OK\r\nKeep-Alive: timeout=0\r\nContent-Length: 0\r\n\r\n",
		"long body":     "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + strings.Repeat("x", 100000),
		"body to come":  "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n" + strings.Repeat("x", maxBody+1),
		"bytes behind":  ok + "x",
		"upgrade":       "HTTP/1.1 101 Switching Protocols\r\n\r\n",
		"broken header": "garbage\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			s := serveWire(t, answering(response))
			c := newClient(t, s.url, func(c *Config) { c.IdleTimeout = time.Hour })
			for range 3 {
				post(t, c, []byte("value"))
			}
			if connections, requests := s.seen(); connections != 3 || requests != 3 {
				t.Errorf("%d requests on %d connections, want 3 on 3", requests, connections)
			}
			if len(c.idle.idle) != 0 {
				t.Error("the connection is kept")
			}
		})
	}
}

// The caller bounds concurrency; whatever it is, no attempt waits for another or
// fails for want of a connection.
func TestConcurrentAttemptsNeedNoMoreConnectionsThanThemselves(t *testing.T) {
	s := serveWire(t, answering(ok))
	c := newClient(t, s.url, func(c *Config) { c.IdleTimeout = time.Hour })
	var workers sync.WaitGroup
	for range 16 {
		workers.Go(func() {
			for range 200 {
				if got := post(t, c, []byte("value")); !got.Delivered() {
					t.Errorf("outcome %+v", got)
				}
			}
		})
	}
	workers.Wait()
	if connections, requests := s.seen(); connections > 16 || requests != 3200 {
		t.Errorf("%d requests on %d connections, want 3200 on at most 16", requests, connections)
	}
}

func TestNoRequestIsSentTwice(t *testing.T) {
	for name, value := range map[string][]byte{"content": []byte("value"), "empty": {}, "tombstone": nil} {
		for _, before := range []int{0, 1, 5} {
			s := serveWire(t, func(s *wireServer, nc net.Conn, r *bufio.Reader) {
				for range before {
					s.read(r)
					_, _ = io.WriteString(nc, ok)
				}
				s.read(r) // and closes
			})
			c := newClient(t, s.url, func(c *Config) { c.IdleTimeout = time.Hour })
			for range before {
				if got := post(t, c, value); !got.Delivered() {
					t.Fatalf("outcome %+v", got)
				}
			}
			if got := post(t, c, value); got.Kind != policy.KindReset {
				t.Errorf("%s after %d: %+v, want a reset", name, before, got)
			}
			if connections, requests := s.seen(); connections != 1 || requests != before+1 {
				t.Errorf("%s after %d: %d requests on %d connections, want %d on 1", name, before, requests, connections, before+1)
			}
		}
	}
}

func TestConnectionClosedWhileIdleCostsNoAttempt(t *testing.T) {
	for name, farewell := range map[string]string{"silently": "", "with a 408": "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n"} {
		t.Run(name, func(t *testing.T) {
			closing := make(chan struct{})
			s := serveWire(t, func(s *wireServer, nc net.Conn, r *bufio.Reader) {
				s.read(r)
				_, _ = io.WriteString(nc, ok)
				<-closing
				_, _ = io.WriteString(nc, farewell)
			})
			c := newClient(t, s.url, func(c *Config) { c.IdleTimeout = time.Hour })
			post(t, c, []byte("one"))
			idle := c.idle.idle[0]
			close(closing)
			eventually(t, "the close arrives", func() bool { return idle.alive() != nil })
			if got := post(t, c, []byte("two")); !got.Delivered() {
				t.Errorf("outcome %+v", got)
			}
			if connections, requests := s.seen(); connections != 2 || requests != 2 {
				t.Errorf("%d requests on %d connections, want 2 on 2", requests, connections)
			}
		})
	}
}

// scripted is a connection that takes so many bytes and answers with a text.
type scripted struct {
	net.Conn
	takes  int
	answer io.Reader
	wrote  int
}

func (s *scripted) Write(p []byte) (int, error) {
	n := min(len(p), s.takes-s.wrote)
	s.wrote += n
	if n < len(p) {
		return n, syscall.EPIPE
	}
	return n, nil
}
func (s *scripted) Read(p []byte) (int, error)  { return s.answer.Read(p) }
func (s *scripted) SetDeadline(time.Time) error { return nil }
func (s *scripted) Close() error                { return nil }

func TestOnlyAKeptConnectionThatTookNothingIsReplaced(t *testing.T) {
	tests := []struct {
		name   string
		kept   bool
		takes  int
		answer string
		dials  int
		kind   policy.Kind
		status int
	}{
		{name: "kept, nothing written", kept: true, takes: 0, dials: 1, status: 200},
		{name: "kept, a byte written", kept: true, takes: 1, dials: 0, kind: policy.KindReset},
		{name: "kept, a byte written, answered", kept: true, takes: 1, answer: ok, dials: 0, status: 200},
		{name: "new, nothing written", takes: 0, dials: 1, kind: policy.KindReset},
		{name: "answered before all was read", takes: 10_000, answer: "HTTP/1.1 413 X\r\nContent-Length: 0\r\n\r\n", dials: 1, kind: policy.KindStatus, status: 413},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := newClient(t, "http://127.0.0.1/")
			first := &scripted{takes: tt.takes, answer: strings.NewReader(tt.answer)}
			next := []*conn{newConn(first), newConn(&scripted{takes: 1 << 20, answer: strings.NewReader(ok)})}
			if tt.kept {
				c.idle.put(next[0], time.Hour)
				next = next[1:]
			}
			dials := 0
			c.dial = func(context.Context) (*conn, *failure) {
				dials++
				return next[dials-1], nil
			}
			got := post(t, c, make([]byte, 100_000))
			if dials != tt.dials || got.Kind != tt.kind || got.Status != tt.status {
				t.Errorf("%d dials, outcome %+v; want %d, kind %q, status %d", dials, got, tt.dials, tt.kind, tt.status)
			}
			if idle := c.idle.idle; len(idle) > 0 && idle[0].wire.Conn == first {
				t.Error("a connection that did not take a whole request is kept")
			}
		})
	}
}

func TestConnectionThatEndedWithItsResponseIsNotKept(t *testing.T) {
	c := newClient(t, "http://127.0.0.1/")
	c.dial = func(context.Context) (*conn, *failure) {
		return newConn(&scripted{takes: 10_000, answer: iotest.DataErrReader(strings.NewReader(ok))}), nil
	}
	if got := post(t, c, []byte("value")); !got.Delivered() || len(c.idle.idle) != 0 {
		t.Errorf("outcome %+v, %d connections kept; want delivered and none", got, len(c.idle.idle))
	}
}

// pipeClient returns a client whose connections are pipes, so that it lives in fake
// time. serve gets the other ends, one after the other.
func pipeClient(t *testing.T, serve func(nc net.Conn)) *Client {
	c := newClient(t, "http://127.0.0.1/")
	c.dial = func(context.Context) (*conn, *failure) {
		ours, theirs := net.Pipe()
		go func() {
			serve(theirs)
			_ = theirs.Close()
		}()
		return newConn(ours), nil
	}
	return c
}

func TestIdleConnectionIsClosedInTime(t *testing.T) {
	tests := []struct {
		name, header string
		want         time.Duration
	}{
		{"as configured", "", 4 * time.Second},
		{"server keeps it longer", "Keep-Alive: timeout=60\r\n", 4 * time.Second},
		{"server keeps it as long", "Keep-Alive: timeout=4\r\n", 3 * time.Second},
		{"server keeps it shorter", "Keep-Alive: timeout=2, max=100\r\n", 1500 * time.Millisecond},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				closed := make(chan time.Time, 1)
				c := pipeClient(t, func(nc net.Conn) {
					var s wireServer
					r := bufio.NewReader(nc)
					for s.read(r) {
						_, _ = io.WriteString(nc, "HTTP/1.1 200 OK\r\n"+tt.header+"Content-Length: 0\r\n\r\n")
					}
					closed <- time.Now()
				})
				post(t, c, nil)
				time.Sleep(time.Second)
				post(t, c, nil) // it was idle for a second, and begins anew
				start := time.Now()
				if got := (<-closed).Sub(start); got != tt.want {
					t.Errorf("closed after %s, want %s", got, tt.want)
				}
			})
		})
	}
}

func TestReaperClosesEachConnectionInItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var p pool
		var mu sync.Mutex
		var closed []time.Duration
		for i := range 3 {
			ours, theirs := net.Pipe()
			p.put(newConn(ours), time.Duration(i+1)*time.Second)
			go func() {
				_, _ = theirs.Read(make([]byte, 1))
				mu.Lock()
				defer mu.Unlock()
				closed = append(closed, time.Since(start))
			}()
		}
		time.Sleep(2500 * time.Millisecond)
		p.close()
		synctest.Wait()
		want := []time.Duration{time.Second, 2 * time.Second, 2500 * time.Millisecond}
		if !slices.Equal(closed, want) {
			t.Errorf("closed after %v, want %v", closed, want)
		}
	})
}

// The reaper wakes for the one that was put first; a shorter-lived one behind it
// must not be used in the meantime.
func TestExpiredConnectionIsNotUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p pool
		defer p.close()
		var conns []*conn
		for _, keep := range []time.Duration{4 * time.Second, time.Second} {
			ours, _ := net.Pipe()
			conns = append(conns, newConn(ours))
			p.put(conns[len(conns)-1], keep)
		}
		time.Sleep(2 * time.Second)
		if got := p.get(time.Now(), nil); got != conns[0] {
			t.Errorf("got %p, want the one that has not expired", got)
		}
		if _, err := conns[1].Write([]byte("x")); err == nil {
			t.Error("the expired connection is still open")
		}
	})
}

func TestAttemptEndsAtItsTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := pipeClient(t, func(nc net.Conn) { _, _ = io.Copy(io.Discard, nc) })
		got := post(t, c, []byte("value"))
		wantOutcome(t, got, policy.Outcome{Verdict: policy.VerdictOf(policy.ClassTransient), Kind: policy.KindTimeout,
			Error: "no response within 10s", Duration: 10 * time.Second})
	})
}

func TestAttemptEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := pipeClient(t, func(nc net.Conn) { _, _ = io.Copy(io.Discard, nc) })
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		got := c.Attempt(ctx, fullRequest())
		wantOutcome(t, got, policy.Outcome{Verdict: policy.VerdictOf(policy.ClassTransient), Kind: policy.KindTimeout,
			Error: "stopped before a response", Duration: 3 * time.Second})
	})
}

func TestCloseDropsConnectionsInUseAfterTheirAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		closed := make(chan struct{})
		c := pipeClient(t, func(nc net.Conn) {
			var s wireServer
			r := bufio.NewReader(nc)
			for s.read(r) {
				time.Sleep(time.Second)
				_, _ = io.WriteString(nc, ok)
			}
			close(closed)
		})
		go func() {
			time.Sleep(500 * time.Millisecond)
			c.Close()
		}()
		start := time.Now()
		if got := post(t, c, nil); !got.Delivered() {
			t.Errorf("outcome %+v", got)
		}
		<-closed
		if got := time.Since(start); got != time.Second {
			t.Errorf("closed after %s, want right after the attempt", got)
		}
	})
}

// twice answers the first request on each connection, and then nothing more.
func twice(nc net.Conn) {
	var s wireServer
	r := bufio.NewReader(nc)
	s.read(r)
	_, _ = io.WriteString(nc, ok)
	_, _ = io.Copy(io.Discard, r)
}

func TestAttemptOnAKeptConnectionEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := pipeClient(t, twice)
		defer c.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		for _, want := range []policy.Outcome{
			{Verdict: policy.VerdictOf(policy.ClassNone), Status: 200},
			{Verdict: policy.VerdictOf(policy.ClassTransient), Kind: policy.KindTimeout, Error: "stopped before a response", Duration: 3 * time.Second},
		} {
			wantOutcome(t, c.Attempt(ctx, fullRequest()), want)
		}
	})
}

func TestConnectionGoesFromOneContextToTheNext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var connections atomic.Int64
		c := pipeClient(t, func(nc net.Conn) {
			connections.Add(1)
			var s wireServer
			for r := bufio.NewReader(nc); s.read(r); {
				_, _ = io.WriteString(nc, ok)
			}
		})
		defer c.Close()
		first, end := context.WithCancel(t.Context())
		second, endSecond := context.WithCancel(t.Context())
		defer endSecond()
		for _, ctx := range []context.Context{first, second, first} {
			wantOutcome(t, c.Attempt(ctx, fullRequest()), policy.Outcome{Verdict: policy.VerdictOf(policy.ClassNone), Status: 200})
		}
		if n := connections.Load(); n != 1 {
			t.Errorf("%d connections, want one for all contexts that go on", n)
		}
		end()
		synctest.Wait() // the idle connection was interrupted
		wantOutcome(t, c.Attempt(second, fullRequest()), policy.Outcome{Verdict: policy.VerdictOf(policy.ClassNone), Status: 200})
		if n := connections.Load(); n != 2 {
			t.Errorf("%d connections, want another one in place of that which an end has interrupted", n)
		}
	})
}

// overtaken is a connection whose context ends, and interrupts it, just before an
// exchange sets its deadline.
type overtaken struct {
	net.Conn
	end         func()
	interrupted chan struct{}
	exchanges   int
}

func (c *overtaken) SetDeadline(at time.Time) error {
	if at.Before(time.Now()) {
		defer close(c.interrupted)
	} else if c.exchanges++; c.exchanges == 2 {
		c.end()
		<-c.interrupted
	}
	return c.Conn.SetDeadline(at)
}

func TestDeadlineDoesNotUndoTheEndOfTheContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := pipeClient(t, twice)
		defer c.Close()
		ctx, end := context.WithCancel(t.Context())
		dial := c.dial
		c.dial = func(ctx context.Context) (*conn, *failure) {
			cn, f := dial(ctx)
			wire := &overtaken{Conn: cn.wire.Conn, end: end, interrupted: make(chan struct{})}
			return newConn(wire), f
		}
		wantOutcome(t, c.Attempt(ctx, fullRequest()), policy.Outcome{Verdict: policy.VerdictOf(policy.ClassNone), Status: 200})
		wantOutcome(t, c.Attempt(ctx, fullRequest()), policy.Outcome{
			Verdict: policy.VerdictOf(policy.ClassTransient), Kind: policy.KindTimeout, Error: "stopped before a response"})
	})
}
