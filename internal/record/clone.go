package record

import "bytes"

// Clone copies a record's bytes, so that they no longer pin the fetch response
// that they were read from. Everything shares one allocation, since it is held and
// let go together; headers take a second one. Null stays null and empty stays
// empty. headers may be a scratch slice that the caller uses again.
func Clone(key, value []byte, headers []Header) (k, v []byte, h []Header) {
	var room [16][]byte
	parts := append(room[:0], key, value)
	for i := range headers {
		parts = append(parts, headers[i].Key, headers[i].Value)
	}
	joined := bytes.Join(parts, nil) // which does not clear the memory first
	k, joined = cut(joined, key)
	v, joined = cut(joined, value)
	if len(headers) == 0 {
		return k, v, nil
	}
	h = make([]Header, len(headers))
	for i := range headers {
		h[i].Key, joined = cut(joined, headers[i].Key)
		h[i].Value, joined = cut(joined, headers[i].Value)
	}
	return k, v, h
}

// cut cuts the copy of b off joined. The copy's capacity ends where it does: who appends
// to it must not write into its neighbour.
func cut(joined, b []byte) (copied, rest []byte) {
	if b == nil {
		return nil, joined
	}
	n := len(b)
	return joined[:n:n], joined[n:]
}
