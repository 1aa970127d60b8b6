package forward

import (
	"net/url"
	"strings"
)

// WithoutQuery returns an endpoint's URL as people may see it: the query is where
// tokens are put. A valid URL has no user, password or fragment; a secret in its path
// is shown.
func WithoutQuery(endpoint string) string {
	before, _, _ := strings.Cut(endpoint, "?")
	return before
}

// minQuerySecret is the length from which a value of a query is taken for a secret: a
// token is longer, and "?format=json" must not garble what is kept of answers.
const minQuerySecret = 8

// querySecrets returns what must not be shown of a request target: its query as a
// whole, and each value as it is sent and as endpoints may read it. They do not agree
// on whether a plus sign is a blank.
func querySecrets(uri string) []string {
	_, query, _ := strings.Cut(uri, "?")
	secrets := []string{query}
	for parameter := range strings.SplitSeq(query, "&") {
		_, value, named := strings.Cut(parameter, "=")
		if !named { // a token by itself
			value = parameter
		}
		if len(value) < minQuerySecret {
			continue
		}
		secrets = append(secrets, value)
		for _, read := range []func(string) (string, error){url.QueryUnescape, url.PathUnescape} {
			if decoded, err := read(value); err == nil {
				secrets = append(secrets, decoded)
			}
		}
	}
	return secrets
}
