// Package window holds what waits: the records of one partition in the order in
// which they fall due, the offset that may be committed, and the bound on memory.
//
// It is pure: it takes plain values and the time as numbers, does no I/O, starts
// no goroutine and knows neither records nor a client library.
package window

import (
	"fmt"
	"time"
)

// Config bounds what is held in memory.
type Config struct {
	Records int           `mapstructure:"records"` // per partition
	Bytes   ByteSize      `mapstructure:"bytes"`   // for the whole process
	Horizon time.Duration `mapstructure:"horizon"` // how far ahead of now a tier is read
}

// DefaultConfig returns the bounds that hold unless others are configured.
func DefaultConfig() Config {
	return Config{Records: 50_000, Bytes: 64 * mebibyte, Horizon: 5 * time.Second}
}

// Validate returns all that is wrong with c; each text begins with the key.
func (c Config) Validate() []error {
	var problems []error
	if c.Records < 1 {
		problems = append(problems, fmt.Errorf("records: must be at least 1, is %d", c.Records))
	}
	if c.Bytes < 1 {
		problems = append(problems, fmt.Errorf("bytes: must be at least 1B, is %s", c.Bytes))
	}
	if c.Horizon < 0 {
		problems = append(problems, fmt.Errorf("horizon: must not be negative, is %s", c.Horizon))
	}
	return problems
}
