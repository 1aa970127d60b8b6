package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/retryd/retryd/internal/config"
)

// noArgs refuses what is neither a flag nor the value of one.
func noArgs(_ *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return fmt.Errorf("unexpected argument %q: is the flag before it missing?", args[0])
}

// filled is the value of a flag that may be left out, but not be empty: a variable of a
// script that is not set must not silently mean the default.
type filled string

// String, Set and Type make a flag's value of it.
func (f *filled) String() string { return string(*f) }

// Set takes the flag's value.
func (f *filled) Set(value string) error {
	if value == "" {
		return errors.New("it must not be empty")
	}
	*f = filled(value)
	return nil
}

// Type names the flag's value in a help text.
func (f *filled) Type() string { return "string" }

// configFlag adds --config to a command.
func configFlag(cmd *cobra.Command, path *string, help string) {
	cmd.Flags().VarP((*filled)(path), "config", "c", help)
	_ = cmd.MarkFlagFilename("config", "yaml", "yml") // fails only for a flag that is not there
}

// requiredFile describes a --config that cannot be left out.
const requiredFile = "the YAML `FILE` (required)"

// load reads the file that --config names. The error of a file that has problems is
// a *config.Error.
func (p program) load(path string) (*config.Config, error) {
	if path == "" {
		return nil, usage("--config is missing: name the YAML file")
	}
	return config.Load(path, p.environ)
}

// usage returns a *usageError.
func usage(format string, args ...any) error {
	return &usageError{fmt.Errorf(format, args...)}
}
