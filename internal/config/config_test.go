package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/retryd/retryd/internal/policy"
	"github.com/retryd/retryd/internal/tier"
)

// environ returns variables as os.Environ does.
func environ(vars map[string]string) []string {
	var all []string
	for name, value := range vars {
		all = append(all, name+"="+value)
	}
	return all
}

// mustParse returns the configuration of a file that has no problems.
func mustParse(t *testing.T, text string, environ []string) *Config {
	t.Helper()
	cfg, err := parse("retryd.yaml", []byte(text), environ)
	if err != nil {
		t.Fatalf("problems:\n%v", err)
	}
	return cfg
}

// problems returns the lines of a file's problems.
func problems(t *testing.T, text string, environ []string) []string {
	t.Helper()
	_, err := parse("f", []byte(text), environ)
	if err == nil {
		return nil
	}
	if wrong := new(Error); !errors.As(err, &wrong) {
		t.Fatalf("error of type %T: %v", err, err)
	}
	return strings.Split(err.Error(), "\n")
}

func TestLoadUsersFile(t *testing.T) {
	got, err := Load("testdata/library.yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	relay := tier.DefaultConfig()
	relay.Topic = "library.loan.overdue"
	relay.Name = "library.loan.overdue"
	relay.Group = "libraryd"
	relay.Prefix = "library.loan.overdue"
	relay.Start = "earliest"
	relay.Endpoint.URL = "http://127.0.0.1:8080/loans/overdue"
	relay.Endpoint.ContentType = "application/json"
	relay.Policy.Tiers.List = []policy.Tier{{Delay: 5 * time.Second}, {Delay: 30 * time.Second}, {Delay: 5 * time.Minute}}
	relay.Policy.Budget = 10 * time.Minute
	relay.DLT.Topic = "library.loan.overdue.DLT"
	want := Default()
	want.Relays = []tier.Config{relay}
	if diff := cmp.Diff(&want, got); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
}

func TestLoadRefusesFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	tests := []struct {
		name string
		path string
		want string // after the path
	}{
		{"missing", filepath.Join(dir, "nowhere.yaml"), ": cannot be read: no such file or directory"},
		{"directory", dir, ": is a directory; name the YAML file in it"},
		{"empty", write("empty.yaml", ""), ": is empty; it needs at least relays"},
		{"comments only", write("comments.yaml", "# nothing\n"), ": is empty; it needs at least relays"},
		{"only a document marker", write("marker.yaml", "---\n"), ": is empty; it needs at least relays"},
		{"too large", write("large.yaml", strings.Repeat("#", 1<<20+1)), ": is larger than 1 MiB, which no configuration needs; is it the right file?"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Load(tt.path, nil)
			if err == nil || err.Error() != tt.path+tt.want {
				t.Errorf("got  %v\nwant %s", err, tt.path+tt.want)
			}
			if wrong := new(Error); !errors.As(err, &wrong) {
				t.Errorf("error of type %T, want *Error", err)
			}
		})
	}
}

func TestLoadReadsFileOfGreatestSize(t *testing.T) {
	text, err := os.ReadFile("testdata/library.yaml")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "retryd.yaml")
	text = append(text, strings.Repeat("#", 1<<20-len(text))...)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(path, nil); err != nil {
		t.Error(err)
	}
}
