package harness

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// packageBound is how long a build by Maven may take that fetches what it needs.
const packageBound = 10 * time.Minute

// BuildJava has Maven build the modules of a project of this repository, such as
// bench/peers, into the ignored .cache. It returns the java command, and the folder in
// which each module has its own: the module's jar, and jars with those it needs.
func BuildJava(project string) (java, modules string, err error) {
	root, err := repository()
	if err != nil {
		return "", "", err
	}
	if java, err = findJava(); err != nil {
		return "", "", err
	}
	maven, err := findMaven()
	if err != nil {
		return "", "", err
	}
	modules = filepath.Join(root, ".cache", "java", filepath.Base(project))
	if err := os.RemoveAll(modules); err != nil { // no jar of another version is left
		return "", "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), packageBound)
	defer cancel()
	build := exec.CommandContext(ctx, maven, "-q", "-B", "-f", filepath.Join(root, project, "pom.xml"), "package", "-Doutput="+modules)
	if output, err := build.CombinedOutput(); err != nil {
		return "", "", fmt.Errorf("build %s with Maven: %w\n%s", project, err, output)
	}
	return java, modules, nil
}
