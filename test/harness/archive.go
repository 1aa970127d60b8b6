package harness

import (
	"archive/tar"
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/ulikunitz/xz"
)

// postgresServer returns the folder that holds PostgreSQL's programs, libraries and
// texts, unpacked.
func postgresServer() (string, error) {
	dir, err := jars("postgres")
	if err != nil {
		return "", err
	}
	found, err := filepath.Glob(filepath.Join(dir, "embedded-postgres-binaries-*.jar"))
	if err != nil {
		return "", err
	}
	if len(found) != 1 {
		return "", fmt.Errorf("%s has %d archives of PostgreSQL, not one", dir, len(found))
	}
	return cached(filepath.Join("postgres", "server-"+filepath.Base(dir)), func(_ context.Context, fresh string) error {
		if err := unpack(found[0], fresh); err != nil {
			return fmt.Errorf("unpack %s: %w", found[0], err)
		}
		return nil
	})
}

// unpack writes what the one .txz in a jar holds into dir.
func unpack(jar, dir string) error {
	archive, err := zip.OpenReader(jar)
	if err != nil {
		return err
	}
	defer archive.Close()
	for _, entry := range archive.File {
		if !strings.HasSuffix(entry.Name, ".txz") {
			continue
		}
		packed, err := entry.Open()
		if err != nil {
			return err
		}
		defer packed.Close()
		return untar(packed, dir)
	}
	return errors.New("it has no .txz")
}

// untar writes files, folders and links below dir, and nothing elsewhere.
func untar(packed io.Reader, dir string) error {
	plain, err := xz.NewReader(packed)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for archive := tar.NewReader(plain); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = extract(root, header, archive)
		}
		if err != nil {
			return err
		}
	}
}

// extract writes one entry. Folders need not have an entry of their own.
func extract(root *os.Root, header *tar.Header, content io.Reader) error {
	if err := root.MkdirAll(filepath.Dir(header.Name), 0o755); err != nil {
		return err
	}
	mode := header.FileInfo().Mode()
	switch {
	case mode.IsDir():
		return root.MkdirAll(header.Name, 0o755)
	case mode.Type() == os.ModeSymlink:
		return root.Symlink(header.Linkname, header.Name)
	case !mode.IsRegular():
		return fmt.Errorf("%s is neither file, folder nor link", header.Name)
	}
	file, err := root.OpenFile(header.Name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode.Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content) //nolint:gosec // of a pinned archive
	return errors.Join(err, file.Close())
}
