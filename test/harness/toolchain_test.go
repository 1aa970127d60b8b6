package harness

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestParseJavaVersion(t *testing.T) {
	tests := []struct {
		name, output string
		want         int
	}{
		{"current", "openjdk version \"17.0.15\" 2025-04-15\nOpenJDK Runtime Environment", 17},
		{"no minor version", "openjdk version \"25\" 2025-09-16", 25},
		{"early access", "openjdk version \"26-ea\" 2026-03-17", 26},
		{"before Java 9", "java version \"1.8.0_292\"", 8},
		{"options are echoed first", "Picked up JAVA_TOOL_OPTIONS: -Dx=1\nopenjdk version \"21.0.2\"", 21},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, err := parseJavaVersion(tt.output); err != nil || got != tt.want {
				t.Errorf("got %d, %v, want %d", got, err, tt.want)
			}
		})
	}
	if _, err := parseJavaVersion("no java here"); err == nil {
		t.Error("an output without a version is accepted")
	}
}

func TestMissingToolsAreNamedWithWhatToInstall(t *testing.T) {
	tests := []struct {
		name string
		find func() (string, error)
		java string // what the java command prints; empty: there is none
		want string
	}{
		{"no java", findJava, "", installJava},
		{"old java", findJava, `openjdk version "11.0.2"`, "is Java 11: " + installJava},
		{"no maven", findMaven, "", installMaven},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			t.Setenv("PATH", dir)
			t.Setenv("JAVA_HOME", "")
			if tt.java != "" {
				script := "#!/bin/sh\necho '" + tt.java + "' >&2\n"
				if err := os.WriteFile(filepath.Join(dir, "java"), []byte(script), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := tt.find(); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q in it", err, tt.want)
			}
		})
	}
}

func TestJavaHomeIsPreferredToPath(t *testing.T) {
	t.Setenv("JAVA_HOME", "/no/such/jdk")
	if _, err := findJava(); err == nil || !strings.Contains(err.Error(), "/no/such/jdk/bin/java was not found") {
		t.Errorf("error %v, want one that names JAVA_HOME's java", err)
	}
}

func TestPomNamesTheVersion(t *testing.T) {
	root, err := repository()
	if err != nil {
		t.Fatal(err)
	}
	version, sum, err := readPom(filepath.Join(root, "test", "kafka", "pom.xml"))
	if err != nil || version != "4.3.0" || len(sum) != 8 {
		t.Errorf("version %q, checksum %q, error %v", version, sum, err)
	}
}

func TestLockIsExclusiveUntilItIsReleased(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	unlock, err := lockFile(path, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lockFile(path, 0); err == nil {
		t.Error("the lock was taken twice")
	}
	unlock()
	again, err := lockFile(path, testBound)
	if err != nil {
		t.Fatalf("after unlocking: %v", err)
	}
	again()
}

func TestFreeAddrsAreDifferentAndBelowTheOutgoingRange(t *testing.T) {
	addrs, err := FreeAddrs(20)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, addr := range addrs {
		seen[addr] = true
		if addr < "127.0.0.1:20000" || addr > "127.0.0.1:32767" {
			t.Errorf("%s is outside 20000-32767", addr)
		}
		if unclaimed, err := net.ListenPacket("udp", addr); err == nil {
			unclaimed.Close()
			t.Errorf("%s can be given to somebody else", addr)
		}
	}
	if len(seen) != len(addrs) {
		t.Errorf("%d different addresses of %d", len(seen), len(addrs))
	}
}
