package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// fetchBound is how long it may take to fetch what a folder of the cache holds, and
// how long another test binary waits for the one that fetches it. With empty caches
// of Maven, pip and npm the largest is about 60 MB.
const fetchBound = 10 * time.Minute

// cached returns a folder of the ignored .cache of the repository. fill puts into an
// empty folder what belongs there; it is called once per path, and what it has filled
// is renamed, so that the folder is complete or absent.
func cached(path string, fill func(ctx context.Context, dir string) error) (string, error) {
	root, err := repository()
	if err != nil {
		return "", err
	}
	target := filepath.Join(root, ".cache", path)
	if present(target) {
		return target, nil
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return "", fmt.Errorf("make the cache: %w", err)
	}
	unlock, err := lockFile(filepath.Join(filepath.Dir(target), "lock"), fetchBound)
	if err != nil {
		return "", err
	}
	defer unlock()
	if present(target) {
		return target, nil
	}
	return target, fillFolder(target, fill)
}

func fillFolder(target string, fill func(ctx context.Context, dir string) error) error {
	fresh, err := os.MkdirTemp(filepath.Dir(target), "fetch-")
	if err != nil {
		return fmt.Errorf("make the cache: %w", err)
	}
	defer os.RemoveAll(fresh)
	ctx, cancel := context.WithTimeout(context.Background(), fetchBound)
	defer cancel()
	if err := fill(ctx, fresh); err != nil {
		return err
	}
	if err := os.Rename(fresh, target); err != nil {
		return fmt.Errorf("keep what was fetched: %w", err)
	}
	return nil
}

func present(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// lockFile takes the exclusive lock of a file, which it makes. The lock ends with
// unlock or with the process.
func lockFile(path string, bound time.Duration) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the lock: %w", err)
	}
	err = poll(pollInterval, bound, "the lock "+path, func() (bool, error) {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
			return false, nil
		}
		return err == nil, err
	})
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("take the lock %s: %w", path, err)
	}
	return func() { file.Close() }, nil
}
