package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"
)

// TestDocumentationNamesEveryCommandAndFlag compares the program with the headings
// of docs/commands.md, and with the flags in the tables below them.
func TestDocumentationNamesEveryCommandAndFlag(t *testing.T) {
	want := map[string][]string{}
	for _, c := range commands() {
		path := c.CommandPath()
		if c.Name() == "help" || strings.HasPrefix(path, "retryd completion ") {
			continue
		}
		flags := []string{}
		c.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
			switch {
			case f.Name == "help":
			case f.Shorthand != "":
				flags = append(flags, "-"+f.Shorthand+", --"+f.Name)
			default:
				flags = append(flags, "--"+f.Name)
			}
		})
		slices.Sort(flags)
		want[path] = flags
	}
	if diff := cmp.Diff(want, documentedCommands(t)); diff != "" {
		t.Errorf("the program (-) and docs/commands.md (+) differ:\n%s", diff)
	}
}

// documentedCommands returns the flags of each command that the document describes.
func documentedCommands(t *testing.T) map[string][]string {
	t.Helper()
	heading := regexp.MustCompile("^## `(retryd[a-z ]*)`$")
	row := regexp.MustCompile("^\\| `((?:-[a-z], )?--[a-z-]+)")
	found := map[string][]string{}
	command := ""
	for line := range strings.Lines(document(t)) {
		line = strings.TrimRight(line, "\n")
		if m := heading.FindStringSubmatch(line); m != nil {
			command = m[1]
			found[command] = []string{}
		}
		if m := row.FindStringSubmatch(line); m != nil {
			found[command] = append(found[command], m[1])
		}
	}
	for _, flags := range found {
		slices.Sort(flags)
	}
	return found
}

func TestDocumentationNamesTheCommandsThatPrintJSON(t *testing.T) {
	var names []string
	for _, c := range commands() {
		if c.Flags().Lookup("output") != nil {
			names = append(names, "`"+c.Name()+"`")
		}
	}
	last := len(names) - 1
	documented(t, "\nWith `--output json`, "+strings.Join(names[:last], ", ")+" and "+names[last]+" print ")
}

func TestDocumentationShowsACheck(t *testing.T) {
	path := writeFile(t, `
relays:
  - topic: library.loan.overdue
    start: earliest
    endpoint: {url: "http://127.0.0.1:8080/loans/overdue"}
    tiers: [5s, 30s, 5m]
`)
	relay, _, _ := strings.Cut(execute(t, nil, nil, "check", "--config", path).Stdout, "\nWhat an answer")
	documented(t, strings.ReplaceAll(relay, path, "retryd.yaml"))
}

func document(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/commands.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// documented says that the document shows an output, line by line as it is printed.
func documented(t *testing.T, output string) {
	t.Helper()
	if !strings.Contains(document(t), output) {
		t.Errorf("docs/commands.md does not show\n%s", output)
	}
}
