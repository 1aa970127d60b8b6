package scenarios

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// manual is where people on call look failures up.
const manual = "../../docs/operations.md"

func readManual(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(manual)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// manualRow returns the row of a failure in the manual's tables.
func manualRow(t *testing.T, title string) string {
	t.Helper()
	for row := range strings.Lines(readManual(t)) {
		if strings.HasPrefix(row, "| **"+title+"**") {
			return row
		}
	}
	t.Fatalf("docs/operations.md has no row %q", title)
	return ""
}

func TestEachFailureOfTheManualIsTried(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var tests strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		tests.Write(text)
	}
	page := readManual(t)
	for _, row := range regexp.MustCompile(`(?m)^[^|\n]*\n\| \*\*.*?\*\*`).FindAllString(page, -1) {
		t.Errorf("docs/operations.md has a row that belongs to no table: %s", strings.TrimSpace(row))
	}
	titles := regexp.MustCompile(`(?m)^\| \*\*(.*?)\*\*`).FindAllStringSubmatch(page, -1)
	if len(titles) < 12 {
		t.Errorf("the manual has %d failures, want 12 at least", len(titles))
	}
	// What stands still would be a fault of retryd's: no test from outside can make one.
	elsewhere := []string{"Something in the process stands still."}
	for _, title := range titles {
		if !slices.Contains(elsewhere, title[1]) && !strings.Contains(tests.String(), `"`+title[1]+`"`) {
			t.Errorf("docs/operations.md has a row %q, and no test tries it", title[1])
		}
	}
}
