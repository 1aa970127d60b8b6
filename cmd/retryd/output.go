package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/retryd/retryd/internal/inspect"
)

// format is how a command prints what it found: the flag --output.
type format string

// The formats. Text is for people and may change; JSON is for programs.
const (
	formatText format = "text"
	formatJSON format = "json"
)

// outputFlag adds --output to a command.
func outputFlag(cmd *cobra.Command) *format {
	f := formatText
	cmd.Flags().VarP(&f, "output", "o", "print `text|json`")
	completeWith(cmd, "output", string(formatText), string(formatJSON))
	return &f
}

// String, Set and Type make a flag of a format.
func (f *format) String() string { return string(*f) }

// Set takes the flag's value.
func (f *format) Set(value string) error {
	switch got := format(value); got {
	case formatText, formatJSON:
		*f = got
		return nil
	}
	return fmt.Errorf("it must be %s or %s", formatText, formatJSON)
}

// Type names the flag's value in a help text.
func (f *format) Type() string { return "format" }

// print writes value as indented JSON, or what text makes of it, in one piece.
func (p program) print(f format, value any, text func(io.Writer)) error {
	var out bytes.Buffer
	if f == formatJSON {
		encoder := json.NewEncoder(&out)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(value); err != nil {
			return fmt.Errorf("write JSON: %w", err)
		}
	} else {
		text(&out)
	}
	_, err := out.WriteTo(p.stdout)
	return err
}

// explained returns an error of Kafka in words for people.
func explained(err error) error { return errors.New(inspect.Explain(err)) }
