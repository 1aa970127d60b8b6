package deploy

import (
	"cmp"
	"maps"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

// required returns the modules that go.mod requires for this code's own imports, with
// their versions as the documentation has them: 1.2.3, and of a commit its date.
func required(t *testing.T) map[string]string {
	t.Helper()
	commit := regexp.MustCompile(`^v0\.0\.0-(\d{4})(\d{2})(\d{2})\d{6}-\w+$`)
	found := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^\t(\S+) (v\S+)$`).FindAllStringSubmatch(read(t, "go.mod"), -1) {
		found[m[1]] = strings.TrimPrefix(commit.ReplaceAllString(m[2], "v$1-$2-$3"), "v")
	}
	return found
}

// inDaemon returns which of the modules the daemon's own code imports.
func inDaemon(t *testing.T, modules map[string]string) map[string]string {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-deps",
		"-f", `{{if .Module}}{{if .Module.Main}}{{join .Imports "\n"}}{{end}}{{end}}`, "./cmd/retryd")
	list.Dir = root
	output, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for imported := range strings.Lines(string(output)) {
		imported = strings.TrimSpace(imported)
		// The module with the longest path that the import begins with.
		path := slices.MaxFunc(append(slices.Collect(maps.Keys(modules)), ""), func(a, b string) int {
			return cmp.Compare(len(prefixOf(a, imported)), len(prefixOf(b, imported)))
		})
		if prefixOf(path, imported) != "" {
			found[path] = modules[path]
		}
	}
	return found
}

// prefixOf returns the module's path if the import is of one of its packages.
func prefixOf(module, imported string) string {
	if imported == module || strings.HasPrefix(imported, module+"/") {
		return module
	}
	return ""
}

// tabulated returns the modules of the table below a line of docs/architecture.md.
func tabulated(t *testing.T, above string) map[string]string {
	t.Helper()
	_, rest, ok := strings.Cut(read(t, "docs/architecture.md"), "\n"+above+"\n\n")
	if !ok {
		t.Fatalf("docs/architecture.md has no line %q", above)
	}
	table, _, _ := strings.Cut(rest, "\n\n")
	found := map[string]string{}
	for _, row := range strings.Split(table, "\n")[2:] {
		cells := strings.Split(row, " | ")
		found[strings.TrimPrefix(cells[0], "| ")] = cells[1]
	}
	return found
}

func TestTablesOfDependenciesAreComplete(t *testing.T) {
	all := required(t)
	daemon := inDaemon(t, all)
	rest := maps.Clone(all)
	maps.DeleteFunc(rest, func(path, _ string) bool { return daemon[path] != "" })
	for above, want := range map[string]map[string]string{"The daemon:": daemon, "The demo and the tests alone:": rest} {
		if diff := gocmp.Diff(want, tabulated(t, above)); diff != "" {
			t.Errorf("docs/architecture.md, %q (-go.mod +table):\n%s", above, diff)
		}
	}
}
