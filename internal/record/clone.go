package record

// Clone copies a record's bytes, so that they no longer pin the fetch response
// that they were read from. Everything shares one allocation, since it is held and
// let go together; headers take a second one. Null stays null and empty stays
// empty. headers may be a scratch slice that the caller uses again.
func Clone(key, value []byte, headers []Header) (k, v []byte, h []Header) {
	size := len(key) + len(value)
	for i := range headers {
		size += len(headers[i].Key) + len(headers[i].Value)
	}
	buf := make([]byte, 0, size)
	k, buf = cloneInto(buf, key)
	v, buf = cloneInto(buf, value)
	if len(headers) == 0 {
		return k, v, nil
	}
	h = make([]Header, len(headers))
	for i := range headers {
		h[i].Key, buf = cloneInto(buf, headers[i].Key)
		h[i].Value, buf = cloneInto(buf, headers[i].Value)
	}
	return k, v, h
}

// cloneInto appends b to buf and returns the copy, whose capacity ends where it
// does: who appends to it must not write into its neighbour.
func cloneInto(buf, b []byte) (copied, rest []byte) {
	if b == nil {
		return nil, buf
	}
	start := len(buf)
	buf = append(buf, b...)
	return buf[start:len(buf):len(buf)], buf
}
