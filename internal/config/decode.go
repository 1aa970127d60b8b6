package config

import (
	"errors"
	"reflect"
	"strings"
	"time"

	"github.com/go-viper/mapstructure/v2"
	"github.com/spf13/viper"

	"github.com/retryd/retryd/internal/tier"
	"github.com/retryd/retryd/internal/window"
)

// decode turns the merged tree into a Config and reports the values of a wrong
// type, which keep their default. The defaults are decoded too: a wrong one is
// wrong even if every relay has a value of its own.
//
// viper never sees the environment: it would read the process's own and drop a
// variable whose key is neither in the file nor has a default. Its key delimiter
// is a character that no key of ours has, since it splits the keys of a file too.
func (l *loader) decode() *Config {
	v := viper.NewWithOptions(viper.KeyDelimiter("\x00"))
	f := file{Config: Default()}
	err := v.MergeConfigMap(l.root.plain().(map[string]any))
	if err == nil {
		err = v.UnmarshalExact(&f, func(c *mapstructure.DecoderConfig) {
			c.DecodeHook = mapstructure.DecodeHookFuncValue(convertValue)
			c.WeaklyTypedInput = false // convertValue alone says what is taken for what
		})
	}
	var rejected []string
	for _, e := range flatten(err) {
		key, text := "", e.Error()
		if named := new(mapstructure.DecodeError); errors.As(e, &named) {
			// The list of policy.Tiers is a field there, and no key in the file.
			key, text = strings.Replace(named.Name(), "tiers.List", "tiers", 1), named.Unwrap().Error()
		}
		l.report(key, "%s", text)
		rejected = append(rejected, key)
	}
	for _, key := range rejected {
		l.cover(key)
	}
	return &f.Config
}

// flatten returns the single errors that a decoder has joined.
func flatten(err error) []error {
	if err == nil {
		return nil
	}
	if joined := joinedErrors(nil); errors.As(err, &joined) {
		var all []error
		for _, e := range joined.Unwrap() {
			all = append(all, flatten(e)...)
		}
		return all
	}
	return []error{err}
}

type joinedErrors interface{ Unwrap() []error }

// convertValue makes of a value what the decoder needs for a field of type to.
// Text is taken for every type, since variables are text. The errors never repeat
// a value that belongs in a text field, which may be a secret.
func convertValue(from, to reflect.Value) (any, error) {
	in := from.Interface()
	switch to.Interface().(type) {
	case time.Duration:
		return duration(in)
	case window.ByteSize:
		return byteSize(in)
	}
	switch to.Type() {
	case relayType:
		// Each relay starts from the defaults: the decoder leaves fields without a
		// value as they are.
		to.Set(reflect.ValueOf(tier.DefaultConfig()))
	case tiersType:
		return tiers(in)
	case tierType, parkType:
		if from.Kind() != reflect.Map {
			return map[string]any{"delay": in}, nil
		}
	case statusesType:
		return statuses(in)
	}
	switch to.Kind() {
	case reflect.String:
		return text(in)
	case reflect.Bool:
		return boolean(in)
	case reflect.Int:
		return integer(in)
	case reflect.Float64:
		return float(in)
	case reflect.Slice:
		if e := to.Type().Elem(); e == statusesType || e == kindType {
			in = alone(in)
		}
		return entries(in)
	case reflect.Struct, reflect.Map:
		return expect[map[string]any](in, "a mapping of keys")
	}
	return in, nil
}
