package forward

import (
	"cmp"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/textproto"
	"os"
	"slices"
	"strings"
)

// fixedHeader is a header that the configuration adds to every request.
type fixedHeader struct {
	name  string
	value string // may be a secret
}

// credentials is what the configuration adds to every request.
type credentials struct {
	headers []fixedHeader // in a constant order
	secrets []string      // what must not be shown, in every form in which it is sent
}

// credentialsOf resolves the credentials, reading the secret files. An error names
// the key, and the path of a file.
func credentialsOf(c Config) (credentials, error) {
	var creds credentials
	for _, name := range slices.Sorted(maps.Keys(c.Headers)) {
		creds.add(textproto.CanonicalMIMEHeaderKey(name), c.Headers[name].Reveal())
	}
	if c.Basic != (Basic{}) {
		password, err := secretOf("basic.password_file", c.Basic.Password, c.Basic.PasswordFile)
		if err != nil {
			return credentials{}, err
		}
		pair := c.Basic.Username + ":" + password
		creds.add("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(pair)))
		creds.secrets = append(creds.secrets, password)
	}
	token, err := secretOf("bearer_token_file", c.BearerToken, c.BearerTokenFile)
	if err != nil {
		return credentials{}, err
	}
	if token != "" {
		creds.add("Authorization", "Bearer "+token)
	}
	return creds, nil
}

// add adds a header; what follows a scheme like Bearer is secret by itself, too.
func (c *credentials) add(name, value string) {
	c.headers = append(c.headers, fixedHeader{name, value})
	_, afterScheme, _ := strings.Cut(value, " ")
	c.secrets = append(c.secrets, value, afterScheme)
}

// secretOf returns the secret itself, or the content of the file if one is named.
func secretOf(key string, secret Secret, file string) (string, error) {
	if file == "" {
		return secret.Reveal(), nil
	}
	content, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("%s: %w", key, err)
	}
	value := strings.TrimRight(string(content), "\r\n") // editors end a file with a newline
	if value == "" || !isFieldValue(value) {
		return "", fmt.Errorf("%s: %s must hold one line of visible ASCII", key, file)
	}
	return value, nil
}

// redactor hides the endpoint's own credentials in what the endpoint answers: some
// echo the request, and an answer is kept on Kafka.
type redactor struct {
	secrets []string // each in all forms, the longest first
	replace *strings.Replacer
	longest int // bytes of the longest one
}

// minSecret is the length from which a value is taken for a secret. Below it, a
// header like "X-Tenant: 7" would garble every answer.
const minSecret = 4

func newRedactor(secrets []string) redactor {
	var r redactor
	for _, s := range secrets {
		if len(s) >= minSecret {
			r.secrets = append(r.secrets, escapedForms(s)...)
		}
	}
	// A replacer prefers what comes first: a longer secret may contain a shorter one.
	slices.SortFunc(r.secrets, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	r.secrets = slices.Compact(r.secrets)
	var pairs []string
	for _, s := range r.secrets {
		pairs = append(pairs, s, mask)
		r.longest = max(r.longest, len(s))
	}
	r.replace = strings.NewReplacer(pairs...)
	return r
}

// whole returns a text that was cut off without a secret that it ends within: what is
// hidden before it may be longer than its mask, so that the end comes into view.
func (r redactor) whole(text []byte) []byte {
	for from := max(0, len(text)-r.longest+1); from < len(text); from++ {
		begun := string(text[from:])
		if slices.ContainsFunc(r.secrets, func(s string) bool { return strings.HasPrefix(s, begun) }) {
			return text[:from]
		}
	}
	return text
}

// credentialErrors checks the keys that authenticate retryd to the endpoint.
func (c Config) credentialErrors() []error {
	var errs []error
	if ways := c.authorizations(); len(ways) > 1 {
		errs = append(errs, fmt.Errorf("%s: only one of %s may be set", ways[1], strings.Join(ways, ", ")))
	}
	if !isFieldValue(c.BearerToken) {
		errs = append(errs, errors.New("bearer_token: must be one line of visible ASCII"))
	}
	if c.Basic != (Basic{}) {
		errs = append(errs, c.Basic.errors()...)
	}
	return errs
}

// authorizations names the keys that would set the header Authorization.
func (c Config) authorizations() []string {
	var ways []string
	for _, way := range []struct {
		key string
		set bool
	}{
		{"bearer_token", c.BearerToken != ""},
		{"bearer_token_file", c.BearerTokenFile != ""},
		{"basic", c.Basic != Basic{}},
	} {
		if way.set {
			ways = append(ways, way.key)
		}
	}
	for name := range c.Headers {
		if sameName(name, "Authorization") {
			ways = append(ways, "headers."+textproto.CanonicalMIMEHeaderKey(name))
		}
	}
	return ways
}

func (b Basic) errors() []error {
	var errs []error
	if b.Username == "" || strings.Contains(b.Username, ":") || !isFieldValue(b.Username) {
		errs = append(errs, errors.New("basic.username: must be visible ASCII without a colon"))
	}
	switch {
	case b.Password == "" && b.PasswordFile == "":
		errs = append(errs, errors.New("basic.password: is required beside basic.username; set it or basic.password_file"))
	case b.Password != "" && b.PasswordFile != "":
		errs = append(errs, errors.New("basic.password: only one of basic.password and basic.password_file may be set"))
	}
	return errs
}
