package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestCompletion asks as the shells' scripts do: the last argument is what has been
// typed of a word, and the last line of the answer tells the shell what to add.
func TestCompletion(t *testing.T) {
	path := writeFile(t, `
relays:
  - {topic: loans, endpoint: {url: "http://127.0.0.1:1/"}, tiers: [5s]}
  - {topic: orders, endpoint: {url: "http://127.0.0.1:1/"}, tiers: [5s]}
`)
	const (
		noFiles = ":4"
		filter  = ":8" // files with these extensions
	)
	tests := []struct {
		name string
		args []string
		want []string
	}{
		{"relays of the file", []string{"send", "--config", path, "--relay", ""}, []string{"loans", "orders", noFiles}},
		{"relays of the file, to be paused", []string{"pause", "--config", path, ""}, []string{"loans", "orders", noFiles}},
		{"one relay is enough", []string{"resume", "--config", path, "loans", ""}, []string{noFiles}},
		{"no file, no relays", []string{"send", "--relay", ""}, []string{noFiles}},
		{"formats", []string{"status", "--output", ""}, []string{"text", "json", noFiles}},
		{"YAML files", []string{"topics", "--config", ""}, []string{"yaml", "yml", filter}},
		{"commands", []string{"st"}, []string{"status\tShow the state of a running daemon", noFiles}},
		{"commands to be explained", []string{"help", "completion", "f"}, []string{"fish\tGenerate the autocompletion script for fish", noFiles}},
		{"nothing below a command", []string{"help", "check", ""}, []string{noFiles}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out := execute(t, nil, nil, append([]string{"__complete"}, tt.args...)...)
			got := strings.Split(strings.TrimSpace(out.Stdout), "\n")
			if diff := cmp.Diff(tt.want, got); diff != "" || out.Code != 0 {
				t.Errorf("exit %d, offered (-want +got):\n%s", out.Code, diff)
			}
		})
	}
}

func TestCompletionScripts(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		out := execute(t, nil, nil, "completion", shell)
		if out.Code != 0 || out.Stderr != "" || !strings.Contains(out.Stdout, "__complete") {
			t.Errorf("%s: exit %d, standard error %q, %d bytes", shell, out.Code, out.Stderr, len(out.Stdout))
		}
	}
}
