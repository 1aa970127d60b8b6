package admin

import (
	"fmt"
	"net"
	"strconv"
)

// Config is the admin listener.
type Config struct {
	Listen string `mapstructure:"listen"` // host:port; empty: no listener
	Pprof  bool   `mapstructure:"pprof"`  // serve the Go runtime's profiles, to this host alone
}

// DefaultConfig listens on this host only: the listener has no login.
func DefaultConfig() Config {
	return Config{Listen: "127.0.0.1:9464"}
}

// Validate reports every problem, each text beginning with its key. Port 0, any
// free port, is valid.
func (c Config) Validate() []error {
	if c.Listen == "" {
		return nil
	}
	_, port, err := net.SplitHostPort(c.Listen)
	if err != nil {
		return []error{fmt.Errorf("listen: %q is not host:port, as in 127.0.0.1:9464", c.Listen)}
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return []error{fmt.Errorf("listen: the port of %q is not a number up to 65535", c.Listen)}
	}
	return nil
}
