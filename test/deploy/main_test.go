// Package deploy tests what retryd is installed with: the systemd unit, the image,
// and what their documentation says.
package deploy

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/retryd/retryd/test/harness"
)

var suite = harness.NewSuite(1)

func TestMain(m *testing.M) { os.Exit(suite.Main(m)) }

// The repository's root, seen from here.
const root = "../.."

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// blocks returns the fenced blocks of a language in a page of the documentation.
func blocks(t *testing.T, page, language string) []string {
	t.Helper()
	var found []string
	for i, part := range strings.Split(read(t, page), "\n```") {
		if text, ok := strings.CutPrefix(part, language+"\n"); ok && i%2 == 1 {
			found = append(found, text+"\n")
		}
	}
	return found
}
