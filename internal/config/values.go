package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/retryd/retryd/internal/window"
)

func text(in any) (any, error) {
	switch in.(type) {
	case string:
		return in, nil
	case []any, map[string]any:
		return nil, fmt.Errorf("is %s, must be text", describe(in))
	}
	return nil, fmt.Errorf("is %s; put it in quotes to make it text", describe(in))
}

func expect[T any](in any, what string) (any, error) {
	if _, ok := in.(T); !ok {
		return nil, fmt.Errorf("is %s, must be %s", describe(in), what)
	}
	return in, nil
}

// duration refuses a bare number: taken for nanoseconds, 30 would be no time at
// all.
func duration(in any) (any, error) {
	text, ok := in.(string)
	if _, err := strconv.ParseFloat(text, 64); err == nil || isNumber(in) {
		return nil, fmt.Errorf("%v has no unit; write %vs, or use ms, m or h", in, in)
	}
	if !ok {
		return nil, fmt.Errorf("is %s, must be a duration such as 30s or 1m30s", describe(in))
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return nil, fmt.Errorf("%q is not a duration; use numbers with ms, s, m or h, such as 30s or 1m30s", text)
	}
	return d, nil
}

func byteSize(in any) (any, error) {
	text, ok := in.(string)
	if _, err := strconv.ParseFloat(text, 64); err == nil || isNumber(in) {
		return nil, fmt.Errorf("%v has no unit; write %vMiB, or use KiB or GiB", in, in)
	}
	if !ok {
		return nil, fmt.Errorf("is %s, must be a size such as 64MiB", describe(in))
	}
	return window.ParseByteSize(text)
}

// tiers takes auto or a list, as a list or as text with commas.
func tiers(in any) (any, error) {
	if in == "auto" {
		return map[string]any{"Auto": true}, nil
	}
	delays, err := entries(in)
	if text, ok := in.(string); err != nil || ok && !strings.ContainsAny(text, "0123456789") {
		return nil, fmt.Errorf("%s, must be auto or a list such as [5s, 30s, 5m]", quote(in))
	}
	return map[string]any{"List": delays}, nil
}

// entries takes a list, or text with commas, which is how a variable holds one.
func entries(in any) (any, error) {
	text, ok := in.(string)
	if !ok {
		return expect[[]any](in, "a list")
	}
	all := []any{}
	for part := range strings.SplitSeq(text, ",") {
		if part = strings.TrimSpace(part); part != "" {
			all = append(all, part)
		}
	}
	return all, nil
}

// alone makes a list of a number; text becomes one by itself.
func alone(in any) any {
	if isNumber(in) {
		return []any{in}
	}
	return in
}

// statuses takes 409 as a number too; 4xx and 502-504 are text.
func statuses(in any) (any, error) {
	if isNumber(in) {
		return fmt.Sprint(in), nil
	}
	return text(in)
}

func boolean(in any) (any, error) {
	switch in {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	if _, ok := in.(bool); !ok {
		return nil, fmt.Errorf("%s, must be true or false", quote(in))
	}
	return in, nil
}

func integer(in any) (any, error) {
	if text, ok := in.(string); ok {
		if n, err := strconv.Atoi(text); err == nil {
			return n, nil
		}
	}
	if _, ok := in.(int); !ok {
		return nil, fmt.Errorf("%s, must be a whole number", quote(in))
	}
	return in, nil
}

func float(in any) (any, error) {
	if text, ok := in.(string); ok {
		if f, err := strconv.ParseFloat(text, 64); err == nil {
			in = f
		}
	}
	f, ok := in.(float64)
	if n, whole := in.(int); whole {
		f, ok = float64(n), true
	}
	if !ok || math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, fmt.Errorf("%s, must be a number such as 0.2 or 1", quote(in))
	}
	return f, nil
}

func isNumber(in any) bool {
	switch in.(type) {
	case int, int64, uint64, float64:
		return true
	}
	return false
}

// describe names the kind of a value.
func describe(in any) string {
	switch {
	case isNumber(in):
		return "a number"
	case in == nil:
		return "nothing"
	}
	switch in.(type) {
	case bool:
		return "true or false"
	case list, []any:
		return "a list"
	case mapping, map[string]any:
		return "a mapping"
	}
	return "text"
}

// quote shows a value that is no secret.
func quote(in any) string {
	if text, ok := in.(string); ok {
		return "is " + strconv.Quote(text)
	}
	if isNumber(in) {
		return fmt.Sprintf("is %v", in)
	}
	return "is " + describe(in)
}
