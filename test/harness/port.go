package harness

import (
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
)

// Ports are taken from below the range that the common systems use for outgoing
// connections (Linux: 32768 and up), so that the port of a server that is down
// for a while cannot be given to one of them.
const (
	lowestPort  = 20000
	highestPort = 32767
	portTries   = 100
)

// claimed are the ports that this process has given out. None is given out again, here
// or by another process of tests, until this one ends: whoever is down for a while
// comes back at its port. Each is claimed by the UDP port of the same number, which
// nobody else uses.
var claimed struct {
	mu    sync.Mutex
	ports []net.PacketConn
}

// listenLoopback listens at a random port of 127.0.0.1, which it claims.
func listenLoopback() (net.Listener, error) {
	var last error
	for range portTries {
		addr := fmt.Sprintf("127.0.0.1:%d", lowestPort+rand.IntN(highestPort-lowestPort+1))
		claim, err := net.ListenPacket("udp", addr)
		if err != nil {
			last = err
			continue
		}
		listener, err := net.Listen("tcp", addr)
		if err != nil {
			last = err
			_ = claim.Close()
			continue
		}
		claimed.mu.Lock()
		claimed.ports = append(claimed.ports, claim)
		claimed.mu.Unlock()
		return listener, nil
	}
	return nil, fmt.Errorf("find a free port on 127.0.0.1: %w", last)
}

// FreeAddrs claims n different host:port of 127.0.0.1 that nobody listens at.
func FreeAddrs(n int) ([]string, error) {
	addrs := make([]string, n)
	for i := range addrs {
		listener, err := listenLoopback()
		if err != nil {
			return nil, err
		}
		if err := listener.Close(); err != nil {
			return nil, err
		}
		addrs[i] = listener.Addr().String()
	}
	return addrs, nil
}
