package forward

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/retryd/retryd/internal/policy"
)

// Validate returns every problem at once. Each text begins with the key, relative
// to the endpoint, and none contains a secret or the URL.
func (c Config) Validate() []error {
	var errs []error
	if _, err := parseTarget(c.URL); err != nil {
		errs = append(errs, fmt.Errorf("url: %w", err))
	}
	errs = append(errs, c.limitErrors()...)
	errs = append(errs, c.Rate.errors()...)
	errs = append(errs, retryShareErrors(c.RetryShare)...)
	errs = append(errs, c.Breaker.errors()...)
	if c.Health != "" && !c.Breaker.Enabled {
		errs = append(errs, errors.New("health: is asked for by the circuit breaker alone, and breaker.enabled is false; remove one of the two"))
	}
	errs = append(errs, c.ruleErrors()...)
	errs = append(errs, c.headerErrors()...)
	errs = append(errs, c.credentialErrors()...)
	errs = append(errs, c.Signing.errors()...)
	return append(errs, c.routeErrors()...)
}

// routeErrors checks how the endpoint is reached. A wrong URL is reported elsewhere.
func (c Config) routeErrors() []error {
	t, err := parseTarget(c.URL)
	errs := c.TLS.errors(err != nil || t.tlsName != "")
	if _, err := parseProxy(c.Proxy.Reveal()); err != nil {
		errs = append(errs, fmt.Errorf("proxy: %w", err))
	}
	if c.Proxy != "" && t.network == "unix" {
		errs = append(errs, errors.New("proxy: cannot reach the unix socket of url; remove one of the two"))
	}
	if c.Health != "" {
		if _, err := parseTarget(c.Health); err != nil {
			errs = append(errs, fmt.Errorf("health: %w", err))
		}
	}
	return errs
}

func (c Config) limitErrors() []error {
	var errs []error
	if c.Timeout <= 0 {
		errs = append(errs, fmt.Errorf("timeout: is %s, must be positive", c.Timeout))
	}
	if c.IdleTimeout <= 0 {
		errs = append(errs, fmt.Errorf("idle_timeout: is %s, must be positive", c.IdleTimeout))
	}
	if c.MaxInFlight < 1 || c.MaxInFlight > 10_000 {
		errs = append(errs, fmt.Errorf("max_in_flight: is %d, must be 1 to 10000", c.MaxInFlight))
	}
	if c.LimitedAttempts < 1 {
		errs = append(errs, fmt.Errorf("limited_attempts: is %d, must be at least 1", c.LimitedAttempts))
	}
	return errs
}

// longestWait bounds max_retry_after: a not-before of more than 366 days ahead counts as
// malformed where it is read.
const longestWait = 182 * 24 * time.Hour

func (c Config) ruleErrors() []error {
	errs := append(policy.CheckSuccess(c.Success, c.Rules), policy.CheckRules(c.Rules)...)
	for i, r := range c.Rules {
		for _, name := range slices.Sorted(maps.Keys(r.Header)) {
			switch value := r.Header[name]; {
			case !isToken(name):
				errs = append(errs, fmt.Errorf("rules[%d].header: %q is no header name", i, name))
			case strings.EqualFold(name, "Set-Cookie"):
				errs = append(errs, fmt.Errorf("rules[%d].header.%s: cannot be matched, since the cookies of an answer are read as one value; use another header", i, name))
			case value == "" || !isFieldValue(value):
				errs = append(errs, fmt.Errorf("rules[%d].header.%s: must be visible ASCII without blanks at its ends, or %q for any value", i, name, policy.AnyValue))
			}
		}
	}
	if c.MaxRetryAfter <= 0 || c.MaxRetryAfter > longestWait {
		errs = append(errs, fmt.Errorf("max_retry_after: is %s, must be positive and at most %s (182 days)", c.MaxRetryAfter, longestWait))
	}
	return errs
}

func (c Config) headerErrors() []error {
	var errs []error
	if c.ContentType == "" || !isFieldValue(c.ContentType) {
		errs = append(errs, errors.New("content_type: must be a media type in visible ASCII, for example application/json"))
	}
	if c.AppVersionHeader != "" && !isToken(c.AppVersionHeader) {
		errs = append(errs, fmt.Errorf("app_version_header: %q is no header name", c.AppVersionHeader))
	}
	for _, p := range c.ForwardHeaders {
		if err := forwardError(p); err != nil {
			errs = append(errs, fmt.Errorf("forward_headers: %w", err))
		}
	}
	names := slices.Sorted(maps.Keys(c.Headers))
	for i, name := range names {
		if err := fixedError(name, c.Headers[name], names[:i]); err != nil {
			errs = append(errs, fmt.Errorf("headers.%s: %w", name, err))
		}
	}
	return errs
}

// forwardError checks one pattern. A prefix may cover reserved names, which are
// then not sent; a reserved name by itself is a mistake.
func forwardError(p string) error {
	name, prefix := strings.CutSuffix(p, "*")
	switch {
	case p == "*":
		return nil
	case !isToken(name) || strings.Contains(name, "*"):
		return fmt.Errorf("%q is no header name; only the last character may be *", p)
	case !prefix && isReserved(name):
		return fmt.Errorf("%q is never forwarded; remove it", p)
	}
	return nil
}

func fixedError(name string, value Secret, earlier []string) error {
	same := func(other string) bool { return sameName(name, other) }
	switch {
	case !isToken(name):
		return errors.New("is no header name")
	case slices.ContainsFunc(earlier, same):
		return errors.New("is set twice; names differ only in case, or in _ and -")
	case isReserved(name) && !sameName(name, "Authorization"):
		return errors.New("cannot be set here; remove it")
	case value == "" || !isFieldValue(value):
		return errors.New("value must be visible ASCII without blanks at its ends")
	}
	return nil
}
