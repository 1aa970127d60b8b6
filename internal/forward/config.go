package forward

import (
	"time"

	"github.com/retryd/retryd/internal/policy"
)

// Config is a relay's business endpoint.
type Config struct {
	URL              string            `mapstructure:"url"`                // http, https or unix:///path.sock:/http/path
	ContentType      string            `mapstructure:"content_type"`       // a record's own content-type header wins
	Timeout          time.Duration     `mapstructure:"timeout"`            // of one attempt, connecting included
	IdleTimeout      time.Duration     `mapstructure:"idle_timeout"`       // how long an unused connection is kept
	MaxInFlight      int               `mapstructure:"max_in_flight"`      // attempts at a time, per instance
	LimitedAttempts  int               `mapstructure:"limited_attempts"`   // failures of class unknown that a record may have
	Success          []int             `mapstructure:"success"`            // statuses that accept a record; empty: any 2xx
	Rules            []policy.Rule     `mapstructure:"rules"`              // what is done about an outcome; the first that matches counts
	MaxRetryAfter    time.Duration     `mapstructure:"max_retry_after"`    // the longest wait that the endpoint may ask for
	Headers          map[string]Secret `mapstructure:"headers"`            // sent with every request
	BearerToken      Secret            `mapstructure:"bearer_token"`       // Authorization: Bearer
	BearerTokenFile  string            `mapstructure:"bearer_token_file"`  // read once, at start
	Basic            Basic             `mapstructure:"basic"`              // Authorization: Basic
	ForwardHeaders   []string          `mapstructure:"forward_headers"`    // record headers sent on; a trailing * matches any rest
	CaptureResponse  bool              `mapstructure:"capture_response"`   // keep the start of a failed response in x-response
	AppVersionHeader string            `mapstructure:"app_version_header"` // response header copied to x-app-version
	TLS              TLS               `mapstructure:"tls"`                // of an https URL
	Proxy            Secret            `mapstructure:"proxy"`              // http://host:port, which may have a password in it; empty: none
	Signing          Signing           `mapstructure:"signing"`            // Standard Webhooks
	Health           string            `mapstructure:"health"`             // URL of a GET that answers 2xx while the endpoint is well; empty: none
	Rate             Rate              `mapstructure:"rate"`
	Adaptive         bool              `mapstructure:"adaptive"`    // the limit of attempts at a time follows the endpoint's latency, up to MaxInFlight
	RetryShare       float64           `mapstructure:"retry_share"` // of the capacity that retries may use while main records wait, above 0 and below 1
	Breaker          Breaker           `mapstructure:"breaker"`
}

// Basic is HTTP basic authentication (RFC 7617).
type Basic struct {
	Username     string `mapstructure:"username"`
	Password     Secret `mapstructure:"password"`
	PasswordFile string `mapstructure:"password_file"`
}

// DefaultConfig returns the defaults; URL has none.
func DefaultConfig() Config {
	return Config{
		ContentType:     "application/octet-stream",
		Timeout:         10 * time.Second,
		IdleTimeout:     4 * time.Second, // common servers close after 5 s
		MaxInFlight:     16,
		LimitedAttempts: 3,
		MaxRetryAfter:   24 * time.Hour,
		ForwardHeaders:  []string{"traceparent", "tracestate", "ce_*"},
		CaptureResponse: true,
		RetryShare:      0.5,
		Breaker:         defaultBreaker(),
	}
}

// Table returns what is done about every outcome. The rules must be valid.
func (c Config) Table() *policy.Table { return policy.NewTable(c.Rules, c.Success) }
