package admin

import (
	"errors"
	"testing"
)

func TestConfigValidateListen(t *testing.T) {
	tests := []struct {
		name   string
		listen string
		want   string // empty: valid
	}{
		{"default", DefaultConfig().Listen, ""},
		{"no listener", "", ""},
		{"every interface", ":9464", ""},
		{"IPv6", "[::1]:9464", ""},
		{"any free port", "127.0.0.1:0", ""},
		{"no port", "127.0.0.1", `listen: "127.0.0.1" is not host:port, as in 127.0.0.1:9464`},
		{"port out of range", "127.0.0.1:70000", `listen: the port of "127.0.0.1:70000" is not a number up to 65535`},
		{"port by name", "127.0.0.1:http", `listen: the port of "127.0.0.1:http" is not a number up to 65535`},
		{"URL", "http://127.0.0.1:9464", `listen: "http://127.0.0.1:9464" is not host:port, as in 127.0.0.1:9464`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := errors.Join(Config{Listen: tt.listen}.Validate()...)
			if got := text(err); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
