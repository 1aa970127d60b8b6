package harness

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
)

// leastJava is the oldest Java that the brokers of Kafka 4 run on (KIP-1013).
const leastJava = 17

const (
	installJava  = "install a JDK of 17 or newer (Debian: apt-get install openjdk-17-jdk-headless), or let JAVA_HOME point at one"
	installMaven = "install Maven (Debian: apt-get install maven)"
)

var javaVersion = regexp.MustCompile(`version "(\d+)(?:\.(\d+))?`)

// findJava returns the java command of JAVA_HOME, else of PATH, after a look at
// its version.
func findJava() (string, error) {
	java := "java"
	if home := os.Getenv("JAVA_HOME"); home != "" {
		java = filepath.Join(home, "bin", "java")
	}
	output, err := exec.Command(java, "-version").CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("the tests run a real Kafka, and %s was not found: %s", java, installJava)
	}
	if err != nil {
		return "", fmt.Errorf("run %s -version: %w: %s", java, err, output)
	}
	major, err := parseJavaVersion(string(output))
	if err != nil {
		return "", err
	}
	if major < leastJava {
		return "", fmt.Errorf("%s is Java %d: %s", java, major, installJava)
	}
	return java, nil
}

// parseJavaVersion reads the major version out of what java -version prints,
// also in the spelling before Java 9 (1.8 is Java 8).
func parseJavaVersion(output string) (int, error) {
	m := javaVersion.FindStringSubmatch(output)
	if m == nil {
		return 0, fmt.Errorf("no version in the output of java -version (%.100q): %s", output, installJava)
	}
	major, err := strconv.Atoi(m[1])
	if err == nil && major == 1 && m[2] != "" {
		major, err = strconv.Atoi(m[2])
	}
	return major, err
}

func findMaven() (string, error) {
	maven, err := exec.LookPath("mvn")
	if err != nil {
		return "", fmt.Errorf("the jars of Kafka are fetched by Maven, and mvn was not found: %s", installMaven)
	}
	return maven, nil
}
