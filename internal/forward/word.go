package forward

import (
	"bytes"
	"net/http"
	"strconv"
	"time"

	"github.com/retryd/retryd/internal/policy"
)

// longestAsked bounds what is believed of a wait. It is as far ahead as a not-before may be.
const longestAsked = 366 * 24 * time.Hour

// action returns what Retryd-Action asks for, in any case, with a dash or an underscore.
func action(value []byte) (policy.Treatment, bool) {
	for _, word := range [...]struct {
		text      string
		treatment policy.Treatment
	}{
		{"retry", policy.TreatRetry},
		{"dead-letter", policy.TreatDeadLetter},
		{"review", policy.TreatReview},
		{"done", policy.TreatDone},
	} {
		if sameName(bytes.TrimSpace(value), word.text) {
			return word.treatment, true
		}
	}
	return "", false
}

// retrydDelay reads seconds, of which a fraction may be asked for.
func retrydDelay(value []byte) (time.Duration, bool) {
	whole, fraction, hasFraction := bytes.Cut(bytes.TrimSpace(value), []byte("."))
	d, ok := seconds(whole)
	if !ok || !hasFraction {
		return d, ok
	}
	part, ok := nanoseconds(fraction)
	return d + part, ok && d+part <= longestAsked
}

// retryAfter reads Retry-After (RFC 9110, section 10.2.3): whole seconds, or a date,
// which is relative to the answer's own, so that a clock that differs from ours does
// not count; without a usable one, to now. A date that has passed asks for no wait.
func retryAfter(value, date []byte, now time.Time) (time.Duration, bool) {
	value = bytes.TrimSpace(value)
	if d, ok := seconds(value); ok {
		return d, true
	}
	until, err := http.ParseTime(string(value))
	if err != nil {
		return 0, false
	}
	if said, err := http.ParseTime(string(date)); err == nil {
		now = said
	}
	if d := until.Sub(now); d <= longestAsked {
		return max(0, d), true
	}
	return 0, false
}

// seconds reads digits and nothing else, longestAsked at most.
func seconds(digits []byte) (time.Duration, bool) {
	n, err := strconv.ParseUint(string(digits), 10, 64)
	if err != nil || n > uint64(longestAsked/time.Second) {
		return 0, false
	}
	return time.Duration(n) * time.Second, true
}

// nanoseconds reads the digits behind the point of a number of seconds, at least one.
// Those behind the ninth do not count.
func nanoseconds(digits []byte) (d time.Duration, ok bool) {
	unit := time.Second
	for _, c := range digits {
		if c < '0' || c > '9' {
			return 0, false
		}
		unit /= 10
		d += time.Duration(c-'0') * unit
	}
	return d, len(digits) > 0
}
