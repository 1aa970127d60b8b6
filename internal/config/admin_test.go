package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAdminListenNeedsNoMoreThanItsKey(t *testing.T) {
	const listens = "admin: {listen: \"127.0.0.1:1\"}\n"
	tests := []struct {
		name, text string
		environ    []string
		want, err  string // FILE: the path
	}{
		{"alone", listens, nil, "127.0.0.1:1", ""},
		{"in capitals", "Admin: {Listen: \"127.0.0.1:1\"}\n", nil, "", "FILE:1: Admin: unknown key, did you mean \"admin\"?"},
		{"not set", "relays: []\n", nil, "127.0.0.1:9464", ""},
		{"without a value", "admin:\n", nil, "127.0.0.1:9464", ""},
		{"no listener", "admin: {listen: \"\"}\n", nil, "", ""},
		{
			"beside what is wrong", "relays:\n  - {topc: a, endpoint: {bearer_token_file: \"${CREDENTIALS_DIRECTORY}/token\", timeout: 30}}\nlog: loud\n" + listens,
			[]string{"RETRYD_NO_SUCH_KEY=1"}, "127.0.0.1:1", "",
		},
		{"environment", listens, []string{"RETRYD_ADMIN_LISTEN=127.0.0.1:2"}, "127.0.0.1:2", ""},
		{"environment alone", "relays: []\n", []string{"RETRYD_ADMIN_LISTEN=127.0.0.1:2"}, "127.0.0.1:2", ""},
		{"empty variable", listens, []string{"RETRYD_ADMIN_LISTEN="}, "127.0.0.1:1", ""},
		{"a variable in the value", "admin: {listen: \"127.0.0.1:${PORT}\"}\n", []string{"PORT=3"}, "127.0.0.1:3", ""},
		{
			"a variable that is not set", "\nadmin: {listen: \"127.0.0.1:${PORT}\"}\n", nil,
			"", "FILE:2: admin.listen: environment variable PORT is not set",
		},
		{"a wrong value", "admin: {listen: 9464}\n", nil, "", "FILE:1: admin.listen: is a number; put it in quotes to make it text"},
		{"a wrong address", "admin: {listen: localhost}\n", nil, "", "FILE:1: admin.listen: \"localhost\" is not host:port, as in 127.0.0.1:9464"},
		{"a wrong variable", listens, []string{"RETRYD_ADMIN_LISTEN=x"}, "", "environment RETRYD_ADMIN_LISTEN: admin.listen: \"x\" is not host:port, as in 127.0.0.1:9464"},
		{"a misspelt key", "admin: {lisen: \"127.0.0.1:1\"}\n", nil, "", "FILE:1: admin.lisen: unknown key, did you mean \"listen\"?"},
		{"no YAML", "admin: {\n", nil, "", "FILE:1: not valid YAML here or just above: did not find expected node content"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "retryd.yaml")
			if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
				t.Fatal(err)
			}
			got, err := AdminListen(path, tt.environ)
			text := ""
			if err != nil {
				text = strings.ReplaceAll(err.Error(), path, "FILE")
			}
			if got != tt.want || text != tt.err {
				t.Errorf("got %q, %s\nwant %q, %s", got, text, tt.want, tt.err)
			}
		})
	}
	if _, err := AdminListen("nowhere.yaml", nil); err == nil || err.Error() != "nowhere.yaml: cannot be read: no such file or directory" {
		t.Errorf("got %v", err)
	}
}
