package logging

import "fmt"

// Config says what is logged, and how.
type Config struct {
	Level  string `mapstructure:"level"`  // debug, info, warn, error
	Format string `mapstructure:"format"` // auto, console, json; auto: console on a terminal
}

// DefaultConfig logs from info up, as console on a terminal and as JSON elsewhere.
func DefaultConfig() Config {
	return Config{Level: "info", Format: "auto"}
}

// Validate returns every problem of c. Each text begins with the key.
func (c Config) Validate() []error {
	var errs []error
	switch c.Level {
	case "debug", "info", "warn", "error":
	default:
		errs = append(errs, fmt.Errorf("level: %q is no log level, use debug, info, warn or error", c.Level))
	}
	switch c.Format {
	case "auto", "console", "json":
	default:
		errs = append(errs, fmt.Errorf("format: %q is no log format, use auto, console or json", c.Format))
	}
	return errs
}
