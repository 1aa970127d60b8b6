package deploy

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/retryd/retryd/test/harness"
)

const (
	unitFile = "deploy/systemd/retryd.service"
	install  = "docs/install.md"
)

// analyze runs systemd-analyze and returns what it prints.
func analyze(t *testing.T, args ...string) (string, error) {
	t.Helper()
	output, err := exec.CommandContext(t.Context(), "systemd-analyze", args...).CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		t.Fatal("systemd-analyze checks the unit, and was not found: install systemd (Debian: apt-get install systemd)")
	}
	return string(output), err
}

// unitWith writes the unit, with its program replaced by one that is there, and a
// drop-in as "systemctl edit" makes it, and returns its path.
func unitWith(t *testing.T, unit, dropIn string) string {
	t.Helper()
	dir := t.TempDir()
	stub, path := filepath.Join(dir, "retryd"), filepath.Join(dir, "retryd.service")
	unit = strings.Replace(unit, "ExecStart=/usr/bin/retryd ", "ExecStart="+stub+" ", 1)
	write(t, stub, "#!/bin/sh\n", 0o755)
	write(t, path, unit, 0o644)
	write(t, filepath.Join(path+".d", "override.conf"), dropIn, 0o644)
	return path
}

func write(t *testing.T, path, content string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), mode); err != nil {
		t.Fatal(err)
	}
}

// verify returns what systemd-analyze has to say about a unit, "" if nothing.
func verify(t *testing.T, path string) string {
	t.Helper()
	output, err := analyze(t, "verify", "--man=no", "--recursive-errors=no", path)
	if err != nil {
		output += err.Error()
	}
	return output
}

func TestUnitIsClean(t *testing.T) {
	if said := verify(t, unitWith(t, read(t, unitFile), "")); said != "" {
		t.Error(said)
	}
}

func TestVerifySeesWhatIsWrong(t *testing.T) {
	unit := read(t, unitFile)
	if said := verify(t, unitWith(t, strings.Replace(unit, "WatchdogSec=", "WatchdogSecs=", 1), "")); !strings.Contains(said, "WatchdogSecs") {
		t.Errorf("of a key that does not exist: %q", said)
	}
	if said := verify(t, unitWith(t, unit, "[Service]\nLimitNOFILES=1\n")); !strings.Contains(said, "LimitNOFILES") {
		t.Errorf("of a key that does not exist, in a drop-in: %q", said)
	}
}

var exposure = regexp.MustCompile(`Overall exposure level for retryd\.service: ([0-9.]+)`)

func TestUnitExposesLittle(t *testing.T) {
	const most = 1.3 // of 10; what is left is mostly the network, which it is for
	output, err := analyze(t, "security", "--offline=true", "--no-pager", unitWith(t, read(t, unitFile), ""))
	if err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	found := exposure.FindStringSubmatch(output)
	if found == nil {
		t.Fatalf("no exposure level in\n%s", output)
	}
	if level, err := strconv.ParseFloat(found[1], 64); err != nil || level > most {
		t.Errorf("exposure %s (%v), want at most %.1f:\n%s", found[1], err, most, output)
	}
}

// setting returns the values of a key of the unit.
func setting(t *testing.T, key string) []string {
	t.Helper()
	var values []string
	for line := range strings.Lines(read(t, unitFile)) {
		if value, ok := strings.CutPrefix(strings.TrimSpace(line), key+"="); ok {
			values = append(values, value)
		}
	}
	return values
}

func one(t *testing.T, key string) string {
	t.Helper()
	values := setting(t, key)
	if len(values) != 1 {
		t.Fatalf("the unit has %s %d times, want once", key, len(values))
	}
	return values[0]
}

func TestUnitDoesNotRestartAWrongConfiguration(t *testing.T) {
	daemon := harness.StartDaemon(t, suite.Binary(t), "relays: []\n")
	code := daemon.Wait(t, time.Minute)
	if got := one(t, "RestartPreventExitStatus"); got != strconv.Itoa(code) {
		t.Errorf("RestartPreventExitStatus is %s, a wrong configuration ends with %d", got, code)
	}
}

func TestUnitRunsWhatTheDocumentationInstalls(t *testing.T) {
	page := read(t, install)
	program, _, _ := strings.Cut(one(t, "ExecStart"), " ")
	_, file, _ := strings.Cut(one(t, "ExecStart"), "--config ")
	for _, path := range []string{program, file, strings.TrimPrefix(one(t, "EnvironmentFile"), "-"), unitFile} {
		if !strings.Contains(page, path) {
			t.Errorf("%s says nothing of %s", install, path)
		}
	}
}

// The variable that the configuration's reference names is one that systemd does not set.
func TestUnitSetsTheHostNameForTheInstanceID(t *testing.T) {
	reference := regexp.MustCompile(`(?m)^  instance_id: .*\$\{(\w+)\}`).FindStringSubmatch(read(t, "configs/retryd.yaml"))
	if reference == nil {
		t.Fatal("configs/retryd.yaml names no variable for instance_id")
	}
	if got, want := one(t, "Environment"), reference[1]+"=%H"; got != want {
		t.Errorf("Environment is %s, want %s", got, want)
	}
}

func TestDropInsOfTheDocumentationWork(t *testing.T) {
	dropIns := blocks(t, install, "ini")
	if len(dropIns) == 0 {
		t.Fatalf("no drop-in in %s", install)
	}
	for i, dropIn := range dropIns {
		t.Run(fmt.Sprint(i+1), func(t *testing.T) {
			if said := verify(t, unitWith(t, read(t, unitFile), dropIn)); said != "" {
				t.Error(said)
			}
		})
	}
	credential := regexp.MustCompile(`(?m)^LoadCredential=(\w+):(\S+)$`)
	loads := slices.ContainsFunc(dropIns, credential.MatchString)
	if example := "#LoadCredential="; !loads || !strings.Contains(read(t, unitFile), example) {
		t.Errorf("a credential is loaded in %s: %v; the unit has no %s", install, loads, example)
	}
}
