package record

import "bytes"

// A record as it is read lies in a fetch response, all of which any of its bytes would
// pin. So what is kept for long is copied: by Own for as long as it takes, by a Room for
// one attempt. Both copy all of it into one piece, since it is held and let go together.
// Null stays null and empty stays empty.

// Own has the record own its bytes and its list of headers.
func (r *Record) Own() {
	var room [16][]byte
	joined := bytes.Join(r.parts(room[:0]), nil) // which does not clear the memory first
	var headers []Header
	if len(r.Headers) > 0 {
		headers = make([]Header, 0, len(r.Headers))
	}
	r.lie(joined, headers)
}

// maxRoom is the size of the largest record that lies in a Room.
const maxRoom = 64 << 10

// headerSize is what an entry of a list of headers takes, in bytes: two slices.
const headerSize = 48

// Room is memory for one record after the other. The zero Room is empty.
type Room struct {
	bytes   []byte
	headers []Header
}

// Take has the record lie in the room, until the room takes another one. It returns
// false for a record that is too large for one, which owns its bytes instead.
func (m *Room) Take(r *Record) bool {
	if r.Size() > maxRoom {
		r.Own()
		return false
	}
	var room [16][]byte
	m.bytes = m.bytes[:0]
	for _, part := range r.parts(room[:0]) {
		m.bytes = append(m.bytes, part...)
	}
	clear(m.headers)
	m.headers = r.lie(m.bytes, m.headers[:0])
	return true
}

// Size returns what the record takes in memory, in bytes: its parts and its list of
// headers.
func (r *Record) Size() int {
	n := len(r.Key) + len(r.Value)
	for i := range r.Headers {
		n += len(r.Headers[i].Key) + len(r.Headers[i].Value) + headerSize
	}
	return n
}

// parts appends all that a record's bytes consist of.
func (r *Record) parts(to [][]byte) [][]byte {
	to = append(to, r.Key, r.Value)
	for i := range r.Headers {
		to = append(to, r.Headers[i].Key, r.Headers[i].Value)
	}
	return to
}

// lie has the record lie in a copy of its parts, with its headers in list.
func (r *Record) lie(joined []byte, list []Header) []Header {
	r.Key, joined = cut(joined, r.Key)
	r.Value, joined = cut(joined, r.Value)
	for _, h := range r.Headers {
		h.Key, joined = cut(joined, h.Key)
		h.Value, joined = cut(joined, h.Value)
		list = append(list, h)
	}
	r.Headers = nil
	if len(list) > 0 {
		r.Headers = list
	}
	return list
}

// cut cuts the copy of b off joined. The copy's capacity ends where it does: who appends
// to it must not write into its neighbour.
func cut(joined, b []byte) (copied, rest []byte) {
	switch n := len(b); {
	case b == nil:
		return nil, joined
	case n == 0: // joined may be nil
		return []byte{}, joined
	default:
		return joined[:n:n], joined[n:]
	}
}
