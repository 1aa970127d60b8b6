package harness

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/xml"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// kafkaJars returns the folder that holds the jars of the Kafka which
// test/kafka/pom.xml names.
func kafkaJars() (string, error) { return jars("kafka") }

// jars returns the folder that holds the jars which test/<project>/pom.xml names.
// Maven fetches them once per version of that file.
func jars(project string) (string, error) {
	root, err := repository()
	if err != nil {
		return "", err
	}
	pom := filepath.Join(root, "test", project, "pom.xml")
	version, sum, err := readPom(pom)
	if err != nil {
		return "", err
	}
	return cached(filepath.Join(project, version, sum), func(ctx context.Context, dir string) error {
		return fetchJars(ctx, pom, dir)
	})
}

// readPom returns the version of Kafka or PostgreSQL that the pom names, and a short
// checksum of the file, so that a changed list of jars is fetched again.
func readPom(path string) (version, sum string, err error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return "", "", fmt.Errorf("read a list of jars: %w", err)
	}
	var pom struct {
		Kafka    string `xml:"properties>kafka.version"`
		Postgres string `xml:"properties>postgres.version"`
	}
	if err := xml.Unmarshal(content, &pom); err != nil {
		return "", "", fmt.Errorf("read %s: %w", path, err)
	}
	if version = cmp.Or(pom.Kafka, pom.Postgres); version == "" {
		return "", "", fmt.Errorf("%s names no property kafka.version or postgres.version", path)
	}
	return version, checksum(content), nil
}

func checksum(content []byte) string {
	digest := sha256.Sum256(content)
	return hex.EncodeToString(digest[:4])
}

// fetchJars has Maven copy the jars into dir.
func fetchJars(ctx context.Context, pom, dir string) error {
	maven, err := findMaven()
	if err != nil {
		return err
	}
	fetch := exec.CommandContext(ctx, maven, "-q", "-B", "-f", pom, "dependency:copy-dependencies",
		"-DoutputDirectory="+dir, "-DincludeScope=runtime")
	if output, err := fetch.CombinedOutput(); err != nil {
		return fmt.Errorf("fetch the jars of %s with Maven: %w\n%s", pom, err, output)
	}
	return nil
}
