package harness

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Promtool returns the path of Prometheus' promtool: that of PATH, else the one that
// "make promtool" put into the ignored .cache of the repository.
func Promtool(t testing.TB) string {
	t.Helper()
	path, err := findPromtool()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func findPromtool() (string, error) {
	if path, err := exec.LookPath("promtool"); err == nil {
		return path, nil
	}
	root, err := repository()
	if err != nil {
		return "", err
	}
	path := filepath.Join(root, ".cache", "promtool")
	if _, err := os.Stat(path); err != nil {
		return "", errors.New("promtool checks the metrics, and was not found: run make promtool, or install it (Debian: apt-get install prometheus)")
	}
	return path, nil
}
