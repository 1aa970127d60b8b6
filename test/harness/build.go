package harness

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// buildBound allows for a first build with -race on two shared cores, which
// compiles every dependency.
const buildBound = 15 * time.Minute

// Build builds a command of this repository, such as cmd/retryd, into its ignored
// .cache and returns the path. The finished file is renamed into place: test
// binaries that build at the same time never start half a file.
func Build(command string) (string, error) {
	root, err := repository()
	if err != nil {
		return "", err
	}
	name, flags := strings.ReplaceAll(command, "/", "-"), []string{"build"}
	if raceDetector {
		name, flags = name+"-race", []string{"build", "-race"}
	}
	dir := filepath.Join(root, ".cache", "bin")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("make the cache of binaries: %w", err)
	}
	target := filepath.Join(dir, name)
	fresh := fmt.Sprintf("%s.%d", target, os.Getpid())

	ctx, cancel := context.WithTimeout(context.Background(), buildBound)
	defer cancel()
	build := exec.CommandContext(ctx, "go", append(flags, "-o", fresh, "./"+command)...)
	build.Dir = root
	if output, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", command, err, output)
	}
	if err := os.Rename(fresh, target); err != nil {
		return "", fmt.Errorf("keep the binary of %s: %w", command, err)
	}
	return target, nil
}
