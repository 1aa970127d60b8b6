package redact

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/retryd/retryd/internal/record"
)

// Config says what is hidden. The zero value hides nothing.
type Config struct {
	Headers   []string `mapstructure:"headers"`    // names of record or HTTP headers; a trailing * matches any rest
	JSONPaths []string `mapstructure:"json_paths"` // parts of JSON texts, as in $.card.number
}

// Validate returns every problem at once, each text beginning with the entry.
func (c Config) Validate() []error {
	var errs []error
	for i, name := range c.Headers {
		if err := headerError(name); err != nil {
			errs = append(errs, fmt.Errorf("headers[%d]: %w", i, err))
		}
	}
	for i, text := range c.JSONPaths {
		if _, err := parsePath(text); err != nil {
			errs = append(errs, fmt.Errorf("json_paths[%d]: %w", i, err))
		}
	}
	return errs
}

// headerError takes any name that Kafka takes.
func headerError(name string) error {
	switch {
	case name == "":
		return errors.New("is empty; name a header")
	case strings.Contains(strings.TrimSuffix(name, "*"), "*"):
		return fmt.Errorf("%q: only the last character may be *", name)
	}
	return nil
}

// Rules returns the rules of one relay, whose event_id_headers are idHeaders: an event
// id is hidden with any header that it may be made of. The configuration must be valid.
func (c Config) Rules(idHeaders []string) Rules {
	var r Rules
	for _, text := range c.JSONPaths {
		if p, err := parsePath(text); err == nil {
			r.paths = append(r.paths, p)
		}
	}
	for _, name := range c.Headers {
		name, prefix := strings.CutSuffix(name, "*")
		r.headers = append(r.headers, pattern{fold(name), prefix})
	}
	if slices.ContainsFunc(append(sources(idHeaders), "Idempotency-Key"), r.Hides) {
		r.headers = append(r.headers, pattern{name: fold(record.HeaderEventID)})
	}
	return r
}

// sources are the headers that entries of event_id_headers name.
func sources(entries []string) []string {
	var names []string
	for _, s := range record.ParseIDSources(entries) {
		names = append(names, s.First, s.Second)
	}
	return names
}
