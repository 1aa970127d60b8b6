package forward

import (
	"bufio"
	"encoding/binary"
	"net"
)

// wire counts the bytes that the kernel took, which is how it is known whether any
// of a request can have reached the endpoint.
type wire struct {
	net.Conn
	written int64
}

func (w *wire) Write(p []byte) (int, error) {
	n, err := w.Conn.Write(p)
	w.written += int64(n)
	return n, err
}

// writeParts writes them with one system call, without joining them.
func (w *wire) writeParts(parts *net.Buffers) error {
	n, err := parts.WriteTo(w.Conn)
	w.written += n
	return err
}

// recordHeader is the size of a TLS record's header. Its last two bytes are the
// length of what follows it (RFC 8446, section 5.1; the same in TLS 1.2).
const recordHeader = 5

// records gives a TLS session one record at a time. By itself a session reads
// ahead (crypto/tls, Conn.readFromUntil), and nobody sees what it has read: a
// second response would be taken for that of the next request.
type records struct {
	*wire
	ahead *bufio.Reader // what came behind the record that the session reads
	left  int           // bytes of that record which the session has not got
}

func newRecords(w *wire) *records { return &records{wire: w, ahead: bufio.NewReader(w)} }

func (r *records) Read(p []byte) (int, error) {
	if r.left == 0 {
		header, err := r.ahead.Peek(recordHeader)
		if err != nil {
			return 0, err
		}
		r.left = recordHeader + int(binary.BigEndian.Uint16(header[recordHeader-2:]))
	}
	n, err := r.ahead.Read(p[:min(len(p), r.left)])
	r.left -= n
	return n, err
}
