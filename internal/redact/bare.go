package redact

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// bare is a text in which \uXXXX is what it stands for, and without backslashes: a record
// that is quoted in a string has one before each quotation mark, and several where that
// string is quoted again. It is to find names in, not to be shown.
type bare struct {
	text []byte
	from []int // where in the text itself each byte of it begins; nil: at the same place
}

func bareOf(text []byte) bare {
	if bytes.IndexByte(text, '\\') < 0 {
		return bare{text: text}
	}
	var b bare
	escaped := false // by a backslash just before
	for at := 0; at < len(text); {
		char, next := text[at:at+1], at+1
		if r, ok := unit(text[at:]); ok && escaped {
			char, next = utf8.AppendRune(nil, r), at+len("u0000")
		}
		if escaped = char[0] == '\\'; !escaped {
			b.add(char, at)
		}
		at = next
	}
	return b
}

// unit returns what the XXXX stand for where a text begins with uXXXX. A half of a
// surrogate pair stands for a replacement character.
func unit(text []byte) (r rune, ok bool) {
	if len(text) < len("u0000") || text[0] != 'u' {
		return 0, false
	}
	n, err := strconv.ParseUint(string(text[1:len("u0000")]), 16, 16)
	return rune(n), err == nil
}

func (b *bare) add(char []byte, from int) {
	for range char {
		b.from = append(b.from, from)
	}
	b.text = append(b.text, char...)
}

// origin returns where in the text itself a byte begins.
func (b bare) origin(at int) int {
	if b.from == nil {
		return at
	}
	return b.from[at]
}
