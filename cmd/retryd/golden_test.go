package main

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

var update = flag.Bool("update", false, "write what is printed to testdata")

// golden compares a text with the file of that name in testdata.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

// commands returns every command of the program that a person can see.
func commands() []*cobra.Command {
	root := program{}.rootCommand()
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd("completion")
	var all []*cobra.Command
	var add func(*cobra.Command)
	add = func(c *cobra.Command) {
		c.InitDefaultHelpFlag()
		all = append(all, c)
		for _, child := range c.Commands() {
			if !child.Hidden {
				add(child)
			}
		}
	}
	add(root)
	return all
}

func TestHelpOfEveryCommand(t *testing.T) {
	for _, c := range commands() {
		t.Run(c.CommandPath(), func(t *testing.T) {
			out := execute(t, nil, nil, append(strings.Fields(c.CommandPath())[1:], "--help")...)
			if out.Code != 0 || out.Stderr != "" {
				t.Errorf("exit %d, standard error %q", out.Code, out.Stderr)
			}
			golden(t, filepath.Join("help", strings.ReplaceAll(c.CommandPath(), " ", "-")+".txt"), out.Stdout)
			for line := range strings.Lines(out.Stdout) {
				if len(strings.TrimRight(line, "\n")) > 100 {
					t.Errorf("wider than a terminal of 100 columns: %q", line)
				}
			}
		})
	}
}
