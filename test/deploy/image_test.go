package deploy

import (
	"debug/elf"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/retryd/retryd/test/harness"
)

// There is no container engine where the tests run: they try by hand what the
// instructions of the Dockerfile say.

// instruction is one line of the Dockerfile: RUN, and what follows.
type instruction struct{ name, rest string }

func dockerfile(t *testing.T) []instruction {
	t.Helper()
	var all []instruction
	text := strings.ReplaceAll(read(t, "Dockerfile"), "\\\n", "")
	for line := range strings.Lines(text) {
		name, rest, ok := strings.Cut(strings.TrimSpace(line), " ")
		if ok && name != "#" {
			all = append(all, instruction{name, rest})
		}
	}
	return all
}

// the returns what follows the only instruction of a name.
func the(t *testing.T, name string) string {
	t.Helper()
	var found []string
	for _, each := range dockerfile(t) {
		if each.name == name {
			found = append(found, each.rest)
		}
	}
	if len(found) != 1 {
		t.Fatalf("the Dockerfile has %s %d times, want once", name, len(found))
	}
	return found[0]
}

// execForm returns the words of ["/retryd", "healthcheck"].
func execForm(t *testing.T, text string) []string {
	t.Helper()
	var words []string
	if err := json.Unmarshal([]byte(text), &words); err != nil {
		t.Fatalf("%s is not in exec form, and the image has no shell: %v", text, err)
	}
	return words
}

// ignored tells whether .dockerignore keeps a file from the build: the last pattern
// that matches it or a folder above it decides.
func ignored(t *testing.T, file string) bool {
	t.Helper()
	verdict := false
	for pattern := range strings.Lines(read(t, ".dockerignore")) {
		pattern = strings.TrimSpace(pattern)
		if pattern == "" || strings.HasPrefix(pattern, "#") {
			continue
		}
		pattern, kept := strings.CutPrefix(pattern, "!")
		for at := file; at != "."; at = path.Dir(at) {
			if matches(t, pattern, at) {
				verdict = !kept
				break
			}
		}
	}
	return verdict
}

func matches(t *testing.T, pattern, file string) bool {
	t.Helper()
	if base, ok := strings.CutPrefix(pattern, "**/"); ok {
		pattern, file = base, path.Base(file)
	}
	ok, err := path.Match(pattern, file)
	if err != nil {
		t.Fatalf(".dockerignore: %s: %v", pattern, err)
	}
	return ok
}

// buildContext copies what the build stage copies into a folder of its own.
func buildContext(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, each := range dockerfile(t) {
		if each.name != "COPY" || strings.HasPrefix(each.rest, "--from") {
			continue
		}
		words := strings.Fields(each.rest)
		sources, target := words[:len(words)-1], words[len(words)-1]
		for _, source := range sources {
			to := path.Join(dir, target)
			if strings.HasSuffix(target, "/") {
				to = path.Join(to, path.Base(source))
			}
			if copied := copyTree(t, source, to); copied == 0 {
				t.Errorf("COPY %s: .dockerignore leaves nothing of %s", each.rest, source)
			}
		}
	}
	return dir
}

// copyTree copies what is not ignored, and returns how many files that is.
func copyTree(t *testing.T, source, target string) (copied int) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(root, source), func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		inRoot, err := filepath.Rel(root, name)
		if err != nil || ignored(t, filepath.ToSlash(inRoot)) {
			return err
		}
		copied++
		below, err := filepath.Rel(source, inRoot)
		if err != nil {
			return err
		}
		to := filepath.Join(target, below)
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		return os.WriteFile(to, content, 0o644)
	})
	if err != nil {
		t.Fatal(err)
	}
	return copied
}

func TestImageIsBuiltByTheGoOfTheModule(t *testing.T) {
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(read(t, "go.mod"))
	if version == nil {
		t.Fatal("go.mod names no version of Go")
	}
	if want := (instruction{"FROM", "golang:" + version[1] + " AS build"}); dockerfile(t)[0] != want {
		t.Errorf("the Dockerfile begins with %v, want %v", dockerfile(t)[0], want)
	}
}

func TestImageHoldsOneStaticProgram(t *testing.T) {
	dir := buildContext(t)
	build := ""
	for _, each := range dockerfile(t) {
		if each.name == "RUN" && strings.Contains(each.rest, "go build") {
			build = each.rest
		}
	}
	program := filepath.Join(t.TempDir(), "retryd")
	// -trimpath changes only names of files in the program, and would compile every
	// dependency once more.
	build = strings.NewReplacer("-o /retryd ", "-o "+program+" ", "-trimpath ", "").Replace(build)
	cmd := exec.CommandContext(t.Context(), "sh", "-c", build)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "VERSION=1.2.3")
	if output, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", build, err, output)
	}
	file, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, p := range file.Progs {
		if p.Type == elf.PT_INTERP || p.Type == elf.PT_DYNAMIC {
			t.Errorf("the program has a %v: it needs libraries, and the image has none", p.Type)
		}
	}
	version, err := exec.CommandContext(t.Context(), program, "version").Output()
	if err != nil || !strings.HasPrefix(string(version), "retryd 1.2.3,") {
		t.Errorf("version is %q, %v; want that of the build argument", version, err)
	}
}

func TestImageBuildsFromLittle(t *testing.T) {
	for _, file := range []string{".git/config", ".cache/promtool", "configs/retryd.yaml", "test/deploy/image_test.go",
		"cmd/retryd-demo/main.go", "cmd/retryd/main_test.go", "internal/config/testdata/good.yaml", "retryd.env", "a.key"} {
		if !ignored(t, file) {
			t.Errorf("%s gets into the build", file)
		}
	}
}

func TestImageRunsAsNobodyInParticular(t *testing.T) {
	if user := the(t, "USER"); !regexp.MustCompile(`^[1-9][0-9]{4}:[1-9][0-9]{4}$`).MatchString(user) {
		t.Errorf("USER %s, want numbers, as runAsNonRoot of Kubernetes needs them", user)
	}
	stages := dockerfile(t)
	last := slices.IndexFunc(stages, func(i instruction) bool { return i == instruction{"FROM", "scratch"} })
	if last < 0 || slices.ContainsFunc(stages[last:], func(i instruction) bool { return i.name == "RUN" }) {
		t.Error("the last stage is not empty before retryd comes in")
	}
}

func TestImageStartsWhatItHolds(t *testing.T) {
	words := append(execForm(t, the(t, "ENTRYPOINT")), execForm(t, the(t, "CMD"))...)
	out := runs(t, words[1:])
	if words[0] != "/retryd" || !strings.Contains(out, "/etc/retryd/retryd.yaml: cannot be read") {
		t.Errorf("%v without a file says %q", words, out)
	}
}

// runs executes the daemon's binary to its end.
func runs(t *testing.T, args []string, env ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), suite.Binary(t), args...)
	cmd.Env = append(os.Environ(), env...)
	output, err := cmd.CombinedOutput()
	if err == nil {
		return "0: " + string(output)
	}
	return err.Error() + ": " + string(output)
}

func TestHealthcheckOfTheImageTellsADaemonFromNone(t *testing.T) {
	_, command, _ := strings.Cut(the(t, "HEALTHCHECK"), "CMD ")
	args := execForm(t, command)[1:]
	daemon := harness.StartDaemon(t, suite.Binary(t), `
kafka: {brokers: ["127.0.0.1:1"]} # it waits, which is healthy
relays: [{topic: orders, endpoint: {url: "http://127.0.0.1:1/"}, tiers: [5s]}]
`)
	address := regexp.MustCompile(`"addr":"127\.0\.0\.1:(\d+)"`)
	var port []string
	harness.WaitFor(t, time.Minute, "the admin listener", func() bool {
		port = address.FindStringSubmatch(daemon.Log())
		return port != nil
	})
	host, _, _ := strings.Cut(environment(t)["RETRYD_ADMIN_LISTEN"], ":")
	listen := "RETRYD_ADMIN_LISTEN=" + host + ":" + port[1]
	if out := runs(t, args, listen); out != "0: " {
		t.Errorf("of a running daemon: %s", out)
	}
	daemon.Stop(t)
	if out := runs(t, args, listen); !strings.HasPrefix(out, "exit status 1: ") {
		t.Errorf("of one that has stopped: %s", out)
	}
}

// environment returns what the image sets.
func environment(t *testing.T) map[string]string {
	t.Helper()
	name, value, ok := strings.Cut(the(t, "ENV"), "=")
	if !ok || strings.Contains(value, " ") {
		t.Fatalf("ENV %s is not one assignment", the(t, "ENV"))
	}
	return map[string]string{name: value}
}

func TestImageExposesWhereItListens(t *testing.T) {
	_, port, _ := strings.Cut(environment(t)["RETRYD_ADMIN_LISTEN"], ":")
	if exposed := the(t, "EXPOSE"); exposed != port {
		t.Errorf("EXPOSE %s, and it listens at port %s", exposed, port)
	}
}
