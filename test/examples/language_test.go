package examples

import (
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/retryd/retryd/test/harness"
)

// language is one that an example is written in.
type language struct {
	name   string
	scheme string // of the database's address

	// ready fetches what the example needs, and returns how it is started in dir.
	ready func(dir string) (*exec.Cmd, error)
}

var languages = []language{
	{"go", "postgres", goExample},
	{"java", "jdbc:postgresql", javaExample},
	{"python", "postgres", pythonExample},
	{"node", "postgres", nodeExample},
}

func goExample(string) (*exec.Cmd, error) {
	binary, err := harness.Build("docs/examples/idempotent/go")
	return exec.Command(binary), err
}

func javaExample(string) (*exec.Cmd, error) {
	java, classpath, err := harness.Java()
	return exec.Command(java, "-XX:TieredStopAtLevel=1", "-cp", classpath, filepath.Join(folder, "java", "Loans.java")), err
}

func pythonExample(string) (*exec.Cmd, error) {
	python, packages, err := harness.Python(filepath.Join(folder, "python", "requirements.txt"))
	cmd := exec.Command(python, filepath.Join(folder, "python", "loans.py"))
	cmd.Env = []string{"PYTHONPATH=" + packages, "PYTHONDONTWRITEBYTECODE=1"}
	return cmd, err
}

// nodeExample runs a copy: Node looks for packages beside the file.
func nodeExample(dir string) (*exec.Cmd, error) {
	node, packages, err := harness.Node(filepath.Join(folder, "node", "package.json"))
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(folder, "node", "loans.mjs"))
	if err != nil {
		return nil, err
	}
	program := filepath.Join(dir, "loans.mjs")
	return exec.Command(node, program), errors.Join(
		os.WriteFile(program, text, 0o600), os.Symlink(packages, filepath.Join(dir, "node_modules")))
}

// allRequired is set where a runtime that is missing is a failure.
var allRequired = os.Getenv("ALL_EXAMPLES") != ""

// eachLanguage runs a test for each example that this machine can run. For one that it
// cannot run there is a test whose name says so.
func eachLanguage(t *testing.T, test func(t *testing.T, e *example)) {
	t.Helper()
	server := harness.StartPostgres(t)
	for _, l := range languages {
		cmd, err := l.ready(t.TempDir())
		if errors.Is(err, harness.ErrNoRuntime) && !allRequired {
			t.Run(l.name+" (no runtime)", func(t *testing.T) { t.Logf("the example in %s was NOT tested: %v", l.name, err) })
			continue
		}
		t.Run(l.name, func(t *testing.T) {
			if err != nil {
				t.Fatal(err)
			}
			db := newDatabase(t, server, l.name)
			t.Parallel()
			test(t, startExample(t, cmd, db, l.scheme))
		})
	}
}

// example is a running handler and its database.
type example struct {
	db  *database
	url string
}

// startExample returns once it accepts connections.
func startExample(t *testing.T, cmd *exec.Cmd, db *database, scheme string) *example {
	t.Helper()
	addrs, err := harness.FreeAddrs(1)
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(addrs[0])
	cmd.Env = append(append(os.Environ(), cmd.Env...), "DATABASE_URL="+db.url(scheme), "PORT="+port)
	process, err := harness.StartProcess(cmd, filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := process.Kill(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("the end of the example's log:\n%s", process.Tail())
		}
	})
	harness.WaitFor(t, bound, "the example to listen", func() bool {
		if !process.Running() {
			t.Fatal("the example ended")
		}
		connection, err := net.DialTimeout("tcp", addrs[0], time.Second)
		if err == nil {
			connection.Close()
		}
		return err == nil
	})
	return &example{db: db, url: "http://" + addrs[0] + "/loans/overdue"}
}

// post sends one request as retryd would, and returns the answer's status, or 0 and
// the error.
func (e *example) post(event, loan string) (int, error) {
	request, err := http.NewRequest(http.MethodPost, e.url, strings.NewReader(loan))
	if err != nil {
		return 0, err
	}
	if event != "" {
		request.Header.Set("Idempotency-Key", event)
	}
	client := http.Client{Timeout: bound, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	_, err = io.Copy(io.Discard, response.Body)
	return response.StatusCode, err
}

func (e *example) expect(t *testing.T, want int, event, loan string) {
	t.Helper()
	if got, err := e.post(event, loan); got != want {
		t.Errorf("event %q of %s: status %d (%v), want %d", event, loan, got, err, want)
	}
}
