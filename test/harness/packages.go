package harness

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// ErrNoRuntime is returned for a language that this machine cannot run.
var ErrNoRuntime = errors.New("no runtime")

// Java returns the java command, and the JDBC driver of PostgreSQL as a class path.
func Java() (java, classpath string, err error) {
	if java, err = findJava(); err != nil {
		return "", "", err
	}
	dir, err := jars("postgres")
	return java, filepath.Join(dir, "*"), err
}

// Python returns the python3 of PATH, and the folder in which pip has installed the
// requirements of a file. Without python3 (3.10 or newer) or its pip the error is
// ErrNoRuntime.
func Python(requirements string) (python, packages string, err error) {
	const tag = `import sys, platform, pip
print(sys.implementation.cache_tag, platform.machine(), sep="-")
sys.exit(sys.version_info < (3, 10))`
	build, err := exec.Command("python3", "-c", tag).Output()
	if err != nil {
		return "", "", fmt.Errorf("%w: python3 of 3.10 or newer with pip: %w", ErrNoRuntime, err)
	}
	packages, err = installed("python", strings.TrimSpace(string(build)), requirements, func(ctx context.Context, dir string) *exec.Cmd {
		return exec.CommandContext(ctx, "python3", "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
			"--no-cache-dir", "--only-binary", ":all:", "--target", dir, "-r", requirements)
	})
	return "python3", packages, err
}

// Node returns the node of PATH, and the folder in which npm has installed the
// dependencies of a package.json. Without node (18 or newer) or npm the error is
// ErrNoRuntime.
func Node(manifest string) (node, packages string, err error) {
	const old = `process.exit(parseInt(process.versions.node) < 18 ? 1 : 0)`
	err = exec.Command("node", "-e", old).Run()
	if _, missing := exec.LookPath("npm"); err != nil || missing != nil {
		return "", "", fmt.Errorf("%w: node of 18 or newer with npm: %w", ErrNoRuntime, errors.Join(err, missing))
	}
	content, err := os.ReadFile(manifest)
	if err != nil {
		return "", "", err
	}
	packages, err = installed("node", "", manifest, func(ctx context.Context, dir string) *exec.Cmd {
		// npm installs into the folder that has the manifest.
		if err := os.WriteFile(filepath.Join(dir, "package.json"), content, 0o644); err != nil {
			return &exec.Cmd{Err: err}
		}
		return exec.CommandContext(ctx, "npm", "install", "--prefix", dir,
			"--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts")
	})
	return "node", filepath.Join(packages, "node_modules"), err
}

// installed returns the folder of the cache in which install has put what the
// manifest lists, once per manifest and build of the language.
func installed(language, build, manifest string, install func(ctx context.Context, dir string) *exec.Cmd) (string, error) {
	content, err := os.ReadFile(manifest)
	if err != nil {
		return "", err
	}
	return cached(filepath.Join(language, build, checksum(content)), func(ctx context.Context, dir string) error {
		if output, err := install(ctx, dir).CombinedOutput(); err != nil {
			return fmt.Errorf("install %s: %w\n%s", manifest, err, output)
		}
		return nil
	})
}
