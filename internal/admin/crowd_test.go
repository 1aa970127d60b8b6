package admin

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
)

const fromHere, fromElsewhere = "127.0.0.1:50000", "192.0.2.7:50000"

// crowded runs a server with n connections from an address, which say nothing.
func crowded(t *testing.T, n int, from string, test func(ln *pipes, conns []net.Conn)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := New(Config{}, prometheus.NewRegistry(), fine(), zap.NewNop())
		ln := newPipes()
		s.ln = ln
		defer serve(t, s)()
		var conns []net.Conn
		for range n {
			c := ln.dialFrom(from)
			defer c.Close()
			conns = append(conns, c)
		}
		synctest.Wait()
		test(ln, conns)
	})
}

// ask gets a page on an open connection.
func ask(c net.Conn) (*http.Response, error) {
	go func() { _ = send(c, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n") }()
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err == nil {
		_, err = io.Copy(io.Discard, res.Body)
	}
	return res, err
}

func requireAnswer(t *testing.T, who string, c net.Conn) {
	t.Helper()
	if res, err := ask(c); err != nil || res.StatusCode != http.StatusOK {
		t.Errorf("%s: no answer: %v", who, err)
	}
}

func TestNobodyElsewhereKeepsThisHostOut(t *testing.T) {
	crowded(t, maxRemote, fromElsewhere, func(ln *pipes, conns []net.Conn) {
		refused := ln.dialFrom(fromElsewhere)
		defer refused.Close()
		if _, err := ask(refused); err == nil {
			t.Errorf("connection %d from elsewhere is answered", maxRemote+1)
		}
		for range maxConnections - maxRemote {
			local := ln.dialFrom(fromHere)
			defer local.Close()
			requireAnswer(t, "this host", local)
		}
		conns[0].Close()
		synctest.Wait()
		next := ln.dialFrom(fromElsewhere)
		defer next.Close()
		requireAnswer(t, "who comes after another left", next)
	})
}

func TestConnectionsAreBounded(t *testing.T) {
	crowded(t, maxConnections, fromHere, func(ln *pipes, conns []net.Conn) {
		accepted := make(chan net.Conn, 1)
		go func() { accepted <- ln.dialFrom(fromHere) }()
		synctest.Wait()
		if len(accepted) != 0 {
			t.Errorf("connection %d was accepted", maxConnections+1)
		}
		conns[0].Close()
		next := <-accepted
		defer next.Close()
		requireAnswer(t, "who comes after another left", next)
	})
}

// Clients that ask again and again on the connections that they have would keep all
// others out.
func TestConnectionIsKeptUnlessThereAreMany(t *testing.T) {
	tests := []struct {
		name string
		n    int
		from string
		want bool
	}{
		{"few from elsewhere", maxRemote * 3 / 4, fromElsewhere, false},
		{"many from elsewhere", maxRemote*3/4 + 1, fromElsewhere, true},
		{"as many from here", maxRemote*3/4 + 1, fromHere, false},
		{"many from here", maxConnections*3/4 + 1, fromHere, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			crowded(t, tt.n, tt.from, func(_ *pipes, conns []net.Conn) {
				res, err := ask(conns[0])
				if err != nil {
					t.Fatal(err)
				}
				if res.Close != tt.want {
					t.Errorf("closed after the answer: %v, want %v", res.Close, tt.want)
				}
			})
		})
	}
}
