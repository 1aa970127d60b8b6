package main

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func (p program) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Long:    "Print the version, the Go version it was built with, and the commit if it is known.",
		Example: "  retryd version",
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := fmt.Fprintln(p.stdout, versionLine())
			return err
		},
	}
}

// versionLine is what version and --version print.
func versionLine() string {
	info, _ := debug.ReadBuildInfo()
	return describeBuild(currentVersion(), info)
}

// currentVersion is the version as it appears in headers and logs.
func currentVersion() string {
	if version == "" {
		return "dev"
	}
	return version
}

// describeBuild returns one line; info may be nil.
func describeBuild(version string, info *debug.BuildInfo) string {
	line := "retryd " + version
	if info == nil {
		return line
	}
	line += ", " + info.GoVersion
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	if commit := settings["vcs.revision"]; commit != "" {
		line += ", commit " + commit
	}
	if settings["vcs.modified"] == "true" {
		line += " with changes"
	}
	return line
}
