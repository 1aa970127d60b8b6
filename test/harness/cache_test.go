package harness

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/ulikunitz/xz"
)

func TestFolderOfTheCacheIsCompleteOrAbsent(t *testing.T) {
	root, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("test", filepath.Base(t.TempDir()), t.Name())
	parent := filepath.Join(root, ".cache", filepath.Dir(path))
	t.Cleanup(func() { _ = os.RemoveAll(parent) })

	broken := errors.New("broken")
	fills := 0
	fill := func(err error) func(context.Context, string) error {
		return func(_ context.Context, dir string) error {
			fills++
			return errors.Join(os.WriteFile(filepath.Join(dir, "file"), nil, 0o600), err)
		}
	}
	if dir, err := cached(path, fill(broken)); !errors.Is(err, broken) || present(dir) {
		t.Errorf("error %v, want %v, and no folder %s", err, broken, dir)
	}
	for range 2 {
		if dir, err := cached(path, fill(nil)); err != nil || !present(filepath.Join(dir, "file")) {
			t.Errorf("no file in %s: %v", dir, err)
		}
	}
	if fills != 2 {
		t.Errorf("%d folders were filled, want the broken one and one more", fills)
	}
	if left, err := filepath.Glob(filepath.Join(parent, "fetch-*")); err != nil || len(left) > 0 {
		t.Errorf("left over: %v, %v", left, err)
	}
}

// packed writes a jar that holds a .txz with these entries.
func packed(t *testing.T, entries ...tar.Header) string {
	t.Helper()
	var content bytes.Buffer
	compressed, err := xz.NewWriter(&content)
	if err != nil {
		t.Fatal(err)
	}
	archive := tar.NewWriter(compressed)
	for _, entry := range entries {
		if err := archive.WriteHeader(&entry); err != nil {
			t.Fatal(err)
		}
	}
	var jar bytes.Buffer
	outer := zip.NewWriter(&jar)
	file, createErr := outer.Create("server.txz")
	if err := errors.Join(archive.Close(), compressed.Close(), createErr); err != nil {
		t.Fatal(err)
	}
	_, err = file.Write(content.Bytes())
	path := filepath.Join(t.TempDir(), "server.jar")
	if err := errors.Join(err, outer.Close(), os.WriteFile(path, jar.Bytes(), 0o600)); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestArchiveIsUnpackedBelowItsFolderAlone(t *testing.T) {
	dir := t.TempDir()
	good := packed(t,
		tar.Header{Name: "bin/postgres", Mode: 0o755, Typeflag: tar.TypeReg},
		tar.Header{Name: "lib/libpq.so", Linkname: "libpq.so.5", Typeflag: tar.TypeSymlink})
	if err := unpack(good, dir); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(filepath.Join(dir, "bin", "postgres")); err != nil || info.Mode().Perm()&0o111 == 0 {
		t.Errorf("the program cannot be run: %v", err)
	}
	if link, err := os.Readlink(filepath.Join(dir, "lib", "libpq.so")); link != "libpq.so.5" {
		t.Errorf("the link is to %q, %v", link, err)
	}
	for name, entry := range map[string]tar.Header{
		"outside":    {Name: "../outside", Mode: 0o600, Typeflag: tar.TypeReg},
		"not a file": {Name: "pipe", Typeflag: tar.TypeFifo},
	} {
		if err := unpack(packed(t, entry), filepath.Join(dir, "lib")); err == nil {
			t.Errorf("%s: unpacked", name)
		}
	}
	if present(filepath.Join(dir, "outside")) {
		t.Error("a file was written outside of the folder")
	}
}

func TestLanguageWithoutItsToolsHasNoRuntime(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, _, err := Python("requirements.txt"); !errors.Is(err, ErrNoRuntime) {
		t.Errorf("Python: %v, want %v", err, ErrNoRuntime)
	}
	if _, _, err := Node("package.json"); !errors.Is(err, ErrNoRuntime) {
		t.Errorf("Node: %v, want %v", err, ErrNoRuntime)
	}
}
