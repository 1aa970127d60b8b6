package forward

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp"
)

// Signing holds the secrets that sign each request by Standard Webhooks 1.0.0. Without
// one, nothing is signed.
type Signing struct {
	Secrets     []Secret `mapstructure:"secrets"`      // whsec_ and base64; two while one replaces the other
	SecretsFile string   `mapstructure:"secrets_file"` // the same, one a line; read once, at start
}

const (
	maxSecrets   = 2
	secretPrefix = "whsec_"
	minKey       = 24 // bytes of a decoded secret, by the specification
	maxKey       = 64
)

// errSigningSecret never quotes the secret.
var errSigningSecret = errors.New("must be whsec_ and the base64 of 24 to 64 random bytes")

// signer holds the keys, each of which signs every request. It is only read.
//
// It signs by itself because the reference library makes two copies of the body for
// each secret (v0.0.1, webhook.go, sign); the tests verify with that library.
type signer [][]byte

// signerOf resolves the secrets and returns what must not be shown of them.
func signerOf(c Signing) (signer, []string, error) {
	texts, at := c.Secrets, func(i int) string { return fmt.Sprintf("signing.secrets[%d]", i) }
	if c.SecretsFile != "" {
		content, err := os.ReadFile(c.SecretsFile)
		if err != nil {
			return nil, nil, fmt.Errorf("signing.secrets_file: %w", err)
		}
		texts = secretLines(content)
		at = func(i int) string { return fmt.Sprintf("signing.secrets_file: %s: line %d", c.SecretsFile, i+1) }
		if len(texts) > maxSecrets {
			return nil, nil, fmt.Errorf("signing.secrets_file: %s has %d lines, must have one secret a line and at most %d", c.SecretsFile, len(texts), maxSecrets)
		}
	}
	var s signer
	var hidden []string
	for i, text := range texts {
		key, err := signingKey(text)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", at(i), err)
		}
		s = append(s, key)
		hidden = append(hidden, text.Reveal(), strings.TrimPrefix(text.Reveal(), secretPrefix))
	}
	return s, hidden, nil
}

// secretLines returns the lines of a file, without the empty end that editors make.
func secretLines(content []byte) []Secret {
	var lines []Secret
	for line := range bytes.Lines(bytes.TrimRight(content, "\r\n")) {
		lines = append(lines, Secret(bytes.TrimRight(line, "\r\n")))
	}
	if lines == nil {
		lines = []Secret{""}
	}
	return lines
}

// signingKey decodes a secret. A decoder would skip line breaks.
func signingKey(s Secret) ([]byte, error) {
	text, ok := strings.CutPrefix(s.Reveal(), secretPrefix)
	key, err := base64.StdEncoding.Strict().DecodeString(text)
	if !ok || err != nil || strings.ContainsAny(text, "\r\n") || len(key) < minKey || len(key) > maxKey {
		return nil, errSigningSecret
	}
	return key, nil
}

// add signs event id, time (whole seconds) and body. An id that cannot travel in a
// header cannot be signed either; see addText.
func (s signer) add(h *fasthttp.RequestHeader, id string, now time.Time, body []byte) {
	if len(s) == 0 || id == "" || !isFieldValue(id) {
		return
	}
	var seconds [20]byte
	stamp := strconv.AppendInt(seconds[:0], now.Unix(), 10)
	h.Add("webhook-id", id)
	h.AddBytesV("webhook-timestamp", stamp)
	h.AddBytesV("webhook-signature", s.sign(id, stamp, body))
}

// sign returns one signature for each key, with a blank between two.
func (s signer) sign(id string, stamp, body []byte) []byte {
	before := append(append(append([]byte(id), '.'), stamp...), '.')
	var signatures []byte
	for _, key := range s {
		mac := hmac.New(sha256.New, key)
		mac.Write(before)
		mac.Write(body)
		signatures = base64.StdEncoding.AppendEncode(append(signatures, " v1,"...), mac.Sum(nil))
	}
	return signatures[1:]
}

func (c Signing) errors() []error {
	var errs []error
	if len(c.Secrets) > 0 && c.SecretsFile != "" {
		errs = append(errs, errors.New("signing.secrets_file: only one of signing.secrets and signing.secrets_file may be set"))
	}
	if len(c.Secrets) > maxSecrets {
		errs = append(errs, fmt.Errorf("signing.secrets: has %d, must have at most %d: the new one and the one that it replaces", len(c.Secrets), maxSecrets))
	}
	for i, s := range c.Secrets {
		if _, err := signingKey(s); err != nil {
			errs = append(errs, fmt.Errorf("signing.secrets[%d]: %w", i, err))
		}
	}
	return errs
}
