package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEachExampleHasNoProblems runs retryd check on every example, as a user would.
func TestEachExampleHasNoProblems(t *testing.T) {
	page, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("../../configs/examples/*.yaml")
	if err != nil || len(files) != 5 {
		t.Fatalf("examples %v, %v; want five", files, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			out := check(t, strings.ReplaceAll(string(text), "${CREDENTIALS_DIRECTORY}", "/run/credentials/retryd.service"), nil)
			if out.Code != 0 || out.Stderr != "" || !strings.HasPrefix(out.Stdout, "retryd.yaml has no problems.\n") {
				t.Errorf("exit %d, standard error %q, standard output\n%s", out.Code, out.Stderr, out.Stdout)
			}
			if !strings.Contains(string(page), "(../configs/examples/"+filepath.Base(file)+")") {
				t.Error("docs/configuration.md does not show it")
			}
		})
	}
}
