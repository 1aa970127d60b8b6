//go:build unix

package forward

import (
	"errors"
	"net"
	"syscall"
)

// livenessOf returns a check for an idle connection. It looks, without waiting,
// whether the endpoint has closed it; a byte that came unasked (like the 408 with
// which some servers end a connection, or TLS's close_notify) counts as closed, too.
//
// The kernel accepts a write to a connection that the peer has closed, so that
// afterwards nobody can say whether the request was seen.
func livenessOf(nc net.Conn) func() error {
	sc, ok := nc.(syscall.Conn)
	if !ok {
		return func() error { return nil }
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return func() error { return err }
	}
	var result error
	var one [1]byte
	look := func(fd uintptr) bool {
		_, result = syscall.Read(int(fd), one[:])
		return true // whatever came of it, do not wait
	}
	return func() error {
		if err := raw.Read(look); err != nil {
			return err
		}
		if errors.Is(result, syscall.EAGAIN) {
			return nil // nothing to read: open and idle
		}
		return errStale
	}
}
