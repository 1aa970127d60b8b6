package harness

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// fetchBound is how long fetching the jars may take, and how long another test
// binary waits for the one that fetches them. With an empty Maven repository it
// is about 60 MB.
const fetchBound = 10 * time.Minute

// kafkaJars returns the folder that holds the jars of the Kafka which
// test/kafka/pom.xml names, in the ignored .cache of the repository. Maven
// fetches them once per version of that file.
func kafkaJars() (string, error) {
	root, err := repository()
	if err != nil {
		return "", err
	}
	pom := filepath.Join(root, "test", "kafka", "pom.xml")
	version, sum, err := readPom(pom)
	if err != nil {
		return "", err
	}
	jars := filepath.Join(root, ".cache", "kafka", version, sum)
	if present(jars) {
		return jars, nil
	}
	if err := os.MkdirAll(filepath.Dir(jars), 0o755); err != nil {
		return "", fmt.Errorf("make the cache of Kafka's jars: %w", err)
	}
	unlock, err := lockFile(filepath.Join(filepath.Dir(jars), "lock"), fetchBound)
	if err != nil {
		return "", err
	}
	defer unlock()
	if present(jars) {
		return jars, nil
	}
	return jars, fetchJars(pom, jars)
}

// readPom returns the version of Kafka that the pom names, and a short checksum
// of the file, so that a changed list of jars is fetched again.
func readPom(path string) (version, sum string, err error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return "", "", fmt.Errorf("read the list of Kafka's jars: %w", err)
	}
	var pom struct {
		Version string `xml:"properties>kafka.version"`
	}
	if err := xml.Unmarshal(content, &pom); err != nil {
		return "", "", fmt.Errorf("read %s: %w", path, err)
	}
	if pom.Version == "" {
		return "", "", fmt.Errorf("%s names no property kafka.version", path)
	}
	digest := sha256.Sum256(content)
	return pom.Version, hex.EncodeToString(digest[:4]), nil
}

// fetchJars has Maven copy the jars into a folder beside target and renames it,
// so that target is complete or absent.
func fetchJars(pom, target string) error {
	maven, err := findMaven()
	if err != nil {
		return err
	}
	fresh, err := os.MkdirTemp(filepath.Dir(target), "fetch-")
	if err != nil {
		return fmt.Errorf("make the cache of Kafka's jars: %w", err)
	}
	defer os.RemoveAll(fresh)

	ctx, cancel := context.WithTimeout(context.Background(), fetchBound)
	defer cancel()
	fetch := exec.CommandContext(ctx, maven, "-q", "-B", "-f", pom, "dependency:copy-dependencies",
		"-DoutputDirectory="+fresh, "-DincludeScope=runtime")
	if output, err := fetch.CombinedOutput(); err != nil {
		return fmt.Errorf("fetch the jars of Kafka with Maven: %w\n%s", err, output)
	}
	if err := os.Rename(fresh, target); err != nil {
		return fmt.Errorf("keep the jars of Kafka: %w", err)
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
