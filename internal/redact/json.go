package redact

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
)

// note ends a text whose rest is not shown.
const note = "[redacted: the rest is not valid JSON]"

// maxDepth is how deeply values may be nested, as for json.Valid.
const maxDepth = 10_000

var errDepth = errors.New("nested too deeply")

// JSON returns a text as it may be shown, which is the text itself if no path leads
// to a part of it. All bytes outside of what is hidden stay as they are.
//
//   - What a path leads to becomes "[redacted]", whatever it is. Several values may
//     follow one another (JSON lines). What was cut off is no error: the part that
//     is there is treated alike.
//   - A string in which a path's last name stands as a name ("password":), as when an
//     error quotes a record, becomes "[redacted]": however it is escaped, and however
//     often it is quoted again.
//   - Where a text that begins as JSON is none any more, its rest is left out.
//   - A text that is no JSON is left as it is, but ends before such a name.
//
// Valid JSON stays valid JSON.
func (r Rules) JSON(text []byte) []byte {
	if len(r.paths) == 0 {
		return text
	}
	begin, ok := begins(text)
	if !ok {
		return plain(r.paths, text)
	}
	s := scan{paths: r.paths, in: text, begin: begin, dec: json.NewDecoder(bytes.NewReader(text[begin:]))}
	s.dec.UseNumber()
	return s.run()
}

// blank may stand before JSON: white space, byte order marks, and the zeros of UTF-16.
const blank = " \t\r\n\x00\xef\xbb\xbf\xff\xfe"

// begins returns where a text begins that looks like a JSON object or array. "[ERROR]"
// does not.
func begins(text []byte) (at int, ok bool) {
	at = skip(text, 0, blank)
	if at == len(text) || text[at] == '{' {
		return at, at < len(text)
	}
	first := skip(text, at+1, blank)
	return at, text[at] == '[' && (first == len(text) || strings.IndexByte(`{["]-0123456789tfn`, text[first]) >= 0)
}

// skip returns where the bytes end, from at on, that are in set.
func skip(text []byte, at int, set string) int {
	for at < len(text) && strings.IndexByte(set, text[at]) >= 0 {
		at++
	}
	return at
}

// scan walks through a text, value by value.
type scan struct {
	paths []path
	in    []byte
	begin int // of the JSON in it
	dec   *json.Decoder
	depth int

	active []position // of the values around the present one, outermost first, then its own
	out    []byte
	done   int // in[:done] is in out
}

// position is how far into a path the way to a value has led.
type position struct {
	path, next int // next is the index of the step that was not taken yet
}

// run walks through all values, and returns the text as it may be shown.
func (s *scan) run() []byte {
	for i := range s.paths {
		s.active = append(s.active, position{path: i})
	}
	var err error
	for err == nil {
		err = s.value(0)
	}
	if !isCut(err) {
		return append(append(s.out, s.in[s.done:s.offset()]...), note...)
	}
	whole := max(s.done, s.offset()) // what follows is part of a name, a string or a number
	rest := s.in[whole:]
	shown := plain(s.paths, rest)
	if s.done == 0 && bytes.Equal(shown, rest) {
		return s.in
	}
	return append(append(s.out, s.in[s.done:whole]...), shown...)
}

// isCut reports whether the text ended, within a value or behind one.
func isCut(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }

// value walks through the next value, whose positions are active[from:].
func (s *scan) value(from int) error {
	if slices.ContainsFunc(s.active[from:], func(p position) bool { return p.next == len(s.paths[p.path]) }) {
		return s.hide()
	}
	start := s.start()
	token, err := s.dec.Token()
	switch token {
	case json.Delim('{'), json.Delim('['):
		return s.container(from, token == json.Delim('{'))
	}
	if text, ok := token.(string); ok && mentioned(s.paths, []byte(`"`+text+`"`)) {
		s.replace(start, s.offset())
	}
	return err
}

// container walks through an object or an array from behind its first bracket on.
func (s *scan) container(from int, object bool) error {
	if s.depth == maxDepth {
		return errDepth
	}
	s.depth++
	for i := 0; s.dec.More(); i++ {
		at := place{index: i}
		if object {
			name, err := s.dec.Token()
			if err != nil {
				return err
			}
			at.name, _ = name.(string) // the decoder takes nothing else
			at.index = -1
		}
		if err := s.inner(from, at); err != nil {
			return err
		}
	}
	s.depth--
	_, err := s.dec.Token() // the last bracket
	return err
}

// inner walks through a value that is in the one whose positions are active[from:].
func (s *scan) inner(from int, at place) error {
	own := len(s.active)
	for _, p := range s.active[from:] {
		next := s.paths[p.path][p.next]
		if next.deep {
			s.add(own, p)
		}
		if next.selects(at) {
			s.add(own, position{p.path, p.next + 1})
		}
	}
	err := s.value(own)
	s.active = s.active[:own]
	return err
}

// add adds a position once, or a deep nesting would make more and more of them.
func (s *scan) add(own int, p position) {
	if !slices.Contains(s.active[own:], p) {
		s.active = append(s.active, p)
	}
}

// hide replaces the next value, also if it is cut off.
func (s *scan) hide() error {
	start := s.start()
	var hidden json.RawMessage
	err := s.dec.Decode(&hidden)
	switch {
	case err == nil:
		s.replace(start, s.offset())
	case isCut(err):
		s.replace(start, len(s.in))
	}
	return err
}

func (s *scan) replace(start, end int) {
	s.out = append(append(s.out, s.in[s.done:start]...), `"`+Mask+`"`...)
	s.done = end
}

// offset is where what was read ends.
func (s *scan) offset() int { return s.begin + int(s.dec.InputOffset()) }

// start is where the next value begins.
func (s *scan) start() int { return skip(s.in, s.offset(), " \t\r\n,:") }
