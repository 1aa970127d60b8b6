package forward

import (
	"encoding/json"
	"fmt"
	"io"
)

// mask stands for a secret wherever one would be shown.
const mask = "***"

// Secret is a string that never shows itself: every way of printing, logging or
// marshalling it yields "***", and nothing if it is empty. Reveal is the only way
// in. A field that holds one must be exported: fmt asks no method of a value in an
// unexported field.
type Secret string

// Reveal returns the secret itself.
func (s Secret) Reveal() string { return string(s) }

// String implements fmt.Stringer.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return mask
}

// GoString implements fmt.GoStringer.
func (s Secret) GoString() string { return s.String() }

// Format implements fmt.Formatter, because verbs like %x do not ask String.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, s.String()) }

// MarshalText implements encoding.TextMarshaler.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalJSON implements json.Marshaler.
func (s Secret) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }

// MarshalYAML implements the Marshaler of the YAML libraries.
func (s Secret) MarshalYAML() (any, error) { return s.String(), nil }
