package harness

import (
	"fmt"
	"math/rand/v2"
	"net"
)

// Ports are taken from below the range that the common systems use for outgoing
// connections (Linux: 32768 and up), so that the port of a server that is down
// for a while cannot be given to one of them.
const (
	lowestPort  = 20000
	highestPort = 32767
	portTries   = 100
)

// listenLoopback listens at a random free port of 127.0.0.1.
func listenLoopback() (net.Listener, error) {
	var last error
	for range portTries {
		port := lowestPort + rand.IntN(highestPort-lowestPort+1)
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			return listener, nil
		}
		last = err
	}
	return nil, fmt.Errorf("find a free port on 127.0.0.1: %w", last)
}

// freeAddrs returns n different host:port of 127.0.0.1 that nobody listened at
// just now.
func freeAddrs(n int) ([]string, error) {
	addrs := make([]string, n)
	for i := range addrs {
		listener, err := listenLoopback()
		if err != nil {
			return nil, err
		}
		defer listener.Close() // not before all are found: they must differ
		addrs[i] = listener.Addr().String()
	}
	return addrs, nil
}
