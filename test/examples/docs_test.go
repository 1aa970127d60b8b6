package examples

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const page = "../../docs/idempotency.md"

// fences are the languages of the page's blocks, by the ending of the example's file.
var fences = map[string]string{".sql": "sql", ".go": "go", ".java": "java", ".py": "python", ".mjs": "js", ".json": "json", ".txt": ""}

func TestPageShowsTheExamplesAsTheyAre(t *testing.T) {
	content, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	text, shown := string(content), 0
	err = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		example, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		fence, known := fences[filepath.Ext(path)]
		link := "](" + filepath.ToSlash(strings.TrimPrefix(path, "../../docs/")) + ")"
		if block := "\n```" + fence + "\n" + string(example) + "```\n"; !known || !strings.Contains(text, block) {
			t.Errorf("docs/idempotency.md does not show %s as it is", path)
		}
		if !strings.Contains(text, link) {
			t.Errorf("docs/idempotency.md has no link %s", link)
		}
		shown++
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	// Else something in it is not tested; statements of SQL are.
	for _, language := range []string{"go", "java", "python", "js"} {
		if n := strings.Count(text, "\n```"+language+"\n"); n != 1 {
			t.Errorf("docs/idempotency.md has %d blocks of %s, want the example alone", n, language)
		}
	}
	if shown != 7 {
		t.Errorf("%d files of examples, want 7", shown)
	}
}
