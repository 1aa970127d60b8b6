package harness

import (
	"os/exec"
	"path/filepath"
	"strings"
)

// Versions returns the version of Kafka that the harness runs, and the first line that
// its Java says of itself.
func Versions() (kafka, java string, err error) {
	root, err := repository()
	if err != nil {
		return "", "", err
	}
	if kafka, _, err = readPom(filepath.Join(root, "test", "kafka", "pom.xml")); err != nil {
		return "", "", err
	}
	command, err := findJava()
	if err != nil {
		return "", "", err
	}
	printed, err := exec.Command(command, "-version").CombinedOutput()
	java, _, _ = strings.Cut(string(printed), "\n")
	return kafka, java, err
}
